package lcgadapter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/internal/stricttest"
	"github.com/todoguard/todoguard/lcgadapter"
)

// Trap: the chunks of the first answer are out before the finish comes back, and the second answer is streamed behind it.
func TestTheStreamHoldsTheAnswerAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		steps []step
		want  string
	}{
		"no list":              {[]step{say("JUST AN ANSWER")}, "JUST AN ANSWER"},
		"closed list":          {[]step{calls("c1", "write_todos", twoDone), say("DONE")}, "DONE"},
		"bookkeeping":          {[]step{calls("c1", "write_todos", twoOpen), say("FULL ANSWER"), calls("c2", "write_todos", twoDone), say("list updated")}, "FULL ANSWER"},
		"chatty bookkeeping":   {[]step{calls("c1", "write_todos", twoOpen), say("FULL ANSWER"), both("I tick off.", "c2", "write_todos", twoDone), say("list updated")}, "FULL ANSWER"},
		"other work":           {[]step{calls("c1", "write_todos", twoOpen), say("EARLY"), calls("c2", "search", searchX), calls("c3", "write_todos", twoDone), say("NEW ANSWER")}, "NEW ANSWER"},
		"stubborn":             {[]step{calls("c1", "write_todos", twoOpen), say("Done."), say("As I said.")}, "Done.\n\nAs I said."},
		"forced turn fails":    {[]step{calls("c1", "write_todos", twoOpen), say("FULL ANSWER"), {err: errors.New("429")}}, "FULL ANSWER"},
		"forced turn is empty": {[]step{calls("c1", "write_todos", twoOpen), say("FULL ANSWER"), say("")}, "FULL ANSWER"},
		"last turn calls": {[]step{calls("c1", "write_todos", twoOpen), calls("c2", "search", searchX), calls("c3", "search", `{"__arg1":"y"}`), say("FULL ANSWER"),
			both("Ticking off.", "c4", "write_todos", twoDone)}, "FULL ANSWER"},
	} {
		t.Run(name, func(t *testing.T) {
			var stream strings.Builder
			answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, script(c.steps...))), "go", listen(&stream))
			require.NoError(t, err)
			require.Equal(t, c.want, answer)
			require.Equal(t, answer, stream.String())
		})
	}
}

func listen(to *strings.Builder) chains.ChainCallOption {
	return chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error { to.Write(chunk); return nil })
}

// both is a response of text and calls.
func both(text string, parts ...string) step {
	s := calls(parts...)
	s.resp.Choices[0].Content = text
	return s
}

// Without open items chunks pass while the model still speaks.
func TestTheStreamIsLiveWhereNothingIsOpen(t *testing.T) {
	var stream strings.Builder
	var seen []string
	model := &scripted{answer: func(ctx context.Context, _ int, r request) (*llms.ContentResponse, error) {
		for _, c := range []string{"one ", "two ", "three"} {
			if err := r.opts.StreamingFunc(ctx, []byte(c)); err != nil {
				return nil, err
			}
			seen = append(seen, stream.String())
		}
		r.opts.StreamingFunc = nil
		return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "one two three"}}}, nil
	}}
	agent := wrapped(t, quiet{model})
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent), "go", listen(&stream))
	require.NoError(t, err)
	require.Equal(t, "one two three", answer)
	require.Equal(t, []string{"one ", "one two ", "one two three"}, seen)
}

// quiet keeps a scripted model from streaming by itself what its function has streamed.
type quiet struct{ m *scripted }

func (q quiet) Call(ctx context.Context, p string, o ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, q, p, o...)
}
func (q quiet) GenerateContent(ctx context.Context, msgs []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r := request{msgs: msgs}
	for _, f := range options {
		f(&r.opts)
	}
	return q.m.answer(ctx, 0, r)
}

// An answer that has passed live is not held back when another process adds an open item meanwhile. The run saves at its
// end (a count that an earlier run left is reset), so it meets the other's item.
func TestWhatHasPassedLiveIsNotCorrected(t *testing.T) {
	store := core.NewMemoryStore()
	_, err := store.Save(t.Context(), "s", []byte(`{"todos":[],"todo_stale_iterations":3}`), "")
	require.NoError(t, err)
	var p *core.Planner
	model := quiet{&scripted{answer: func(ctx context.Context, _ int, r request) (*llms.ContentResponse, error) {
		if err := r.opts.StreamingFunc(ctx, []byte("ANSWER")); err != nil {
			return nil, err
		}
		_, err := p.Update(ctx, "s", func([]core.Item) ([]core.Item, error) { return []core.Item{{Content: "New"}}, nil })
		return say("ANSWER").resp, err
	}}}
	agent := wrapped(t, model, lcgadapter.WithStore(store))
	p = agent.Plugin().Planner()
	var stream strings.Builder
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent), "go", listen(&stream))
	require.NoError(t, err)
	require.Equal(t, "ANSWER", answer)
	require.Equal(t, answer, stream.String())
}

// A model that does not stream: the caller who listens still gets the answer, once.
func TestAModelThatDoesNotStream(t *testing.T) {
	steps := []step{calls("c1", "write_todos", twoOpen), say("FULL"), calls("c2", "write_todos", twoDone), say("updated")}
	n := 0
	model := quiet{&scripted{answer: func(context.Context, int, request) (*llms.ContentResponse, error) { n++; return steps[n-1].resp, nil }}}
	var stream strings.Builder
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, model)), "go", listen(&stream))
	require.NoError(t, err)
	require.Equal(t, "FULL", answer)
	require.Equal(t, answer, stream.String())
}

// The caller's function fails: its error ends the run, as it does without the plugin.
func TestAStreamFunctionThatFails(t *testing.T) {
	gone := errors.New("client gone")
	for name, steps := range map[string][]step{
		"live":   {say("ANSWER")},
		"gated":  {calls("c1", "write_todos", twoOpen), say("FULL"), calls("c2", "write_todos", twoDone), say("updated")},
		"forced": {calls("c1", "write_todos", twoOpen), say("FULL"), {err: errors.New("429")}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, script(steps...))), "go",
				chains.WithStreamingFunc(func(context.Context, []byte) error { return gone }))
			require.ErrorIs(t, err, gone)
		})
	}
}

// Nobody listens: the model is not asked to stream.
func TestNobodyListens(t *testing.T) {
	model := script(guardSteps()...)
	_, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, model)), "go")
	require.NoError(t, err)
	for _, r := range model.requests {
		require.Nil(t, r.opts.StreamingFunc)
	}
}

// Trap: the handler of a text agent gets its stream; AgentFinalStreamHandler looks for the mark of the answer.
func TestHandlersOfTextAgentsSeeOneAnswer(t *testing.T) {
	for kind, prefix := range map[string]string{"mrkl": "Thought: t\nFinal Answer: ", "conversational": "Thought: t\nAI: "} {
		t.Run(kind, func(t *testing.T) {
			var stream strings.Builder
			p, err := lcgadapter.New()
			require.NoError(t, err)
			model := script(say(act+twoOpen), say(prefix+"FULL"), say(act+twoDone), say(prefix+"updated"))
			a, err := p.Wrap(agentOf(kind, model, p.Tools(), agents.WithCallbacksHandler(streamHandler{to: &stream})))
			require.NoError(t, err)
			answer, err := chains.Run(session(t), lcgadapter.NewExecutor(a), "go")
			require.NoError(t, err)
			require.Equal(t, "FULL", strings.TrimSpace(answer))
			mark := strings.TrimSpace(prefix[strings.LastIndex(prefix, "\n")+1:])
			require.Equal(t, 1, strings.Count(stream.String(), mark), stream.String())
			_, got, _ := strings.Cut(stream.String(), mark)
			require.Equal(t, "FULL", strings.TrimSpace(got))
		})
	}
}

type streamHandler struct {
	callbacks.SimpleHandler
	to *strings.Builder
}

func (h streamHandler) HandleStreamingFunc(_ context.Context, chunk []byte) { h.to.Write(chunk) }

// The callback of the call gets the stream of a functions agent.
func TestTheCallbackOfTheCallGetsTheStream(t *testing.T) {
	var stream strings.Builder
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, script(guardSteps()...))), "go", chains.WithCallback(streamHandler{to: &stream}))
	require.NoError(t, err)
	require.Equal(t, answer, stream.String())
}

// On the wire: the openai client puts pieces of tool calls into the stream. A streamed response with empty choices is a
// finish with empty text.
func TestTheStreamOfTheOpenAIClient(t *testing.T) {
	t.Run("no pieces of calls", func(t *testing.T) {
		srv := stricttest.OpenAI(t, call("c1", "write_todos", twoOpen), call("c2", "search", searchX, "c3", "search", searchX), text("FULL"), call("c4", "write_todos", twoDone), text("updated"))
		var stream strings.Builder
		answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, openAIModel(t, srv))), "go", listen(&stream))
		require.NoError(t, err)
		srv.Check(t)
		require.Equal(t, "FULL", answer)
		require.Equal(t, answer, stream.String())
	})
	t.Run("empty choices in the forced turn", func(t *testing.T) {
		srv := stricttest.OpenAI(t, call("c1", "write_todos", twoOpen), text("FULL"), stricttest.Reply{Empty: true})
		var stream strings.Builder
		answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, openAIModel(t, srv))), "go", listen(&stream))
		require.NoError(t, err)
		require.Equal(t, "FULL", answer)
		require.Equal(t, answer, stream.String())
	})
	t.Run("429 in the forced turn", func(t *testing.T) {
		for _, streamed := range []bool{false, true} {
			srv := stricttest.OpenAI(t, call("c1", "write_todos", twoOpen), text("FULL"), stricttest.Reply{Status: 429})
			var stream strings.Builder
			var options []chains.ChainCallOption
			if streamed {
				options = append(options, listen(&stream))
			}
			answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, openAIModel(t, srv))), "go", options...)
			require.NoError(t, err)
			require.Equal(t, "FULL", answer)
		}
	})
	t.Run("an invented nameless call", func(t *testing.T) {
		srv := stricttest.OpenAI(t, stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: "search", Args: searchX}}, Raw: []string{
			`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"search","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"__arg1\":\"x\"}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		}}, text("ok"))
		var stream strings.Builder
		answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, openAIModel(t, srv))), "go", listen(&stream))
		require.NoError(t, err)
		srv.Check(t)
		require.Equal(t, "ok", answer)
		require.Equal(t, answer, stream.String())
	})
	t.Run("an answer that is JSON", func(t *testing.T) {
		for _, answer := range []string{`[1,2]`, `[{"function":"f"}]`, `[]`, `[{"name":"x"}]`} {
			var stream strings.Builder
			model := quiet{&scripted{answer: func(ctx context.Context, _ int, r request) (*llms.ContentResponse, error) {
				return say(answer).resp, r.opts.StreamingFunc(ctx, []byte(answer))
			}}}
			got, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, model)), "go", listen(&stream))
			require.NoError(t, err)
			require.Equal(t, answer, got)
			require.Equal(t, answer, stream.String())
		}
	})
}

// Without a guard nothing is held back, so nothing waits.
func TestTheStreamIsLiveWithoutAGuard(t *testing.T) {
	var stream strings.Builder
	live := false
	n := 0
	model := quiet{&scripted{answer: func(ctx context.Context, _ int, r request) (*llms.ContentResponse, error) {
		if n++; n == 1 {
			return calls("c1", "write_todos", twoOpen).resp, nil
		}
		err := r.opts.StreamingFunc(ctx, []byte("ANSWER"))
		live = stream.Len() > 0
		return say("ANSWER").resp, err
	}}}
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, model, lcgadapter.WithNoGuard())), "go", listen(&stream))
	require.NoError(t, err)
	require.Equal(t, "ANSWER", answer)
	require.Equal(t, answer, stream.String())
	require.True(t, live)
}
