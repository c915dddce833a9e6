package einoadapter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

func TestGraphConfigErrorsNameTheField(t *testing.T) {
	p, m := newPlanner(t, core.Config{}), newLines()
	ours := compose.ToolsNodeConfig{Tools: tools(work{name: core.DefaultToolName})}
	for want, cfg := range map[string]*einoadapter.GraphConfig{
		"the GraphConfig is nil":           nil,
		"GraphConfig.Planner is nil":       {Model: m},
		"GraphConfig.Model is nil":         {Planner: p},
		"GraphConfig.MaxRunSteps is -1":    {Planner: p, Model: m, MaxRunSteps: -1},
		`tool 0 is called "write_todos"`:   {Planner: p, Model: m, Tools: ours},
		"OtherSteps -2, want 0 or more":    {Planner: p, Model: m, OtherSteps: -2},
		`needs to be added to graph first`: {Planner: p, Model: m, Next: "nowhere"},
	} {
		g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
		_, err := einoadapter.AddLoop(t.Context(), g, cfg)
		require.ErrorContains(t, err, want)
	}
	for want, cfg := range map[string]*einoadapter.ReactConfig{
		"the ReactConfig is nil":                    nil,
		"ReactConfig.Planner is nil":                {Agent: react.AgentConfig{ToolCallingModel: m}},
		"ReactConfig.Agent.ToolCallingModel is nil": {Planner: p},
		"ReactConfig.Agent.MaxStep is -1":           {Planner: p, Agent: react.AgentConfig{ToolCallingModel: m, MaxStep: -1}},
		`tool 0 is called "write_todos", which is`:  {Planner: p, Agent: react.AgentConfig{ToolCallingModel: m, ToolsConfig: ours}},
	} {
		_, err := einoadapter.React(t.Context(), cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestGraphWithoutOurStateSaysWhatIsMissing(t *testing.T) {
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	loop, err := einoadapter.AddLoop(t.Context(), g, &einoadapter.GraphConfig{Planner: newPlanner(t, core.Config{}), Model: newLines(say("hi"))})
	require.NoError(t, err)
	require.NoError(t, g.AddEdge(compose.START, einoadapter.DefaultModelKey))
	r, err := g.Compile(t.Context(), loop.CompileOptions()...)
	require.NoError(t, err)
	_, err = r.Invoke(inSession("s"), user("Hello."))
	require.ErrorContains(t, err, "needs a local state that embeds GraphState")
}

// The parts wired by hand, with keys of the user's, are the loop.
func TestGraphWiredByHand(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			ctx := t.Context()
			m := guardScript()
			loop, err := einoadapter.NewLoop(ctx, &einoadapter.GraphConfig{Planner: newPlanner(t, core.Config{}), Model: m, ModelKey: "think", ToolsKey: "act"})
			require.NoError(t, err)
			g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
			require.NoError(t, errors.Join(
				g.AddChatModelNode("think", loop.Model()),
				g.AddToolsNode("act", loop.ToolsNode()),
				g.AddLambdaNode(einoadapter.GuardKey, loop.Guard()),
				g.AddLambdaNode(einoadapter.FinishKey, loop.Finish()),
				g.AddEdge(compose.START, "think"),
				g.AddBranch("think", loop.Branch()),
				g.AddEdge("act", "think"),
				g.AddEdge(einoadapter.GuardKey, "think"),
				g.AddEdge(einoadapter.FinishKey, compose.END),
			))
			r, err := g.Compile(ctx, loop.CompileOptions()...)
			require.NoError(t, err)
			answer, err := w.run(inSession("s"), r, user("Ship it."))
			require.NoError(t, err)
			require.Equal(t, "Shipped: v1.4.0 is out.", answer)
		})
	}
}

// The list belongs to the root agent: an agent inside a tool has none, unless the tool gives it a session of its own.
func TestGraphNestedAgentHasNoListOfItsOwn(t *testing.T) {
	for _, inner := range agentGraphs() {
		everyWay(t, func(t *testing.T, g agentGraph, w way) {
			for _, own := range []bool{false, true} {
				t.Run(fmt.Sprint(inner.name, "/own=", own), func(t *testing.T) {
					p := newPlanner(t, core.Config{})
					in := newLines(do(plan("n1", "completed")), say("Helped."))
					nested := work{name: "work", run: func(ctx context.Context) (string, error) {
						if own {
							ctx = core.WithSession(ctx, "inner")
						}
						return w.run(ctx, inner.build(t, rig{planner: p, model: in}), user("Help."))
					}}
					r := g.build(t, rig{planner: p, tools: tools(nested),
						model: newLines(do(plan("c1", "in_progress")), do(call("w", "work", `{}`)), do(plan("c2", "completed")), say("Done."))})
					answer, err := w.run(inSession("s"), r, user("Ship it."))
					require.NoError(t, err)
					require.Equal(t, "Done.", answer)
					reqs := in.requests()
					require.Len(t, reqs, 2)
					require.Equal(t, own, strings.Contains(reqs[1][3].Content, `"revision":1`), reqs[1][3].Content)
					require.Equal(t, !own, strings.Contains(reqs[1][3].Content, "belongs to the agent that called you"))
					require.NotContains(t, reqs[0][1].Content, "Ship it", "the outer list is not shown")
					s, err := p.Get(t.Context(), "s")
					require.NoError(t, err)
					require.EqualValues(t, 2, s.Revision)
				})
			}
		})
	}
}

// A user message that another node brings into a run in the middle is new input: a wait is over.
func TestGraphUserMessageInARunIsNewInput(t *testing.T) {
	for _, w := range ways() {
		for _, speaks := range []bool{false, true} {
			t.Run(fmt.Sprint(w.name, "/speaks=", speaks), func(t *testing.T) {
				ctx, log := t.Context(), &eventLog{}
				p := newPlanner(t, core.Config{OnEvent: log.add, ValidateWait: func(context.Context, []string, core.WaitInfo, *core.WaitBinding) (core.WaitValidation, error) {
					return core.WaitValidation{Status: core.WaitValid}, nil
				}})
				wait := call("c1", core.DefaultToolName, `{"todos":[{"content":"Build","status":"in_progress"}],"wait_for_tasks":["t1"]}`)
				m := newLines(do(wait), say("Building."), do(plan("c2", "cancelled")), say("Closed."))
				g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
				loop, err := einoadapter.NewLoop(ctx, &einoadapter.GraphConfig{Planner: p, Model: m})
				require.NoError(t, err)
				inbox := compose.InvokableLambda(func(_ context.Context, in []*schema.Message) ([]*schema.Message, error) {
					if speaks && in[0].ToolCallID == "c1" {
						in = append(in, schema.UserMessage("Any news?"))
					}
					return in, nil
				})
				require.NoError(t, errors.Join(
					g.AddChatModelNode("model", loop.Model()), g.AddToolsNode("tools", loop.ToolsNode()), g.AddLambdaNode("inbox", inbox),
					g.AddLambdaNode(einoadapter.GuardKey, loop.Guard()), g.AddLambdaNode(einoadapter.FinishKey, loop.Finish()),
					g.AddEdge(compose.START, "model"), g.AddBranch("model", loop.Branch()), g.AddEdge("tools", "inbox"), g.AddEdge("inbox", "model"),
					g.AddEdge(einoadapter.GuardKey, "model"), g.AddEdge(einoadapter.FinishKey, compose.END)))
				r, err := g.Compile(ctx, loop.CompileOptions()...)
				require.NoError(t, err)
				answer, err := w.run(inSession("s"), r, user("Build."))
				require.NoError(t, err)
				require.Equal(t, "Building.", answer)
				require.Equal(t, speaks, len(log.of(core.EventCorrected)) == 1)
			})
		}
	}
}

// One graph and one agent serve many runs at once.
func TestGraphRunsAtOnce(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		p := newPlanner(t, core.Config{})
		m := &answering{}
		r := g.build(t, rig{planner: p, model: m, tools: tools(work{name: "work"})})
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				session := fmt.Sprint("s", i)
				answer, err := w.run(inSession(session), r, user(session), withCallback())
				if err != nil || answer != "Answer for "+session {
					t.Errorf("%s: %q, %v", session, answer, err)
				}
				if s, err := p.Get(t.Context(), session); err != nil || s.Revision != 2 || s.Summary.Open() != 0 {
					t.Errorf("%s: revision %d, %v", session, s.Revision, err)
				}
			})
		}
		wg.Wait()
	})
}

// A caller that keeps the whole history of a react agent, notes and all, begins a new run with its next message.
func TestReactHistoryOfAnEarlierRun(t *testing.T) {
	ctx, log := inSession("s"), &eventLog{}
	p := newPlanner(t, core.Config{OnEvent: log.add})
	m := newLines(do(plan("c1", "in_progress")), say("The answer."), do(call("w", "work", `{}`)), do(plan("c2", "completed")), say("The new answer."), say("You are welcome."))
	cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{Planner: p, Agent: react.AgentConfig{ToolCallingModel: m, MaxStep: 50,
		ToolsConfig: compose.ToolsNodeConfig{Tools: tools(work{name: "work"})}}})
	require.NoError(t, err)
	agent, err := react.NewAgent(ctx, cfg)
	require.NoError(t, err)
	opt, future := react.WithMessageFuture()
	_, err = agent.Generate(ctx, user("Ship it."), opt)
	require.NoError(t, err)
	history := user("Ship it.")
	for it := future.GetMessages(); ; {
		msg, ok, err := it.Next()
		require.NoError(t, err)
		if !ok {
			break
		}
		history = append(history, msg)
	}
	_, err = agent.Generate(ctx, append(history, schema.UserMessage("Thanks.")))
	require.NoError(t, err)
	require.Equal(t, "system user assistant:c1 tool:c1 assistant user assistant:w tool:w assistant:c2 tool:c2 assistant user", shape(m.requests()[5]),
		"the future does not tell of the correction; something stands in its place, as providers want it")
	ends := log.of(core.EventRunEnded)
	require.Len(t, ends, 2)
	require.NotEqual(t, ends[0].RunID, ends[1].RunID)
}

// brokenStore fails to load.
type brokenStore struct{ core.Store }

func (brokenStore) Load(context.Context, string) ([]byte, core.Version, error) {
	return nil, "", fmt.Errorf("load: %w", core.ErrUnavailable)
}

// A store that fails ends the run with a typed error, or lets it go on without the list where the host says so.
func TestGraphStoreTrouble(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		log := &eventLog{}
		cfg := core.Config{Store: brokenStore{core.NewMemoryStore()}, OnEvent: log.add}
		_, err := w.run(inSession("s"), g.build(t, rig{planner: newPlanner(t, cfg), model: newLines(say("Hello."))}), user("Hello."), withCallback())
		require.ErrorIs(t, err, core.ErrUnavailable)
		require.Equal(t, core.EndFailed, log.of(core.EventRunEnded)[0].Reason)

		cfg.OnStoreError = func(context.Context, error) error { return nil }
		m := newLines(do(plan("c1", "in_progress")), say("Shipped."))
		answer, err := w.run(inSession("s"), g.build(t, rig{planner: newPlanner(t, cfg), model: m}), user("Ship it."))
		require.NoError(t, err)
		require.Equal(t, "Shipped.", answer)
		require.Contains(t, m.requests()[1][3].Content, "not_saved")
	})
}

// A history with two neighbouring answers, as callers that keep what they were shown have it, is mended for strict providers.
func TestGraphHistoryWithNeighbouringAnswers(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		m := newLines(say("You are welcome."))
		in := []*schema.Message{schema.UserMessage("Ship it."), schema.AssistantMessage("Shipped.", nil), schema.AssistantMessage("List updated.", nil), schema.UserMessage("Thanks.")}
		_, err := w.run(inSession("s"), g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m}), in)
		require.NoError(t, err)
		require.Equal(t, "system user assistant user assistant user", shape(m.requests()[0]))
	})
}

// So is one that ends with an answer, when the model's own answer comes behind that and is corrected.
func TestGraphHistoryThatEndsWithAnAnswer(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		p := newPlanner(t, core.Config{})
		require.NoError(t, openItems(p, "s", "Ship it"))
		m := newLines(say("Going on."), say("Not yet."))
		in := []*schema.Message{schema.UserMessage("Ship it."), schema.AssistantMessage("Wait for me.", nil)}
		_, err := w.run(inSession("s"), g.build(t, rig{planner: p, model: m}), in)
		require.NoError(t, err)
		require.Equal(t, "system user assistant user assistant user", shape(m.requests()[1]))
	})
}

// A graph that goes from the answer back to the model has a run for each answer, and one history.
func TestGraphSeveralRunsInOneInvocation(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			log, m := &eventLog{}, twoRuns()
			answer, err := w.run(inSession("s"), buildTwoRuns(t, rig{planner: newPlanner(t, core.Config{OnEvent: log.add}), model: m}), user("Once."))
			require.NoError(t, err)
			require.Equal(t, "Two.", answer)
			ends := log.of(core.EventRunEnded)
			require.Len(t, ends, 2)
			require.NotEqual(t, ends[0].RunID, ends[1].RunID)
			require.Len(t, log.of(core.EventCorrected), 2, "each run has its correction")
			require.Contains(t, shape(m.requests()[4]), "tool:c2 assistant user")
		})
	}
}

// The later run has what the earlier one left of the steps: 8 and 3 outside the loops of 19, and what it answers is not lost.
func TestGraphSeveralRunsShareTheSteps(t *testing.T) {
	for _, w := range ways() {
		for limit := 14; limit <= 20; limit++ {
			t.Run(fmt.Sprint(w.name, "/", limit), func(t *testing.T) {
				m := twoRuns()
				answer, err := w.run(inSession("s"), buildTwoRuns(t, rig{planner: newPlanner(t, core.Config{}), model: m, maxSteps: limit}), user("Once."))
				require.NoError(t, err)
				require.Equal(t, "Two.", answer)
				want := 6
				if limit >= 19 {
					want = 8 // with room for a correction
				}
				require.Len(t, m.requests(), want)
			})
		}
	}
}

func twoRuns() *lineModel {
	return newLines(do(plan("c1", "in_progress")), say("One."), do(plan("c2", "completed")), say("Closed."), do(plan("c3", "in_progress")), say("Two."), do(plan("c4", "completed")), say("Closed."))
}

// buildTwoRuns is a graph that asks once more after the first answer; three steps are outside the loop.
func buildTwoRuns(t *testing.T, r rig) agentRunnable {
	ctx := t.Context()
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
	asked := false
	require.NoError(t, g.AddLambdaNode("answer", compose.InvokableLambda(func(_ context.Context, m *schema.Message) (*schema.Message, error) { return m, nil })))
	require.NoError(t, g.AddLambdaNode("user", compose.InvokableLambda(func(context.Context, *schema.Message) ([]*schema.Message, error) {
		return user("And again."), nil
	})))
	loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{Planner: r.planner, Model: r.model, Next: "answer", MaxRunSteps: r.maxSteps, OtherSteps: 3})
	require.NoError(t, err)
	require.NoError(t, errors.Join(
		g.AddEdge(compose.START, "model"), g.AddEdge("user", "model"),
		g.AddBranch("answer", compose.NewGraphBranch(func(context.Context, *schema.Message) (string, error) {
			if asked {
				return compose.END, nil
			}
			asked = true
			return "user", nil
		}, map[string]bool{"user": true, compose.END: true}))))
	out, err := g.Compile(ctx, loop.CompileOptions()...)
	require.NoError(t, err)
	return out
}
