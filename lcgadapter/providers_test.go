package lcgadapter_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/googleai"
	"github.com/tmc/langchaingo/llms/openai"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/internal/stricttest"
	"github.com/todoguard/todoguard/lcgadapter"
)

// providers are LangChainGo's real clients, each against a local server that checks its protocol strictly.
var providers = []struct {
	name  string
	start func(testing.TB, ...stricttest.Reply) *stricttest.Server
	model func(testing.TB, *stricttest.Server) llms.Model
}{
	{"openai", stricttest.OpenAI, func(t testing.TB, s *stricttest.Server) llms.Model { return openAIModel(t, s) }},
	{"anthropic", stricttest.Anthropic, func(t testing.TB, s *stricttest.Server) llms.Model {
		m, err := anthropic.New(anthropic.WithToken("key"), anthropic.WithBaseURL(s.URL), anthropic.WithModel("claude-test"))
		require.NoError(t, err)
		return m
	}},
	{"googleai", stricttest.Google, func(t testing.TB, s *stricttest.Server) llms.Model {
		m, err := googleai.New(t.Context(), googleai.WithAPIKey("key"), googleai.WithHTTPClient(s.Redirect()), googleai.WithRest())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, m.Close()) })
		return m
	}},
}

func openAIModel(t testing.TB, s *stricttest.Server) llms.Model {
	m, err := openai.New(openai.WithToken("key"), openai.WithBaseURL(s.URL), openai.WithModel("gpt-test"))
	require.NoError(t, err)
	return m
}

// The guard story on the wire: plan, other tools twice over in one response, an answer while items are open, bookkeeping.
func TestProvidersPlayTheGuardStory(t *testing.T) {
	for _, p := range providers {
		for _, streamed := range []bool{false, true} {
			name := p.name + "/invoke"
			if streamed {
				name = p.name + "/stream"
			}
			t.Run(name, func(t *testing.T) {
				srv := p.start(t,
					stricttest.Reply{Text: "I will plan.", Calls: []stricttest.Call{{ID: "c1", Name: "write_todos", Args: twoOpen}}},
					stricttest.Reply{Calls: []stricttest.Call{{ID: "c2", Name: "search", Args: `{"__arg1":"a"}`}, {ID: "c3", Name: "search", Args: `{"__arg1":"a"}`}}},
					stricttest.Reply{Text: "THE FULL ANSWER"},
					stricttest.Reply{Calls: []stricttest.Call{{ID: "c4", Name: "write_todos", Args: twoDone}}},
					stricttest.Reply{Text: "The list is up to date."},
				)
				agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(p.model(t, srv), []tools.Tool{search()}))
				require.NoError(t, err)
				var stream strings.Builder
				var options []chains.ChainCallOption
				if streamed {
					options = append(options, chains.WithStreamingFunc(func(_ context.Context, c []byte) error { stream.Write(c); return nil }))
				}
				answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent, agents.WithMaxIterations(10)), "Ship it.", options...)
				require.NoError(t, err)
				srv.Check(t)
				require.Equal(t, "THE FULL ANSWER", answer)
				if streamed {
					require.Equal(t, "I will plan."+answer, stream.String(), "no item was open when the first text passed")
				}
				snap, err := agent.Plugin().Planner().Get(t.Context(), "s")
				require.NoError(t, err)
				require.Empty(t, snap.Open())
				require.Len(t, snap.Todos, 2)
				requireToolSchema(t, srv.Bodies()[0])
			})
		}
	}
}

// requireToolSchema holds that the model got the real schema, not one string argument.
func requireToolSchema(t *testing.T, body string) {
	t.Helper()
	require.Contains(t, body, `"todos"`)
	require.Contains(t, body, `"status"`)
	require.Equal(t, 1, strings.Count(body, `"__arg1":`), "search has it, write_todos has not")
}
