package einoadapter_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

// asking is a tool that interrupts until it is resumed.
func asking() work {
	return work{name: "ask", run: func(ctx context.Context) (string, error) {
		if was, _, _ := tool.GetInterruptState[string](ctx); !was {
			return "", tool.StatefulInterrupt(ctx, "may I?", "asked")
		}
		return "yes", nil
	}}
}

// A run that is interrupted beside a write goes on in another process: the planner, the agent and the runner are new there, only
// the store and the checkpoint are left. The write is not made again, and the guard remembers what it did.
func TestInterruptAndResumeInANewProcess(t *testing.T) {
	everyADK(t, newProcess[*adkMessage], newProcess[*adkAgentic])
}

func newProcess[M adk.MessageType](t *testing.T, stream bool) {
	lists, saved := core.NewMemoryStore(), &checkpoints{}
	var worked atomic.Int32
	process := func(m *actor[M]) *cast[M] {
		c := newCast(stream, m, asking(), work{name: "search", run: func(context.Context) (string, error) {
			worked.Add(1)
			return "three hits", nil
		}})
		c.todo.Store = lists
		c.store = saved
		return c
	}
	m1 := acts[M](t, calls(write("c1", "in_progress")), says(answer),
		calls(use("c2", "search"), use("c3", "ask"), write("c4", "in_progress")))
	one := process(m1)
	seen := one.run(t, adk.WithCheckPointID("cp"))
	assert.Equal(t, "interrupted", seen[len(seen)-1])
	assert.Empty(t, one.events.of(core.EventRunEnded), "nobody tells of an interrupt unless NewCallback does")
	bytes, _, _ := saved.Get(t.Context(), "cp")
	assert.NotContains(t, string(bytes), "<todos>")

	m2 := acts[M](t, calls(write("c5", "completed")), says(closing))
	two := process(m2)
	assert.Equal(t, []string{"tool ask: yes", "assistant: write_todos#c5", "tool write_todos: ok", "assistant: " + closing}, two.resume(t, "cp"))
	assert.EqualValues(t, 1, worked.Load())
	changed := append(one.events.of(core.EventListChanged), two.events.of(core.EventListChanged)...)
	require.Len(t, changed, 2, "the write beside the interrupt changed nothing and was not made again")
	reqs := m2.requests()
	require.Len(t, reqs, 2)
	assert.Equal(t, "system user assistant+c1 tool:c1 assistant user assistant+c2+c3+c4 tool:c2 tool:c3 tool:c4", roles(reqs[0]))
	end := two.end(t)
	assert.Equal(t, one.events.of(core.EventListChanged)[0].RunID, end.RunID, "it is the same run")
	assert.Equal(t, closing, end.Answer, "another tool ran since the correction: the new answer stands")
	assert.Equal(t, []string{answer}, end.Superseded, "the resumed run knows the answer that was held back")
}

// The guard's budget outlives a resume: one correction a run.
func TestResumedRunIsNotCorrectedTwice(t *testing.T) {
	lists, saved := core.NewMemoryStore(), &checkpoints{}
	process := func(turns ...turn) (*cast[*adkMessage], *actor[*adkMessage]) {
		m := acts[*adkMessage](t, turns...)
		c := newCast(false, m, asking())
		c.todo.Store, c.store = lists, saved
		return c, m
	}
	one, _ := process(calls(write("c1", "in_progress")), says(answer), calls(use("c2", "ask")))
	one.run(t, adk.WithCheckPointID("cp"))
	two, m := process(says("Still not done."))
	assert.Equal(t, []string{"tool ask: yes", "assistant: Still not done."}, two.resume(t, "cp"))
	assert.Len(t, m.requests(), 1)
}

// A session that the host mixed up at the resume is an error, never another list.
func TestResumeUnderAnotherSessionFails(t *testing.T) {
	saved := &checkpoints{}
	one := newCast(false, acts[*adkMessage](t, calls(write("c1", "in_progress"), use("c2", "ask"))), asking())
	one.store = saved
	one.run(t, adk.WithCheckPointID("cp"))
	two := newCast(false, acts[*adkMessage](t), asking())
	two.store = saved
	events, err := two.runner(t).Resume(core.WithSession(t.Context(), "other"), "cp")
	require.NoError(t, err)
	seen := watch(t, events)
	assert.Contains(t, seen[len(seen)-1], `belongs to session "s", the ctx says "other"`)
}

// waits validates every wait and keeps the boundaries it was asked under.
func waits(boundaries *[]string) core.ValidateWait {
	return func(_ context.Context, _ []string, info core.WaitInfo, _ *core.WaitBinding) (core.WaitValidation, error) {
		*boundaries = append(*boundaries, info.Boundary)
		return core.WaitValidation{Status: core.WaitValid}, nil
	}
}

func waiting(id string) core.Call {
	return core.Call{ID: id, Name: core.DefaultToolName,
		Args: `{"todos":[{"id":"1","content":"Ship it","status":"in_progress"}],"wait_for_tasks":["build"]}`}
}

// The answer to an interrupt is new input that shows in no user message.
func TestResumeEndsAWait(t *testing.T) {
	var asked []string
	saved := &checkpoints{}
	m := acts[*adkMessage](t, calls(waiting("c1")), calls(use("c2", "ask")), says("The build runs."), says("It still does."))
	c := newCast(false, m, asking())
	c.store, c.todo.ValidateWait = saved, waits(&asked)
	c.run(t, adk.WithCheckPointID("cp"))
	require.Len(t, asked, 1)
	c.resume(t, "cp")
	assert.Len(t, asked, 1, "the wait of before the interrupt is not even asked about")
	assert.Len(t, m.requests(), 4, "the ordinary guard corrects")
	assert.Equal(t, core.EndAnswered, c.end(t).Reason)
}

// Without new input a wait holds to the end of the run.
func TestWaitHoldsWithinARun(t *testing.T) {
	var asked []string
	m := acts[*adkMessage](t, calls(waiting("c1")), calls(use("c2", "search")), says("The build runs."))
	c := newCast(false, m, work{name: "search"})
	c.todo.ValidateWait = waits(&asked)
	c.run(t)
	require.Len(t, asked, 2)
	assert.Equal(t, asked[0], asked[1])
	assert.NotEmpty(t, asked[0])
	assert.Equal(t, core.EndWaiting, c.end(t).Reason)
}

// What another middleware puts between is the user's unless it is proven not to be.
func TestUserMessageWithinARunEndsAWait(t *testing.T) {
	for name, tc := range map[string]struct {
		add   *adkMessage
		holds bool
	}{
		"a user message":            {schemaUser("Stop, do this instead."), false},
		"the same question again":   {schemaUser(question), false},
		"a summary of eino's own":   {schemaSummary("So far: a build was started."), true},
		"a summary without a proof": {schemaUser("So far: a build was started."), false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			turns := []turn{calls(waiting("c1")), calls(use("c2", "search")), says("The build runs."), says("It still does.")}
			m := acts[*adkMessage](t, turns...)
			c := newCast(false, m, work{name: "search"})
			c.todo.ValidateWait = waits(&asked)
			n := 0
			c.cfg.Handlers = append(c.cfg.Handlers, &hooks[*adkMessage]{before: func(st *adk.ChatModelAgentState) {
				if n++; n == 3 {
					st.Messages = append(st.Messages, tc.add)
				}
			}})
			c.run(t)
			if tc.holds {
				assert.Equal(t, core.EndWaiting, c.end(t).Reason)
				return
			}
			assert.Equal(t, core.EndAnswered, c.end(t).Reason)
			assert.Len(t, m.requests(), 4)
		})
	}
}

// A correction is no new input: the host is asked about the same wait after it.
func TestCorrectionLeavesAWait(t *testing.T) {
	everyADK(t, correctionLeaves[*adkMessage], correctionLeaves[*adkAgentic])
}

func correctionLeaves[M adk.MessageType](t *testing.T, stream bool) {
	asked := 0
	m := acts[M](t, calls(waiting("c1")), says("The build runs."), calls(use("c2", "search")), says("It still does."))
	c := newCast(stream, m, work{name: "search"})
	c.todo.ValidateWait = func(context.Context, []string, core.WaitInfo, *core.WaitBinding) (core.WaitValidation, error) {
		if asked++; asked == 2 {
			return core.WaitValidation{Status: core.WaitInvalid}, nil
		}
		return core.WaitValidation{Status: core.WaitValid}, nil
	}
	c.run(t)
	assert.Equal(t, 3, asked)
	assert.Len(t, m.requests(), 4)
	assert.Equal(t, core.EndWaiting, c.end(t).Reason)
}

// A user message that comes between two turns counts, also if a summary swallows it before the next request.
func TestUserMessageThatASummarySwallowsEndsAWait(t *testing.T) {
	var asked []string
	m := acts[*adkMessage](t, calls(waiting("c1")), calls(use("c2", "search")), says("The build runs."), says("It still does."))
	c := newCast(false, m, work{name: "search"})
	c.todo.ValidateWait = waits(&asked)
	n := 0
	c.cfg.Handlers = append(c.cfg.Handlers, &hooks[*adkMessage]{
		// behind ours in the turn before, so that our next look finds it in the history
		after: func(st *adk.ChatModelAgentState) {
			if n++; n == 2 {
				last := st.Messages[len(st.Messages)-1]
				st.Messages = append(st.Messages[:len(st.Messages)-1:len(st.Messages)-1], schemaUser("Stop."), last)
			}
		},
		before: func(st *adk.ChatModelAgentState) {
			if n == 2 {
				st.Messages = []*adkMessage{st.Messages[0], schemaSummary("So far: a build was started, then the user said stop.")}
			}
		},
	})
	c.run(t)
	assert.Equal(t, "system user", roles(m.requests()[2]))
	assert.Equal(t, core.EndAnswered, c.end(t).Reason)
}

// A run that is cancelled while the model is asked once more, and resumed, asks the correction and not the question.
func TestCancelDuringTheCorrectionThenResume(t *testing.T) {
	everyADK(t, cancelAndResume[*adkMessage], cancelAndResume[*adkAgentic])
}

func cancelAndResume[M adk.MessageType](t *testing.T, stream bool) {
	turns := corrected()
	cut := says("I will go on and").waiting()
	lists, saved := core.NewMemoryStore(), &checkpoints{}
	m1 := acts[M](t, turns[0], turns[1], cut)
	one := newCast(stream, m1)
	one.todo.Store, one.store = lists, saved
	opt, cancel := adk.WithCancel()
	go func() {
		<-cut.began
		h, _ := cancel(adk.WithAgentCancelMode(adk.CancelImmediate))
		_ = h.Wait()
		time.Sleep(20 * time.Millisecond)
		close(cut.wait)
	}()
	seen := one.run(t, opt, adk.WithCheckPointID("cp"))
	assert.Equal(t, both[:3], seen[:3])
	assert.Contains(t, seen[len(seen)-1], "agent canceled")
	assert.Empty(t, one.events.of(core.EventRunPaused), "that is NewCallback's to tell, once")

	m2 := acts[M](t, turns[2], turns[3])
	two := newCast(stream, m2)
	two.todo.Store, two.store = lists, saved
	assert.Equal(t, both[3:], two.resume(t, "cp"))
	reqs := m2.requests()
	require.Len(t, reqs, 2)
	assert.Equal(t, "system user assistant+c1 tool:c1 assistant user", roles(reqs[0]))
	assert.Equal(t, answer, reqs[0][4].Text)
	assert.Contains(t, reqs[0][5].Text, "Ship it")
	assert.Equal(t, answer, two.end(t).Answer)
}

// When the caller's own ctx ends during the correction, the run ends with that error.
func TestContextCancelDuringTheCorrection(t *testing.T) {
	everyADK(t, ctxCancel[*adkMessage], ctxCancel[*adkAgentic])
}

func ctxCancel[M adk.MessageType](t *testing.T, stream bool) {
	cut := says("I will go on").waiting()
	c := newCast(stream, acts[M](t, calls(write("c1", "in_progress")), says(answer), cut))
	ctx, cancel := context.WithCancel(core.WithSession(t.Context(), "s"))
	go func() { <-cut.began; cancel() }()
	seen := watch(t, c.runner(t).Query(ctx, question))
	assert.Equal(t, both[:3], seen[:3])
	assert.Contains(t, seen[len(seen)-1], context.Canceled.Error())
	end := c.end(t)
	assert.Equal(t, core.EndCancelled, end.Reason)
	assert.ErrorIs(t, end.Err, context.Canceled)
	assert.Len(t, end.Open, 1)
}

// A run that is cancelled while the model is asked to explain has been asked before in the same turn: a resume knows both answers.
func TestCancelDuringTheExplanationThenResume(t *testing.T) {
	everyADK(t, cancelExplanation[*adkMessage], cancelExplanation[*adkAgentic])
}

func cancelExplanation[M adk.MessageType](t *testing.T, stream bool) {
	lists, saved := core.NewMemoryStore(), &checkpoints{}
	process := func(turns ...turn) (*cast[M], *actor[M]) {
		m := acts[M](t, turns...)
		c := newCast(stream, m)
		c.todo.Store, c.todo.OnExhausted, c.store = lists, core.Explain, saved
		return c, m
	}
	cut := says("I could not because").waiting()
	one, _ := process(calls(write("c1", "in_progress")), says(answer), says("It stands."), cut)
	opt, cancel := adk.WithCancel()
	go func() {
		<-cut.began
		h, _ := cancel(adk.WithAgentCancelMode(adk.CancelImmediate))
		_ = h.Wait()
		close(cut.wait)
	}()
	one.run(t, opt, adk.WithCheckPointID("cp"))

	two, m := process(says("I could not."))
	assert.Equal(t, []string{"assistant: I could not."}, two.resume(t, "cp"))
	req := m.requests()[0]
	require.Equal(t, "system user assistant+c1 tool:c1 assistant user assistant user", roles(req))
	assert.Equal(t, answer, req[4].Text)
	assert.Equal(t, "It stands.", req[6].Text)
}
