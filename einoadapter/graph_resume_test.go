package einoadapter_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// approval is a tool that interrupts for the user's word.
var approval = work{name: "ask", run: func(ctx context.Context) (string, error) {
	if was, _, _ := tool.GetInterruptState[string](ctx); !was {
		return "", tool.StatefulInterrupt(ctx, "May I?", "asked")
	}
	_, _, word := tool.GetResumeContext[string](ctx)
	return "the user says " + word, nil
}}

// process is one process: everything but the store and the checkpoints is new.
type process struct {
	log    eventLog
	model  *lineModel
	cfg    core.Config
	graph  agentRunnable
	checks *checkpoints
}

func (p *process) start(t testing.TB, g agentGraph) *process {
	p.cfg.OnEvent = p.log.add
	p.graph = g.build(t, rig{planner: newPlanner(t, p.cfg), model: p.model, tools: tools(approval),
		compile: []compose.GraphCompileOption{compose.WithCheckPointStore(p.checks)}})
	return p
}

// interrupted runs until the approval is asked for, and returns the id to resume by.
func (p *process) interrupted(t testing.TB, w way) string {
	_, err := w.run(inSession("s"), p.graph, user("Ship it."), compose.WithCheckPointID("cp"))
	info, ok := compose.ExtractInterruptInfo(err)
	require.True(t, ok, "%v", err)
	for _, c := range info.InterruptContexts {
		if c.IsRootCause {
			return c.ID
		}
	}
	t.Fatal("no root cause")
	return ""
}

// resumed goes on; the session is not in ctx: it is the run's.
func (p *process) resumed(t testing.TB, w way, id string) string {
	answer, err := w.run(compose.ResumeWithData(context.Background(), id, "yes"), p.graph, nil, compose.WithCheckPointID("cp"))
	require.NoError(t, err)
	return answer
}

func TestGraphResumesInANewProcess(t *testing.T) {
	for name, last := range map[string]struct {
		closing, answer string
		superseded      []string
	}{
		"the held answer is delivered":  {"", "The answer.", nil},
		"real work makes it a new one":  {"The new answer.", "The new answer.", []string{"The answer."}},
		"and the old one is not erased": {"The answer, again.", "The answer, again.", []string{"The answer."}},
	} {
		everyWay(t, func(t *testing.T, g agentGraph, w way) {
			t.Run(name, func(t *testing.T) {
				store, checks := core.NewMemoryStore(), &checkpoints{}
				first := (&process{cfg: core.Config{Store: store}, checks: checks,
					model: newLines(do(plan("c1", "in_progress")), say("The answer."), do(call("a", "ask", `{}`)))}).start(t, g)
				id := first.interrupted(t, w)
				require.Len(t, first.log.of(core.EventCorrected), 1)

				second := (&process{cfg: core.Config{Store: store}, checks: checks,
					model: newLines(do(plan("c2", "completed")), say(last.closing))}).start(t, g)
				require.Equal(t, last.answer, second.resumed(t, w, id))

				reqs := second.model.requests()
				require.Len(t, reqs, 2)
				require.Equal(t, "system user assistant:c1 tool:c1 assistant user assistant:a tool:a", shape(reqs[0]))
				require.Equal(t, "The answer.", reqs[0][4].Content)
				require.Equal(t, first.model.requests()[2][5].Extra, reqs[0][5].Extra, "the mark of the correction")
				require.Contains(t, reqs[0][7].Content, "the user says yes")
				require.Contains(t, reqs[0][7].Content, "Ship it", "the open item is shown")

				ends := second.log.of(core.EventRunEnded)
				require.Len(t, ends, 1)
				require.Equal(t, first.log.all()[0].RunID, ends[0].RunID, "the same run")
				require.Equal(t, last.superseded, ends[0].Superseded)
				require.Empty(t, ends[0].Open)
				require.Empty(t, second.log.of(core.EventCorrected), "its correction was made before")
			})
		})
	}
}

// The answer to an interrupt is new input: a wait that was declared before it ends no run after it (section 7).
func TestGraphWaitDoesNotOutliveAnInterrupt(t *testing.T) {
	wait := call("c1", core.DefaultToolName, `{"todos":[{"id":"1","content":"Build","status":"in_progress"}],"wait_for_tasks":["t1"]}`)
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		var asked []bool
		cfg := core.Config{Store: core.NewMemoryStore(), ValidateWait: func(_ context.Context, _ []string, info core.WaitInfo, _ *core.WaitBinding) (core.WaitValidation, error) {
			asked = append(asked, info.Final)
			return core.WaitValidation{Status: core.WaitValid}, nil
		}}
		checks := &checkpoints{}
		first := (&process{cfg: cfg, checks: checks, model: newLines(do(wait, call("a", "ask", `{}`)))}).start(t, g)
		id := first.interrupted(t, w)
		require.Equal(t, []bool{false}, asked)

		second := (&process{cfg: cfg, checks: checks, model: newLines(say("Building."), do(plan("c2", "cancelled")), say("Closed."))}).start(t, g)
		require.Equal(t, "Building.", second.resumed(t, w, id))
		require.Equal(t, []bool{false}, asked, "the host is not asked about a dead wait")
		require.Len(t, second.log.of(core.EventCorrected), 1)
	})
	// without the interrupt the same wait ends the run
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		log := &eventLog{}
		p := newPlanner(t, core.Config{OnEvent: log.add, ValidateWait: func(context.Context, []string, core.WaitInfo, *core.WaitBinding) (core.WaitValidation, error) {
			return core.WaitValidation{Status: core.WaitValid}, nil
		}})
		answer, err := w.run(inSession("s"), g.build(t, rig{planner: p, model: newLines(do(wait), say("Building."))}), user("Build."))
		require.NoError(t, err)
		require.Equal(t, "Building.", answer)
		require.Equal(t, core.EndWaiting, log.of(core.EventRunEnded)[0].Reason)
	})
}

// ownState is a user's state that embeds ours.
type ownState struct {
	einoadapter.GraphState
	Messages []string // a name that GraphState has as well
	Visits   int
}

func init() { schema.RegisterName[*ownState]("einoadapter_test_own_state") }

// A user's own state and state handlers work beside the loop, and survive with it.
func TestGraphWithTheUsersOwnState(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			store, checks := core.NewMemoryStore(), &checkpoints{}
			var last ownState
			build := func(m *lineModel) agentRunnable {
				ctx := context.Background()
				g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *ownState { return &ownState{} }))
				require.NoError(t, g.AddLambdaNode("sign", compose.InvokableLambda(func(_ context.Context, m *schema.Message) (*schema.Message, error) {
					return schema.AssistantMessage(m.Content+" -- signed", nil), nil
				})))
				loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{
					Planner: newPlanner(t, core.Config{Store: store}), Model: m, Tools: compose.ToolsNodeConfig{Tools: tools(approval)},
					Next: "sign", OtherSteps: 1, MaxRunSteps: 9,
					ModelOptions: []compose.GraphAddNodeOpt{compose.WithStatePreHandler(func(_ context.Context, in []*schema.Message, s *ownState) ([]*schema.Message, error) {
						s.Visits++
						s.Messages = append(s.Messages, string(in[len(in)-1].Role))
						last = *s
						return in, nil
					})},
				})
				require.NoError(t, err)
				require.NoError(t, g.AddEdge(compose.START, einoadapter.DefaultModelKey))
				require.NoError(t, g.AddEdge("sign", compose.END))
				r, err := g.Compile(ctx, append(loop.CompileOptions(), compose.WithCheckPointStore(checks))...)
				require.NoError(t, err)
				return r
			}
			p := &process{graph: build(newLines(do(plan("c1", "in_progress")), do(call("a", "ask", `{}`)))), checks: checks}
			id := p.interrupted(t, w)
			p.graph = build(newLines(do(plan("c2", "completed")), say("Shipped.")))
			require.Equal(t, "Shipped. -- signed", p.resumed(t, w, id))
			require.Equal(t, 4, last.Visits)
			require.Equal(t, []string{"user", "tool", "tool", "tool"}, last.Messages)
		})
	}
}

// An interrupt between the nodes, with nothing but bookkeeping behind the answer: the held answer is what is delivered.
func TestGraphInterruptBeforeTheTools(t *testing.T) {
	store, checks := core.NewMemoryStore(), &checkpoints{}
	build := func(m *lineModel) agentRunnable {
		return buildGraph(t, rig{planner: newPlanner(t, core.Config{Store: store}), model: m, compile: []compose.GraphCompileOption{
			compose.WithCheckPointStore(checks), compose.WithInterruptBeforeNodes([]string{einoadapter.DefaultToolsKey})}})
	}
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			clear(checks.m)
			require.NoError(t, store.Delete(t.Context(), "s"))
			lines := [][]line{{do(plan("c1", "in_progress"))}, {say("The answer."), do(plan("c2", "completed"))}, {say("List updated.")}}
			var answer string
			for i, l := range lines {
				var err error
				answer, err = w.run(inSession("s"), build(newLines(l...)), user("Ship it."), compose.WithCheckPointID("cp"))
				if _, ok := compose.ExtractInterruptInfo(err); i < len(lines)-1 {
					require.True(t, ok, "%v", err)
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, "The answer.", answer)
		})
	}
}

// What a checkpoint holds of the run is plain JSON inside eino's own format, and holds no handle.
func TestGraphCheckpointIsPlain(t *testing.T) {
	for _, g := range agentGraphs() {
		t.Run(g.name, func(t *testing.T) {
			p := (&process{checks: &checkpoints{}, model: newLines(do(plan("c1", "in_progress")), say("The answer."), do(call("a", "ask", `{}`)))}).start(t, g)
			p.interrupted(t, ways()[0])
			doc := p.checks.m["cp"]
			require.True(t, json.Valid(doc))
			require.True(t, slices.ContainsFunc([]string{"todoguard_run", "todoguard_react_note"}, func(name string) bool {
				return containsText(doc, name) || containsText(doc, "todoguard_graph_state")
			}))
			require.True(t, containsText(doc, `"held":"The answer."`))
		})
	}
}

func containsText(doc []byte, text string) bool {
	var find func(v any) bool
	find = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				if k == text || find(e) {
					return true
				}
				if s, ok := e.(string); ok && `"`+k+`":"`+s+`"` == text {
					return true
				}
			}
		case []any:
			return slices.ContainsFunc(v, find)
		case string:
			return v == text
		}
		return false
	}
	var v any
	_ = json.Unmarshal(doc, &v)
	return find(v)
}

// Eino counts the steps of a resumed run from zero, and so does the loop: at no limit is the answer lost after a resume.
func TestGraphStepsAfterAResume(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		for steps := 4; steps < 14; steps++ {
			store, checks := core.NewMemoryStore(), &checkpoints{}
			build := func(m *lineModel) *process {
				return &process{checks: checks, graph: g.build(t, rig{planner: newPlanner(t, core.Config{Store: store}), model: m, maxSteps: steps,
					tools: tools(approval, work{name: "work"}), compile: []compose.GraphCompileOption{compose.WithCheckPointStore(checks)}})}
			}
			id := build(newLines(do(plan("c1", "in_progress")), do(call("a", "ask", `{}`)))).interrupted(t, w)
			lines := []line{say("The answer.")}
			for range 12 {
				lines = append(lines, do(call("w", "work", `{}`)))
			}
			require.Equal(t, "The answer.", build(newLines(lines...)).resumed(t, w, id), "%d steps", steps)
		}
	})
}

// pausing is a model that interrupts at its first call.
type pausing struct {
	*lineModel
	paused *bool
}

func (m pausing) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m pausing) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if !*m.paused {
		*m.paused = true
		return nil, compose.Interrupt(ctx, "quota")
	}
	return m.lineModel.Generate(ctx, in, opts...)
}

func (m pausing) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	if !*m.paused {
		*m.paused = true
		return nil, compose.Interrupt(ctx, "quota")
	}
	return m.lineModel.Stream(ctx, in, opts...)
}

// A model node that runs again after an interrupt of its own asks with the same input, once.
func TestGraphModelInterrupts(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		checks, paused := &checkpoints{}, false
		m := newLines(do(plan("c1", "completed")), say("Shipped."))
		build := func() *process {
			return &process{checks: checks, graph: g.build(t, rig{planner: newPlanner(t, core.Config{}), model: pausing{m, &paused},
				compile: []compose.GraphCompileOption{compose.WithCheckPointStore(checks)}})}
		}
		id := build().interrupted(t, w)
		p := build()
		answer, err := w.run(core.WithSession(compose.Resume(context.Background(), id), "s"), p.graph, nil, compose.WithCheckPointID("cp"))
		require.NoError(t, err)
		require.Equal(t, "Shipped.", answer)
		require.Equal(t, "system user", shape(m.requests()[0]))
		require.Equal(t, "system user assistant:c1 tool:c1", shape(m.requests()[1]))
	})
}
