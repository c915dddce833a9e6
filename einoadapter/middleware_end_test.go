package einoadapter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

type ctx = context.Context

// A tool whose result is returned directly ends the run without an answer to guard: the end event says what is open.
func TestReturnDirectlySaysWhatIsOpen(t *testing.T) {
	everyADK(t, returnDirectly[*adkMessage], returnDirectly[*adkAgentic])
}

func returnDirectly[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, calls(write("c1", "in_progress")), calls(use("c2", "finish")))
	c := newCast(stream, m, work{name: "finish", run: func(ctx) (string, error) { return "direct result", nil }})
	c.cfg.ToolsConfig.ReturnDirectly = map[string]bool{"finish": true}
	seen := c.run(t)
	assert.Equal(t, "tool finish: direct result", seen[len(seen)-1])
	assert.Len(t, m.requests(), 2)
	end := c.end(t)
	assert.Equal(t, core.EndReturned, end.Reason)
	assert.Equal(t, "direct result", end.Answer)
	assert.Len(t, end.Open, 1)
}

// The ends that eino tells no middleware of are told by NewCallback, once each.
func TestCallbackTellsTheOtherEnds(t *testing.T) {
	everyADK(t, otherEnds[*adkMessage], otherEnds[*adkAgentic])
}

func otherEnds[M adk.MessageType](t *testing.T, stream bool) {
	plan := calls(write("c1", "in_progress"))
	stopped := errors.New("the tool stopped")
	for name, tc := range map[string]struct {
		turns  []turn
		limit  int
		reason core.EndReason
		err    error
	}{
		"the model fails":     {[]turn{plan, {err: errModel}}, 0, core.EndFailed, errModel},
		"a tool fails":        {[]turn{plan, calls(use("c2", "stop"))}, 0, core.EndFailed, stopped},
		"no iteration left":   {[]turn{plan, calls(use("c2", "search"))}, 2, core.EndMaxIterations, adk.ErrExceedMaxIterations},
		"an interrupt":        {[]turn{plan, calls(use("c2", "ask"))}, 0, core.EndInterrupted, nil},
		"an answer":           {[]turn{plan, calls(write("c2", "completed")), says(answer)}, 0, core.EndAnswered, nil},
		"the caller is gone":  {[]turn{plan, calls(use("c2", "leave"))}, 0, core.EndCancelled, context.Canceled},
		"an error before all": {[]turn{{err: errModel}}, 0, core.EndFailed, errModel},
	} {
		t.Run(name, func(t *testing.T) {
			run, cancel := context.WithCancel(core.WithSession(t.Context(), "s"))
			defer cancel()
			c := newCast(stream, acts[M](t, tc.turns...), asking(), work{name: "search"},
				work{name: "stop", run: func(ctx) (string, error) { return "", stopped }},
				work{name: "leave", run: func(c ctx) (string, error) { cancel(); return "", c.Err() }})
			c.store = &checkpoints{}
			c.cfg.MaxIterations = tc.limit
			watch(t, c.runner(t).Query(run, question, adk.WithCallbacks(einoadapter.NewCallback()), adk.WithCheckPointID("cp")))
			ends := append(c.events.of(core.EventRunEnded), c.events.of(core.EventRunPaused)...)
			require.Len(t, ends, 1)
			end := ends[0]
			assert.Equal(t, tc.reason, end.Reason)
			assert.Equal(t, tc.reason == core.EndInterrupted, end.Kind == core.EventRunPaused)
			if tc.err != nil {
				assert.ErrorIs(t, end.Err, tc.err)
			}
			if tc.reason != core.EndAnswered && name != "an error before all" {
				assert.Len(t, end.Open, 1)
			}
		})
	}
}

// broken is a store that fails after a number of calls.
type broken struct {
	core.Store
	left int
}

func (b *broken) Load(c ctx, session string) ([]byte, core.Version, error) {
	if b.left--; b.left < 0 {
		return nil, "", core.ErrUnavailable
	}
	return b.Store.Load(c, session)
}

// Store trouble ends the run with the store's error, wherever it comes up, and the end is told.
func TestStoreTroubleEndsTheRun(t *testing.T) {
	for left := range 3 {
		c := newCast(false, acts[*adkMessage](t, calls(write("c1", "in_progress")), calls(use("c2", "search")), says(answer), says(closing)), work{name: "search"})
		c.todo.Store = &broken{Store: core.NewMemoryStore(), left: left}
		events := c.runner(t).Query(core.WithSession(t.Context(), "s"), question, adk.WithCallbacks(einoadapter.NewCallback()))
		var last error
		for {
			ev, ok := events.Next()
			if !ok {
				break
			}
			last = ev.Err
		}
		assert.ErrorIs(t, last, core.ErrUnavailable, "after %d loads", left)
		end := c.end(t)
		assert.Equal(t, core.EndFailed, end.Reason)
		assert.ErrorIs(t, end.Err, core.ErrUnavailable)
	}
}

// One middleware value serves any number of runs: no list, answer or event of one shows up in another, and nothing is left
// running.
func TestOneMiddlewareHundredRunsAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	everyADKInParallel(t)
}

func everyADKInParallel(t *testing.T) {
	var events eventLog
	planner := newPlanner(t, core.Config{OnEvent: events.add})
	t.Run("message", func(t *testing.T) { hundred[*adkMessage](t, planner, &events, "m") })
	t.Run("agentic", func(t *testing.T) { hundred[*adkAgentic](t, planner, &events, "a") })
}

func hundred[M adk.MessageType](t *testing.T, planner *core.Planner, events *eventLog, prefix string) {
	const runs = 100
	mw, err := einoadapter.NewTyped[M](t.Context(), &einoadapter.Config{Planner: planner})
	require.NoError(t, err)
	done := make(chan error, runs)
	for i := range runs {
		session := fmt.Sprintf("%s%d", prefix, i)
		own := func(id, status string) core.Call {
			c := write(id, status)
			c.Args = `{"todos":[{"id":"1","content":"Work of ` + session + `","status":"` + status + `"}]}`
			return c
		}
		m := acts[M](t, calls(own("c1", "in_progress")), says("Answer of "+session), calls(own("c2", "completed")), says("Done."))
		agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "a", Description: "d", Model: m, Handlers: einoadapter.Insert[M](nil, mw)})
		require.NoError(t, err)
		go func() {
			runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: i%2 == 0})
			events := runner.Query(core.WithSession(t.Context(), session), question)
			n := 0
			for {
				ev, ok := events.Next()
				if !ok {
					break
				}
				tell(ev)
				n++
			}
			reqs := m.requests()
			if n != 6 || len(reqs) != 4 || reqs[2][4].Text != "Answer of "+session {
				done <- fmt.Errorf("session %s: %d events, %d requests", session, n, len(reqs))
				return
			}
			done <- nil
		}()
	}
	for range runs {
		assert.NoError(t, <-done)
	}
	answers := map[string]string{}
	for _, e := range events.of(core.EventRunEnded) {
		answers[e.Session] = e.Answer
	}
	for i := range runs {
		session := fmt.Sprintf("%s%d", prefix, i)
		list, err := planner.Get(t.Context(), session)
		require.NoError(t, err)
		require.Len(t, list.Todos, 1)
		assert.Equal(t, "Work of "+session, list.Todos[0].Content)
		assert.Equal(t, "Answer of "+session, answers[session])
	}
}
