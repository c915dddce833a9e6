package lcgadapter_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/internal/stricttest"
	"github.com/todoguard/todoguard/lcgadapter"
)

// wire runs a functions agent on the real openai client against a strict server.
func wire(t *testing.T, replies []stricttest.Reply, options ...agents.Option) (map[string]any, *stricttest.Server, *lcgadapter.Agent) {
	t.Helper()
	srv := stricttest.OpenAI(t, replies...)
	agent := wrapped(t, openAIModel(t, srv))
	executor := lcgadapter.NewExecutor(agent, append([]agents.Option{agents.WithMaxIterations(12), agents.WithReturnIntermediateSteps()}, options...)...)
	out, err := chains.Call(session(t), executor, map[string]any{"input": "go"})
	require.NoError(t, err)
	srv.Check(t)
	return out, srv, agent
}

func call(parts ...string) stricttest.Reply {
	var r stricttest.Reply
	for i := 0; i+2 < len(parts); i += 3 {
		r.Calls = append(r.Calls, stricttest.Call{ID: parts[i], Name: parts[i+1], Args: parts[i+2]})
	}
	return r
}

func text(s string) stricttest.Reply { return stricttest.Reply{Text: s} }

const searchX = `{"__arg1":"x"}`

// Trap: a tool call that the model did not make is never put before a provider; the correction stands in the tail.
func TestTheForcedTurnIsNotSeenByTheModel(t *testing.T) {
	out, srv, _ := wire(t, []stricttest.Reply{call("c1", "write_todos", twoOpen), text("FULL"), call("c2", "write_todos", twoDone), text("updated")})
	require.Equal(t, "FULL", out["output"])
	third := srv.Requests()[2]
	require.Len(t, third, 4, "system, user, the one call and its result")
	tail := third[3].Results[0].Text
	require.Contains(t, tail, `Your answer so far, kept: "FULL"`)
	require.Contains(t, tail, "Read")
}

// The state that travels in the actions is not shown to anybody: not to the model, the handler or the caller.
func TestStepsAndActionsAreShownAsTheModelMadeThem(t *testing.T) {
	var seen []schema.AgentAction
	h := actionHandler{to: &seen}
	out, srv, _ := wire(t, []stricttest.Reply{
		call("c1", "write_todos", twoOpen), call("c2", "search", searchX, "c3", "write_todos", oneDone), call("c4", "search", searchX),
		text("FULL"), call("c5", "write_todos", twoDone), text("updated"),
	}, agents.WithCallbacksHandler(h))
	steps := out["intermediateSteps"].([]schema.AgentStep)
	require.Len(t, steps, 5)
	for i, want := range []struct{ id, tool, input string }{
		{"c1", "write_todos", twoOpen}, {"c2", "search", "x"}, {"c3", "write_todos", oneDone}, {"c4", "search", "x"}, {"c5", "write_todos", twoDone},
	} {
		require.Equal(t, want.id, steps[i].Action.ToolID)
		require.Equal(t, want.tool, steps[i].Action.Tool)
		require.Equal(t, want.input, steps[i].Action.ToolInput)
		require.Equal(t, steps[i].Action, seen[i])
	}
	require.Len(t, seen, 5)
	all, err := json.Marshal([]any{out, seen, srv.Bodies()})
	require.NoError(t, err)
	require.NotContains(t, string(all), "todoguard:")
}

type actionHandler struct {
	callbacks.SimpleHandler
	to *[]schema.AgentAction
}

func (h actionHandler) HandleAgentAction(_ context.Context, a schema.AgentAction) {
	*h.to = append(*h.to, a)
}

// With an executor of agents.NewExecutor the steps carry the state; CleanSteps takes it out.
func TestCleanStepsOfAPlainExecutor(t *testing.T) {
	agent := wrapped(t, script(calls("c1", "write_todos", twoOpen), calls("c2", "search", searchX), say("FULL"), calls("c3", "write_todos", twoDone), say("updated")))
	out, err := chains.Call(session(t), agents.NewExecutor(agent, agents.WithReturnIntermediateSteps(), agents.WithMaxIterations(9)), map[string]any{"input": "go"})
	require.NoError(t, err)
	require.Equal(t, "FULL", out["output"])
	raw := out["intermediateSteps"].([]schema.AgentStep)
	require.Len(t, raw, 4, "with the call that held the answer back")
	clean := agent.Plugin().CleanSteps(raw)
	require.Len(t, clean, 3)
	require.Equal(t, twoOpen, clean[0].Action.ToolInput)
	require.NotContains(t, clean[1].Action.Log, "todoguard:")
	require.Contains(t, raw[1].Action.Log, "todoguard:", "the caller's steps are left alone")
}

// Trap: a model could send an envelope as its own arguments, or end its text with one.
func TestAForgedEnvelopeIsTheModelsOwnBadArgument(t *testing.T) {
	other := wrapped(t, script(calls("c1", "write_todos", twoOpen), calls("c2", "search", searchX), say("x"), say("x")))
	out, err := chains.Call(session(t), agents.NewExecutor(other, agents.WithReturnIntermediateSteps()), map[string]any{"input": "go"})
	require.NoError(t, err)
	seal := out["intermediateSteps"].([]schema.AgentStep)[0].Action.ToolInput // a real one, of another plugin
	require.True(t, strings.HasPrefix(seal, "todoguard:"))
	args, err := json.Marshal(map[string]string{"__arg1": seal})
	require.NoError(t, err)

	answer := ""
	steps, srv, agent := wire(t, []stricttest.Reply{
		call("c1", "write_todos", twoOpen), call("c2", "write_todos", string(args)), call("c3", "search", string(args)),
		{Text: "\n" + seal, Calls: call("c4", "search", searchX).Calls}, text("FULL"), call("c5", "write_todos", twoDone), text("updated"),
	})
	answer, _ = steps["output"].(string)
	require.Equal(t, "FULL", answer)
	require.Contains(t, srv.Requests()[2][5].Results[0].Text, `"malformed"`)
	snap, err := agent.Plugin().Planner().Get(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, snap.Open())

	// A tool that is called with it directly does not take it for its own either.
	result, err := agent.Plugin().Tools()[0].Call(session(t), seal)
	require.NoError(t, err)
	require.Contains(t, result, `"malformed"`)
}

// Trap: equal logs of neighbouring steps are merged into one message; repeated and empty ids collide.
func TestIdenticalCallsInTurnStayApart(t *testing.T) {
	out, srv, _ := wire(t, []stricttest.Reply{
		call("call_0", "search", searchX), call("call_0", "search", searchX), call("", "search", searchX), call("call_0", "search", searchX, "call_0", "search", searchX), text("ok"),
	})
	require.Equal(t, "ok", out["output"])
	reqs := srv.Requests()
	ids := map[string]bool{}
	for _, m := range reqs[len(reqs)-1] {
		for _, c := range m.Calls {
			require.NotEmpty(t, c.ID)
			require.False(t, ids[c.ID], c.ID)
			ids[c.ID] = true
		}
	}
	require.Len(t, ids, 5)
}

// Trap: the step that a ParserErrorHandler leaves has an empty action: as a tool call it would have neither name nor id.
func TestAParserErrorStepIsNoToolCall(t *testing.T) {
	srv := stricttest.OpenAI(t, call("c1", "search", searchX), text("ok"))
	real := openAIModel(t, srv)
	model := &scripted{answer: func(ctx context.Context, n int, r request) (*llms.ContentResponse, error) {
		if n == 1 || n == 3 {
			return nil, agents.ErrUnableToParseOutput
		}
		return real.GenerateContent(ctx, r.msgs, llms.WithTools(r.opts.Tools))
	}}
	executor := lcgadapter.NewExecutor(wrapped(t, model), agents.WithParserErrorHandler(agents.NewParserErrorHandler(func(string) string { return "SAY IT AGAIN" })))
	answer, err := chains.Run(session(t), executor, "go")
	require.NoError(t, err)
	require.Equal(t, "ok", answer)
	srv.Check(t)
	require.Contains(t, srv.Requests()[0][1].Text, "SAY IT AGAIN", "behind the input while there is no step")
	require.Contains(t, srv.Requests()[1][3].Results[0].Text, "SAY IT AGAIN", "behind the last result")
}

// Trap: a finish with nil ReturnValues is not a finish; the executor changes the map that it gets.
func TestAFinishHasAMapOfItsOwn(t *testing.T) {
	values := map[string]any{"output": "x"}
	for name, finish := range map[string]*schema.AgentFinish{"nil": {Log: "done"}, "shared": {ReturnValues: values}} {
		t.Run(name, func(t *testing.T) {
			p, err := lcgadapter.New()
			require.NoError(t, err)
			a, err := p.Wrap(constant{finish: finish, tools: p.Tools()})
			require.NoError(t, err)
			_, got, err := a.Plan(session(t), nil, map[string]string{"input": "go"})
			require.NoError(t, err)
			require.NotNil(t, got.ReturnValues)
			got.ReturnValues["intermediateSteps"] = 1
			require.Equal(t, map[string]any{"output": "x"}, values)
		})
	}
}

// What a custom agent returns beside its answer survives a correction.
func TestOtherOutputsSurviveACorrection(t *testing.T) {
	p, err := lcgadapter.New()
	require.NoError(t, err)
	_, err = p.Planner().Update(t.Context(), "s", func([]core.Item) ([]core.Item, error) { return []core.Item{{Content: "Read"}}, nil })
	require.NoError(t, err)
	agent := constant{finish: &schema.AgentFinish{ReturnValues: map[string]any{"output": "EARLY", "source": "a.md"}}, tools: p.Tools(), fail: 2, n: new(int)}
	a, err := p.Wrap(agent)
	require.NoError(t, err)
	out, err := chains.Call(session(t), lcgadapter.NewExecutor(a), map[string]any{"input": "go"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"output": "EARLY", "source": "a.md"}, out)
}

// constant is an agent of a kind that the adapter does not know.
type constant struct {
	finish *schema.AgentFinish
	tools  []tools.Tool
	fail   int // the number of the Plan that fails
	n      *int
}

func (c constant) Plan(context.Context, []schema.AgentStep, map[string]string, ...chains.ChainCallOption) ([]schema.AgentAction, *schema.AgentFinish, error) {
	if c.n != nil {
		if *c.n++; *c.n == c.fail {
			return nil, nil, context.DeadlineExceeded
		}
	}
	return nil, c.finish, nil
}
func (constant) GetInputKeys() []string   { return []string{"input"} }
func (constant) GetOutputKeys() []string  { return []string{"output"} }
func (c constant) GetTools() []tools.Tool { return c.tools }

// Trap: the tail is not persisted: memory gets what the user said and what was answered.
func TestTheTailDoesNotLeakIntoMemory(t *testing.T) {
	for _, kind := range []string{"functions", "conversational"} {
		t.Run(kind, func(t *testing.T) {
			p, err := lcgadapter.New()
			require.NoError(t, err)
			_, err = p.Planner().Update(t.Context(), "s", func([]core.Item) ([]core.Item, error) { return []core.Item{{Content: "Left over"}}, nil })
			require.NoError(t, err)
			model := script(say("AI: ANSWER"), say("AI: closing"), say("AI: again"), say("AI: again"))
			var inner agents.Agent = agents.NewOpenAIFunctionsAgent(model, nil)
			if kind == "conversational" {
				inner = agents.NewConversationalAgent(model, p.Tools())
			}
			a, err := p.Wrap(inner)
			require.NoError(t, err)
			mem := memory.NewConversationBuffer()
			executor := lcgadapter.NewExecutor(a, agents.WithMemory(mem))
			_, err = chains.Run(session(t), executor, "first")
			require.NoError(t, err)
			require.Contains(t, model.requests[0].text(), "Left over")
			history, err := mem.ChatHistory.Messages(t.Context())
			require.NoError(t, err)
			require.Len(t, history, 2)
			require.Equal(t, "first", history[0].GetContent())
			require.NotContains(t, history[1].GetContent(), "todos>")
			require.Contains(t, history[1].GetContent(), "ANSWER")
			_, err = chains.Run(session(t), executor, "second")
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(model.requests[2].text(), "<todos>"), "one block, however long the history")
		})
	}
}

// Trap: template syntax in an item or the tool's description must not be read as a template.
func TestBracesInItemsAndDescriptionsAreSafe(t *testing.T) {
	for _, kind := range []string{"functions", "mrkl", "conversational"} {
		t.Run(kind, func(t *testing.T) {
			p, err := lcgadapter.New()
			require.NoError(t, err)
			_, err = p.Planner().Update(t.Context(), "s", func([]core.Item) ([]core.Item, error) {
				return []core.Item{{Content: "use {{.secret}} and {{ nope"}}, nil
			})
			require.NoError(t, err)
			model := script(say("Final Answer: ok AI: ok"), say("Final Answer: ok AI: ok"))
			a, err := p.Wrap(agentOf(kind, model, p.Tools()))
			require.NoError(t, err)
			_, err = chains.Run(session(t), lcgadapter.NewExecutor(a), "go")
			require.NoError(t, err)
			require.Contains(t, model.requests[0].text(), "use {{.secret}} and {{ nope")
		})
	}
}

func agentOf(kind string, m llms.Model, ts []tools.Tool, options ...agents.Option) agents.Agent {
	switch kind {
	case "mrkl":
		return agents.NewOneShotAgent(m, ts, options...)
	case "conversational":
		return agents.NewConversationalAgent(m, ts, options...)
	}
	return agents.NewOpenAIFunctionsAgent(m, ts, options...)
}

// Trap: tool names are matched by the executor whatever their case.
func TestToolNamesInAnotherCase(t *testing.T) {
	model := script(calls("c1", "Write_Todos", twoOpen, "c2", "WRITE_TODOS", twoDone), say("x"), say("x"))
	agent := wrapped(t, model)
	_, err := chains.Run(session(t), lcgadapter.NewExecutor(agent), "go")
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(model.requests[1].text(), `"parallel_write"`))
}

// The session comes from ctx, or from the host's own function; without one the run fails and the model is not called.
func TestSession(t *testing.T) {
	t.Run("none", func(t *testing.T) {
		model := script(say("x"))
		_, err := chains.Run(t.Context(), lcgadapter.NewExecutor(wrapped(t, model)), "go")
		require.ErrorIs(t, err, core.ErrNoSession)
		require.Empty(t, model.requests)
		p, err := lcgadapter.New()
		require.NoError(t, err)
		_, err = p.Tools()[0].Call(t.Context(), twoOpen)
		require.ErrorIs(t, err, core.ErrNoSession)
	})
	t.Run("of the host", func(t *testing.T) {
		type tenant struct{}
		agent := wrapped(t, script(calls("c1", "write_todos", twoDone), say("x")), lcgadapter.WithSessionFunc(func(ctx context.Context) string {
			id, _ := ctx.Value(tenant{}).(string)
			return id
		}))
		_, err := chains.Run(context.WithValue(t.Context(), tenant{}, "acme"), lcgadapter.NewExecutor(agent), "go")
		require.NoError(t, err)
		snap, err := agent.Plugin().Planner().Get(t.Context(), "acme")
		require.NoError(t, err)
		require.Len(t, snap.Todos, 2)
	})
}

// Each run has a boundary and an id of its own; all turns of one run share them.
func TestARunBeginsWithTheFirstPlan(t *testing.T) {
	var turns []core.Event
	agent := wrapped(t, script(calls("c1", "search", searchX), say("a"), calls("c1", "search", searchX), say("b")), lcgadapter.WithOnEvent(collect(&turns, core.EventTurn)))
	executor := lcgadapter.NewExecutor(agent)
	for range 2 {
		_, err := chains.Run(session(t), executor, "go")
		require.NoError(t, err)
	}
	require.Len(t, turns, 4)
	require.Equal(t, turns[0].RunID, turns[1].RunID)
	require.Equal(t, turns[2].RunID, turns[3].RunID)
	require.NotEqual(t, turns[0].RunID, turns[2].RunID)
}

// The guard is off for a run whose ctx says so.
func TestWithGuardOff(t *testing.T) {
	model := script(calls("c1", "write_todos", twoOpen), say("EARLY"))
	answer, err := chains.Run(core.WithGuard(session(t), false), lcgadapter.NewExecutor(wrapped(t, model)), "go")
	require.NoError(t, err)
	require.Equal(t, "EARLY", answer)
}
