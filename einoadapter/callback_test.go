package einoadapter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	ucb "github.com/cloudwego/eino/utils/callbacks"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

func withCallback() compose.Option { return compose.WithCallbacks(einoadapter.NewCallback()) }

// The planner's events with the handler are those without it: in the order of the revisions, one a commit, none for a
// refused write, one end and nothing after it.
func TestCallbackDoublesNothing(t *testing.T) {
	lines := []line{
		do(plan("c1", "in_progress"), call("w1", "work", `{}`)),
		do(plan("c2", "in_progress"), plan("c3", "completed")), // refused
		say("The answer."),
		do(plan("c4", "completed")),
		say("List updated."),
	}
	tell := func(e core.Event) string { return fmt.Sprint(e.Kind, " ", e.Revision, " ", e.CallID, " ", e.Reason) }
	want := []string{
		"turn 0  ", "list_changed 1 c1 ",
		"turn 1  ", "write_refused 1 c2 ", "write_refused 1 c3 ",
		"turn 1  ", "corrected 1  ",
		"turn 1  ", "list_changed 2 c4 ",
		"turn 2  ", "run_ended 2  answered",
	}
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		for _, opts := range [][]compose.Option{nil, {withCallback()}, {withCallback(), withCallback()}} {
			log := &eventLog{}
			p := newPlanner(t, core.Config{OnEvent: log.add})
			r := g.build(t, rig{planner: p, model: newLines(lines...), tools: tools(work{name: "work"})})
			answer, err := w.run(inSession("s"), r, user("Ship it."), opts...)
			require.NoError(t, err)
			require.Equal(t, "The answer.", answer)
			time.Sleep(5 * time.Millisecond) // the handler reads its own copy of a stream
			var got []string
			for _, e := range log.all() {
				got = append(got, tell(e))
			}
			slices.Sort(got[3:5]) // two refused calls run at once
			require.Equal(t, want, got)
		}
	})
}

// The ends that only the callbacks know.
func TestCallbackReportsHowARunEnded(t *testing.T) {
	boom := errors.New("503")
	for name, c := range map[string]struct {
		model  *lineModel
		tool   work
		steps  int
		reason core.EndReason
		err    error
	}{
		"the model fails":      {newLines(do(plan("c1", "in_progress")), line{err: boom}), work{name: "work"}, 0, core.EndFailed, boom},
		"it fails at once":     {newLines(line{err: boom}), work{name: "work"}, 0, core.EndFailed, boom},
		"the stream breaks":    {newLines(do(plan("c1", "in_progress")), line{text: "Ship", cut: boom}), work{name: "work"}, 0, core.EndFailed, boom},
		"a live stream breaks": {newLines(line{text: "Hel", cut: boom}), work{name: "work"}, 0, core.EndFailed, boom},
		"a tool fails": {newLines(do(call("w", "work", `{}`))), work{name: "work", run: func(context.Context) (string, error) { return "", boom }},
			0, core.EndFailed, boom},
		"the step limit": {newLines(do(call("w", "work", `{}`)), do(call("v", "work", `{}`))), work{name: "work"}, 3, core.EndMaxIterations, compose.ErrExceedMaxSteps},
		"an interrupt":   {newLines(do(call("a", "ask", `{}`))), approval, 0, core.EndInterrupted, nil},
		"a cancelled context": {newLines(do(call("w", "work", `{}`))), work{name: "work", run: func(ctx context.Context) (string, error) {
			return "", context.Cause(ctx)
		}}, 0, core.EndCancelled, context.Canceled},
	} {
		everyWay(t, func(t *testing.T, g agentGraph, w way) {
			t.Run(name, func(t *testing.T) {
				log := &eventLog{}
				ended := make(chan core.Event, 2)
				last := core.EventRunEnded
				if c.reason == core.EndInterrupted {
					last = core.EventRunPaused
				}
				p := newPlanner(t, core.Config{OnEvent: func(ctx context.Context, e core.Event) {
					log.add(ctx, e)
					if e.Kind == last {
						ended <- e
					}
				}})
				m := newLines(c.model.lines...)
				r := g.build(t, rig{planner: p, model: m, tools: tools(c.tool), maxSteps: c.steps, live: name == "a live stream breaks",
					compile: []compose.GraphCompileOption{compose.WithCheckPointStore(&checkpoints{})}})
				ctx := inSession("s")
				if c.reason == core.EndCancelled {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					run := c.tool.run
					r = g.build(t, rig{planner: p, model: m, tools: tools(work{name: "work", run: func(ctx context.Context) (string, error) { cancel(); return run(ctx) }}),
						compile: []compose.GraphCompileOption{compose.WithCheckPointStore(&checkpoints{})}})
				}
				_, err := w.run(ctx, r, user("Ship it."), withCallback(), withCallback(), compose.WithCheckPointID("cp"))
				require.Error(t, err)
				select {
				case e := <-ended:
					require.Equal(t, c.reason, e.Reason)
					require.Error(t, e.Err)
					if c.err != nil {
						require.ErrorIs(t, e.Err, c.err)
					}
				case <-time.After(5 * time.Second):
					t.Fatal("no end")
				}
				require.Equal(t, last, log.all()[len(log.all())-1].Kind, "nothing after the end")
				require.Equal(t, 1, len(log.of(core.EventRunEnded))+len(log.of(core.EventRunPaused)))
			})
		})
	}
}

// A tool that returns directly ends the run behind the planner's back.
func TestCallbackReportsADirectReturn(t *testing.T) {
	for _, stream := range []bool{false, true} {
		ended := make(chan core.Event, 2)
		p := newPlanner(t, core.Config{OnEvent: func(_ context.Context, e core.Event) {
			if e.Kind == core.EventRunEnded {
				ended <- e
			}
		}})
		ctx := inSession("s")
		cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{Planner: p, Agent: react.AgentConfig{
			ToolCallingModel:   newLines(do(plan("c1", "in_progress")), do(call("w", "work", `{}`))),
			ToolsConfig:        compose.ToolsNodeConfig{Tools: tools(work{name: "work"})},
			ToolReturnDirectly: map[string]struct{}{"work": {}},
		}})
		require.NoError(t, err)
		a, err := react.NewAgent(ctx, cfg)
		require.NoError(t, err)
		opt := agent.WithComposeOptions(withCallback())
		var answer string
		if stream {
			answer, err = readText(a.Stream(ctx, user("Ship it."), opt))
		} else {
			m, e := a.Generate(ctx, user("Ship it."), opt)
			require.NoError(t, e)
			answer = m.Content
		}
		require.NoError(t, err)
		require.Equal(t, "done", answer)
		e := <-ended
		require.Equal(t, core.EndReturned, e.Reason)
		require.Equal(t, "done", e.Answer)
		require.Len(t, e.Open, 1)
	}
}

// A consumer that stops reading, and one that closes, holds up no event and leaves no goroutine.
func TestCallbackNeedsNoReader(t *testing.T) {
	for _, live := range []bool{false, true} {
		for _, closes := range []bool{false, true} {
			for _, g := range agentGraphs() {
				t.Run(fmt.Sprint(g.name, "/live=", live, "/closes=", closes), func(t *testing.T) {
					defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
					ended := make(chan core.Event, 2)
					p := newPlanner(t, core.Config{OnEvent: func(_ context.Context, e core.Event) {
						if e.Kind == core.EventRunEnded {
							ended <- e
						}
					}})
					m := newLines(do(plan("c1", "completed")), line{text: "one two three four five six seven eight nine ten", delay: time.Millisecond})
					out, err := g.build(t, rig{planner: p, model: m, live: live}).Stream(inSession("s"), user("Count."), withCallback())
					require.NoError(t, err)
					if closes {
						out.Close()
					}
					select {
					case e := <-ended:
						require.Equal(t, core.EndAnswered, e.Reason)
						require.Equal(t, "one two three four five six seven eight nine ten", e.Answer)
					case <-time.After(5 * time.Second):
						t.Fatal("no end without a reader")
					}
					if !closes {
						out.Close()
					}
				})
			}
		}
	}
}

// An agent inside a tool that fails does not end the agent round it.
func TestCallbackKeepsNestedRunsApart(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		log := &eventLog{}
		p := newPlanner(t, core.Config{OnEvent: log.add})
		inner := g.build(t, rig{planner: p, model: newLines(line{err: errors.New("503")})})
		nested := work{name: "work", run: func(ctx context.Context) (string, error) {
			if _, err := w.run(core.WithSession(ctx, "inner"), inner, user("Help.")); err != nil {
				return "it failed", nil
			}
			return "", errors.New("it did not fail")
		}}
		outer := g.build(t, rig{planner: p, tools: tools(nested),
			model: newLines(do(plan("c1", "in_progress")), do(call("w", "work", `{}`)), do(plan("c2", "completed")), say("Done."))})
		answer, err := w.run(inSession("s"), outer, user("Ship it."), withCallback())
		require.NoError(t, err)
		require.Equal(t, "Done.", answer)
		var ends []string
		for _, e := range log.of(core.EventRunEnded) {
			ends = append(ends, fmt.Sprint(e.Session, " ", e.Reason))
		}
		require.Equal(t, []string{"inner failed", "s answered"}, ends)
	})
}

// The same handler in the ADK: it tells of the end by an error, once.
func TestCallbackInTheADK(t *testing.T) {
	for _, stream := range []bool{false, true} {
		log := &eventLog{}
		ctx := inSession("s")
		cfg := &adk.ChatModelAgentConfig{Name: "a", Description: "d", Model: newLines(do(plan("c1", "in_progress")), line{err: errors.New("503")}),
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{work{name: "work"}}}}}
		mw, err := einoadapter.New(ctx, &einoadapter.Config{Config: core.Config{OnEvent: log.add}})
		require.NoError(t, err)
		cfg.Handlers = []adk.ChatModelAgentMiddleware{mw}
		a, err := adk.NewChatModelAgent(ctx, cfg)
		require.NoError(t, err)
		it := adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: stream}).Query(ctx, "Ship it.", adk.WithCallbacks(einoadapter.NewCallback()))
		for {
			ev, ok := it.Next()
			if !ok {
				break
			}
			if ev.Output != nil && ev.Output.MessageOutput != nil && ev.Output.MessageOutput.MessageStream != nil {
				ev.Output.MessageOutput.MessageStream.Close()
			}
		}
		require.Eventually(t, func() bool { return len(log.of(core.EventRunEnded)) > 0 }, time.Second, time.Millisecond)
		require.Len(t, log.of(core.EventRunEnded), 1)
		require.Equal(t, core.EndFailed, log.of(core.EventRunEnded)[0].Reason)
	}
}

// Other handlers see every model call once, the correction's too, with the request as the model gets it.
func TestCallbackOfOthersSeesTheRealRequests(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		var mu sync.Mutex
		var starts []string
		ends := 0
		h := ucb.NewHandlerHelper().ChatModel(&ucb.ModelCallbackHandler{
			OnStart: func(ctx context.Context, _ *callbacks.RunInfo, in *model.CallbackInput) context.Context {
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, shape(in.Messages)+" "+in.Messages[len(in.Messages)-1].Content)
				return ctx
			},
			OnEnd: func(ctx context.Context, _ *callbacks.RunInfo, _ *model.CallbackOutput) context.Context {
				mu.Lock()
				defer mu.Unlock()
				ends++
				return ctx
			},
			OnEndWithStreamOutput: func(ctx context.Context, _ *callbacks.RunInfo, out *schema.StreamReader[*model.CallbackOutput]) context.Context {
				out.Close()
				mu.Lock()
				defer mu.Unlock()
				ends++
				return ctx
			},
		}).Handler()
		m := guardScript()
		_, err := w.run(inSession("s"), g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m}), user("Ship it."), compose.WithCallbacks(h))
		require.NoError(t, err)
		var want []string
		for _, req := range m.requests() {
			want = append(want, shape(req)+" "+req[len(req)-1].Content)
		}
		require.Len(t, want, 4)
		require.Equal(t, want, starts)
		require.Equal(t, 4, ends)
	})
}
