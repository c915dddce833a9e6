package lcgadapter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

type (
	agentStep   = schema.AgentStep
	agentAction = schema.AgentAction
	agentFinish = schema.AgentFinish
)

// Trap: a tool's error, the limit and an answer that cannot be parsed end the run inside the executor. Each run has one
// end event all the same, and it is the last of its run.
func TestEveryRunEndsWithOneEvent(t *testing.T) {
	boom := errors.New("boom")
	broken := tool{"broken", func(context.Context, string) (string, error) { return "", boom }}
	for name, c := range map[string]struct {
		steps  []step
		limit  int
		reason core.EndReason
		err    error
		open   int
	}{
		"answered":        {[]step{calls("c1", "write_todos", twoDone), say("x")}, 5, core.EndAnswered, nil, 0},
		"limit":           {[]step{calls("c1", "search", searchX), calls("c2", "write_todos", twoOpen)}, 2, core.EndMaxIterations, agents.ErrNotFinished, 2},
		"no iteration":    {nil, 0, "", agents.ErrNotFinished, 0},
		"a tool's error":  {[]step{calls("c1", "write_todos", twoOpen), calls("c2", "broken", searchX)}, 5, core.EndFailed, boom, 2},
		"a model's error": {[]step{calls("c1", "write_todos", twoOpen), {err: boom}}, 5, core.EndFailed, boom, 2},
		"no parsing":      {[]step{calls("c1", "write_todos", twoOpen), {err: agents.ErrUnableToParseOutput}}, 5, core.EndFailed, agents.ErrUnableToParseOutput, 2},
		"cancelled":       {[]step{calls("c1", "write_todos", twoOpen), {err: context.Canceled}}, 5, core.EndCancelled, context.Canceled, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var events []core.Event
			a, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(script(c.steps...), []tools.Tool{search(), broken}),
				lcgadapter.WithOnEvent(func(_ context.Context, e core.Event) { events = append(events, e) }))
			require.NoError(t, err)
			_, err = chains.Run(session(t), lcgadapter.NewExecutor(a, agents.WithMaxIterations(c.limit)), "go")
			require.ErrorIs(t, err, c.err)
			var ends []core.Event
			collectAll := collect(&ends, core.EventRunEnded)
			for _, e := range events {
				collectAll(t.Context(), e)
			}
			if c.reason == "" { // the model was not called: there was no run
				require.Empty(t, ends)
				return
			}
			require.Len(t, ends, 1)
			require.Equal(t, c.reason, ends[0].Reason)
			require.ErrorIs(t, ends[0].Err, c.err)
			require.Len(t, ends[0].Open, c.open)
			require.Equal(t, core.EventRunEnded, events[len(events)-1].Kind)
		})
	}
}

// Trap: no event of the executor carries an observation. The list's own events come to the handler, after commit.
func TestHandlerGetsTheListsEvents(t *testing.T) {
	var kinds []core.EventKind
	var lists [][]core.Item
	var actions []schema.AgentAction
	handler := lcgadapter.Handler(actionHandler{to: &actions}, func(_ context.Context, e core.Event) {
		kinds = append(kinds, e.Kind)
		if e.Kind == core.EventListChanged {
			lists = append(lists, e.Todos)
		}
	})
	agent := wrapped(t, script(calls("c1", "write_todos", twoOpen), say("FULL"), calls("c2", "write_todos", twoDone), say("updated")))
	executor := lcgadapter.NewExecutor(agent, agents.WithCallbacksHandler(callbacks.CombiningHandler{Callbacks: []callbacks.Handler{callbacks.SimpleHandler{}, handler}}))
	_, err := chains.Run(session(t), executor, "go")
	require.NoError(t, err)
	require.Equal(t, []core.EventKind{core.EventTurn, core.EventListChanged, core.EventTurn, core.EventCorrected, core.EventTurn, core.EventListChanged, core.EventTurn, core.EventRunEnded}, kinds)
	require.Len(t, lists, 2)
	require.Len(t, lists[1], 2)
	require.Len(t, actions, 2, "the executor's events go on, without the call that the model did not make")
	require.Equal(t, twoOpen, actions[0].ToolInput)

	// Another executor of the same agent has its own handler, and the first hears nothing of it.
	n := len(kinds)
	other := lcgadapter.NewExecutor(wrapped(t, script(say("x"))))
	_, err = chains.Run(session(t), other, "go")
	require.NoError(t, err)
	require.Len(t, kinds, n)
}

func TestHandlerTakesNil(t *testing.T) {
	h := lcgadapter.Handler(nil, nil)
	h.HandleTodoEvent(t.Context(), core.Event{})
	h.HandleText(t.Context(), "x")
}

// An agent inside a tool gets no list, no reminder and no guard of its own, unless the host gives it a session of its own.
func TestNestedAgents(t *testing.T) {
	for _, c := range []struct {
		name    string
		plain   bool // executors of agents.NewExecutor
		session string
	}{{"same session", false, ""}, {"same session, plain executors", true, ""}, {"own session", false, "inner"}, {"own session, plain executors", true, "inner"}} {
		t.Run(c.name, func(t *testing.T) {
			run := func(ctx context.Context, a *lcgadapter.Agent, input string) (string, error) {
				var e chains.Chain = lcgadapter.NewExecutor(a)
				if c.plain {
					e = agents.NewExecutor(a)
				}
				return chains.Run(ctx, e, input)
			}
			store := core.NewMemoryStore()
			innerModel := script(calls("n1", "write_todos", oneDone), say("INNER"), calls("n2", "write_todos", twoDone), say("inner updated"))
			inner := wrapped(t, innerModel, lcgadapter.WithStore(store))
			expert := tool{"expert", func(ctx context.Context, in string) (string, error) {
				if c.session != "" {
					ctx = core.WithSession(ctx, c.session)
				}
				return run(ctx, inner, in)
			}}
			var ends []core.Event
			outer, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(script(
				calls("c1", "write_todos", twoOpen), calls("c2", "expert", searchX), calls("c3", "write_todos", twoDone), say("OUTER"),
			), []tools.Tool{expert}), lcgadapter.WithStore(store), lcgadapter.WithOnEvent(collect(&ends, core.EventRunEnded)))
			require.NoError(t, err)
			answer, err := run(session(t), outer, "go")
			require.NoError(t, err)
			require.Equal(t, "OUTER", answer)
			require.Len(t, ends, 1)

			first := innerModel.requests[0]
			offered := false
			for _, tl := range first.opts.Tools {
				offered = offered || tl.Function.Name == "write_todos"
			}
			innerList, err := inner.Plugin().Planner().Get(t.Context(), "inner")
			require.NoError(t, err)
			if c.session != "" {
				require.True(t, offered)
				require.Len(t, innerList.Todos, 2)
				require.Len(t, innerModel.requests, 4, "guarded under its own key")
				return
			}
			require.False(t, offered, "the model does not see the tool")
			require.NotContains(t, first.text(), "todos")
			require.Len(t, innerModel.requests, 2, "no correction")
			require.Contains(t, innerModel.requests[1].text(), "belongs to the agent that called you")
			outerList, err := outer.Plugin().Planner().Get(t.Context(), "s")
			require.NoError(t, err)
			require.EqualValues(t, 2, outerList.Revision, "two writes of the outer agent, none of the inner")
		})
	}
}

// Several task calls in one response build on each other, in the order of the response, on any executor.
func TestTaskCallsOfOneResponseBuildOnEachOther(t *testing.T) {
	for _, plain := range []bool{false, true} {
		model := script(
			calls("c1", "TaskCreate", `{"subject":"Read"}`, "c2", "search", searchX, "c3", "TaskCreate", `{"subject":"Write"}`, "c4", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`),
			calls("c5", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "c6", "TaskUpdate", `{"taskId":"2","status":"completed"}`),
			say("DONE"))
		agent := wrapped(t, model, lcgadapter.WithTools(core.ToolsTasks))
		require.Len(t, agent.Plugin().Tools(), 4)
		var executor chains.Chain = lcgadapter.NewExecutor(agent)
		if plain {
			executor = agents.NewExecutor(agent)
		}
		answer, err := chains.Run(session(t), executor, "go")
		require.NoError(t, err)
		require.Equal(t, "DONE", answer)
		snap, err := agent.Plugin().Planner().Get(t.Context(), "s")
		require.NoError(t, err)
		require.Len(t, snap.Todos, 2)
		require.Empty(t, snap.Open())
		require.EqualValues(t, 5, snap.Revision)
	}
}

// A run that does not finish gives its steps as the model made them, too.
func TestStepsOfARunThatDidNotFinish(t *testing.T) {
	agent := wrapped(t, script(calls("c1", "search", searchX), calls("c2", "write_todos", twoOpen)))
	out, err := chains.Call(session(t), lcgadapter.NewExecutor(agent, agents.WithMaxIterations(2), agents.WithReturnIntermediateSteps()), map[string]any{"input": "go"})
	require.ErrorIs(t, err, agents.ErrNotFinished)
	steps := out["intermediateSteps"].([]schema.AgentStep)
	require.Len(t, steps, 2)
	require.NotContains(t, steps[0].Action.Log, "todoguard:")
	require.Equal(t, twoOpen, steps[1].Action.ToolInput)
}

// The runs that several calls share go when a run is cut off: with the executor of NewExecutor at once, with another one when
// the ctx ends.
func TestACutOffTurnLeavesNothingBehind(t *testing.T) {
	boom := errors.New("boom")
	broken := tool{"broken", func(context.Context, string) (string, error) { return "", boom }}
	for name, plain := range map[string]bool{"our executor": false, "a plain executor": true} {
		t.Run(name, func(t *testing.T) {
			a, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(script(
				calls("c1", "TaskCreate", `{"subject":"Read"}`, "c2", "broken", searchX, "c3", "TaskCreate", `{"subject":"Write"}`)), []tools.Tool{broken}), lcgadapter.WithTools(core.ToolsTasks))
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(session(t))
			defer cancel()
			var executor chains.Chain = lcgadapter.NewExecutor(a)
			if plain {
				executor = agents.NewExecutor(a)
			}
			_, err = chains.Run(ctx, executor, "go")
			require.ErrorIs(t, err, boom)
			if plain {
				require.Equal(t, 1, a.SharedRuns())
				cancel()
			}
			require.Eventually(t, func() bool { return a.SharedRuns() == 0 }, time.Second, time.Millisecond)
		})
	}
}

// An executor inside a tool has nothing to do with the one outside: not its handler, nor its limit.
func TestNestedExecutorsDoNotMix(t *testing.T) {
	inner := wrapped(t, script(calls("n1", "write_todos", twoDone), say("INNER")))
	expert := tool{"expert", func(ctx context.Context, in string) (string, error) {
		return chains.Run(core.WithSession(ctx, "inner"), agents.NewExecutor(inner), in)
	}}
	outer, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(script(calls("c1", "expert", searchX), say("OUTER")), []tools.Tool{expert}))
	require.NoError(t, err)
	var sessions []string
	handler := lcgadapter.Handler(nil, func(_ context.Context, e core.Event) { sessions = append(sessions, e.Session) })
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(outer, agents.WithCallbacksHandler(handler)), "go")
	require.NoError(t, err)
	require.Equal(t, "OUTER", answer)
	require.NotEmpty(t, sessions)
	require.NotContains(t, sessions, "inner")
}

// An answer that cannot be parsed is not the end of a run whose executor goes on.
func TestAParserErrorThatIsHandledIsNoEnd(t *testing.T) {
	var ends []core.Event
	runs := map[string]bool{}
	collectEnds := collect(&ends, core.EventRunEnded)
	agent := wrapped(t, script(step{err: agents.ErrUnableToParseOutput}, calls("c1", "write_todos", twoDone), step{err: agents.ErrUnableToParseOutput}, say("ANSWER")),
		lcgadapter.WithOnEvent(func(ctx context.Context, e core.Event) {
			runs[e.RunID] = true
			collectEnds(ctx, e)
		}))
	_, err := chains.Run(session(t), lcgadapter.NewExecutor(agent, agents.WithParserErrorHandler(agents.NewParserErrorHandler(nil))), "go")
	require.NoError(t, err)
	require.Len(t, ends, 1)
	require.Equal(t, core.EndAnswered, ends[0].Reason)
	require.Len(t, runs, 1, "also where the first answer was such a one")
}
