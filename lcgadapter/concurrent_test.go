package lcgadapter_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// Trap: one agent value serves many runs at once, and a field on it gives one run the answer of another.
func TestConcurrentRunsOnOneAgent(t *testing.T) {
	const runs = 200
	for _, c := range []struct {
		name    string
		session func(i int) string
	}{
		{"one session", func(int) string { return "shared" }},
		{"200 sessions", func(i int) string { return fmt.Sprint("session-", i) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			model := &scripted{answer: playRun}
			agent := wrapped(t, model)
			executor := lcgadapter.NewExecutor(agent, agents.WithMaxIterations(8))
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					user := fmt.Sprintf("user-%d.", i)
					var stream strings.Builder
					answer, err := chains.Run(core.WithSession(t.Context(), c.session(i)), executor, user,
						chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error { stream.Write(chunk); return nil }))
					if err != nil || answer != "answer for "+user {
						t.Errorf("%s: %q, %v", user, answer, err)
					}
					if got := stream.String(); got != answer {
						t.Errorf("%s: the stream holds %q, the answer is %q", user, got, answer)
					}
				})
			}
			wg.Wait()
			if c.name == "200 sessions" {
				for i := range runs {
					snap, err := agent.Plugin().Planner().Get(t.Context(), c.session(i))
					require.NoError(t, err)
					require.Len(t, snap.Todos, 2)
					require.Empty(t, snap.Open())
				}
			}
		})
	}
}

// playRun plays each run by what its request holds: plan, answer in full, tick off, close.
func playRun(_ context.Context, _ int, r request) (*llms.ContentResponse, error) {
	user := ""
	made, wrote := 0, false
	for _, m := range r.msgs {
		if m.Role == llms.ChatMessageTypeHuman && user == "" {
			user, _, _ = strings.Cut(m.Parts[0].(llms.TextContent).Text, "\n")
		}
		for _, p := range m.Parts {
			if c, ok := p.(llms.ToolCall); ok {
				made++
				wrote = c.FunctionCall.Name == "write_todos"
			}
		}
	}
	answer := "answer for " + user
	kept := strings.Contains(r.text(), "Your answer so far, kept: \""+answer+"\"")
	switch {
	case made == 0 && !kept:
		return calls("c1", "write_todos", twoOpen).resp, nil
	case kept && made < 3:
		return calls("c1", "write_todos", twoDone).resp, nil // an id that was used, on purpose
	case kept && wrote:
		return say("the list is up to date").resp, nil
	}
	return say(answer).resp, nil
}
