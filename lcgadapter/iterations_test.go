package lcgadapter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// guardSteps is a run that answers at the second call of the model, with items open, and needs two more to tick them off.
func guardSteps() []step {
	return []step{calls("c1", "write_todos", twoOpen), say("EARLY"), calls("c2", "write_todos", twoDone), say("list updated"), say("more"), say("more")}
}

// bare is what the same script comes to without the plugin.
func bare(t *testing.T, limit int, steps []step) (string, error) {
	t.Helper()
	write := tool{"write_todos", func(context.Context, string) (string, error) { return "ok", nil }}
	agent := agents.NewOpenAIFunctionsAgent(script(steps...), []tools.Tool{search(), write})
	return chains.Run(t.Context(), agents.NewExecutor(agent, agents.WithMaxIterations(limit)), "go")
}

// Trap: a correction costs a call of the model. A guard that does not know the limit turns a good run into ErrNotFinished.
func TestMaxIterationsNeverCostAnAnswer(t *testing.T) {
	scripts := map[string]func() []step{
		"bookkeeping": guardSteps,
		"other tool after the correction": func() []step {
			return []step{calls("c1", "write_todos", twoOpen), say("EARLY"), calls("c2", "search", `{"__arg1":"x"}`), calls("c3", "search", `{"__arg1":"x"}`),
				calls("c4", "search", `{"__arg1":"x"}`), say("LATE")}
		},
		"stubborn": func() []step {
			return []step{calls("c1", "write_todos", twoOpen), say("EARLY"), say("EARLY"), say("EARLY"), say("EARLY"), say("EARLY")}
		},
		"no answer in time": func() []step {
			var s []step
			for i := range 6 {
				s = append(s, calls(fmt.Sprint("c", i), "search", `{"__arg1":"x"}`))
			}
			return s
		},
	}
	for name, steps := range scripts {
		for limit := 1; limit <= 6; limit++ {
			for _, plain := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/limit %d/plain executor %v", name, limit, plain), func(t *testing.T) {
					want, wantErr := bare(t, limit, steps())
					agent := wrapped(t, script(steps()...), lcgadapter.WithMaxIterations(limit))
					var executor chains.Chain = lcgadapter.NewExecutor(agent, agents.WithMaxIterations(limit))
					if plain {
						executor = agents.NewExecutor(agent, agents.WithMaxIterations(limit))
					}
					got, err := chains.Run(session(t), executor, "go")
					if wantErr != nil {
						require.ErrorIs(t, err, wantErr)
						return
					}
					require.NoError(t, err)
					require.Contains(t, []string{want, "LATE"}, got)
				})
			}
		}
	}
}

// With one call left the model's write is applied and the held answer delivered.
func TestMaxIterationsApplyTheLastWrite(t *testing.T) {
	agent := wrapped(t, script(guardSteps()...))
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent, agents.WithMaxIterations(3)), "go")
	require.NoError(t, err)
	require.Equal(t, "EARLY", answer)
	snap, err := agent.Plugin().Planner().Get(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, snap.Open(), "the write of the last turn counts")
}

// Trap: the option on the agent's constructor has no effect, the default of the executor is 5.
func TestMaxIterationsDefaultIsKnownWithoutBeingTold(t *testing.T) {
	steps := []step{calls("c1", "write_todos", twoOpen), calls("c2", "search", `{"__arg1":"1"}`), calls("c3", "search", `{"__arg1":"2"}`),
		calls("c4", "search", `{"__arg1":"3"}`), say("ANSWER")}
	for _, plain := range []bool{false, true} {
		agent := wrapped(t, script(steps...))
		var executor chains.Chain = lcgadapter.NewExecutor(agent)
		if plain {
			executor = agents.NewExecutor(agent)
		}
		answer, err := chains.Run(session(t), executor, "go")
		require.NoError(t, err)
		require.Equal(t, "ANSWER", answer)
	}
}

// The forced turn fails: the held answer is returned, as if it had not been held.
func TestForcedTurnThatFailsCostsNoAnswer(t *testing.T) {
	for name, bad := range map[string]step{
		"rate limit":    {err: errors.New("429 rate limited")},
		"parse error":   {err: fmt.Errorf("x: %w", agents.ErrUnableToParseOutput)},
		"nil response":  {},
		"no choices":    {resp: &llms.ContentResponse{}},
		"nil choice":    {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{nil}}},
		"empty text":    say(""),
		"nameless call": {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "x"}}}}}},
	} {
		for _, handled := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/parser error handler %v", name, handled), func(t *testing.T) {
				var ends []core.Event
				agent := wrapped(t, script(calls("c1", "write_todos", twoOpen), say("EARLY"), bad), lcgadapter.WithOnEvent(collect(&ends, core.EventRunEnded)))
				var options []agents.Option
				if handled {
					options = append(options, agents.WithParserErrorHandler(agents.NewParserErrorHandler(nil)))
				}
				answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent, options...), "go")
				require.NoError(t, err)
				require.Equal(t, "EARLY", answer)
				require.Len(t, ends, 1)
				require.Equal(t, core.EndAnswered, ends[0].Reason)
				require.Len(t, ends[0].Open, 2)
			})
		}
	}
}

// The context is done in the forced turn: its error is returned, not the held answer.
func TestForcedTurnUnderADoneContextGivesItsError(t *testing.T) {
	for name, failure := range map[string]error{"as the context says": context.Canceled, "in other words": errors.New("connection closed")} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(session(t))
			var ends []core.Event
			steps := guardSteps()
			model := &scripted{answer: func(_ context.Context, n int, _ request) (*llms.ContentResponse, error) {
				if n < 3 {
					return steps[n-1].resp, nil
				}
				cancel()
				return nil, failure
			}}
			agent := wrapped(t, model, lcgadapter.WithOnEvent(collect(&ends, core.EventRunEnded)))
			answer, err := chains.Run(ctx, lcgadapter.NewExecutor(agent), "go")
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, failure)
			require.Empty(t, answer)
			require.Len(t, ends, 1)
			require.Equal(t, core.EndCancelled, ends[0].Reason)
		})
	}
}

// collect appends the events of the kinds to a slice. Events come one at a time.
func collect(to *[]core.Event, kinds ...core.EventKind) func(context.Context, core.Event) {
	return func(_ context.Context, e core.Event) {
		for _, k := range kinds {
			if e.Kind == k {
				*to = append(*to, e)
			}
		}
	}
}

// An answer that cannot be parsed costs a call of the model, too.
func TestParserErrorsCountAsIterations(t *testing.T) {
	unparsed := step{err: agents.ErrUnableToParseOutput}
	for name, steps := range map[string][]step{
		"first":   {unparsed, calls("c1", "write_todos", twoOpen), say("ANSWER")},
		"between": {calls("c1", "write_todos", twoOpen), unparsed, say("ANSWER")},
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/plain executor %v", name, plain), func(t *testing.T) {
				agent := wrapped(t, script(steps...), lcgadapter.WithMaxIterations(3))
				options := []agents.Option{agents.WithMaxIterations(3), agents.WithParserErrorHandler(agents.NewParserErrorHandler(nil))}
				var executor chains.Chain = lcgadapter.NewExecutor(agent, options...)
				if plain {
					executor = agents.NewExecutor(agent, options...)
				}
				answer, err := chains.Run(session(t), executor, "go")
				require.NoError(t, err)
				require.Equal(t, "ANSWER", answer)
			})
		}
	}
}
