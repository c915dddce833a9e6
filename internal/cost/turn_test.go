package cost

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// turns is how many model turns with a tool call a measured run has.
const turns = 30

// agentRun is one run of a real ADK agent whose model calls a tool in each turn: another tool, or, with writes, write_todos.
func agentRun(t testing.TB, guarded, writes bool, items int) (time.Duration, uint64) {
	ctx := core.WithGuard(core.WithSession(context.Background(), "session"), false) // the answer ends the run
	w := sixSteps(t)
	rec := &recorder{blind: true}
	args := updates(t, max(items, 2))
	for n := range turns {
		name, arg := w.Tool.Name, w.stepArgs(n)
		if writes {
			name, arg = core.DefaultToolName, args[n%2]
		}
		rec.replies = append(rec.replies, call(fmt.Sprintf("c%d", n), name, arg))
	}
	rec.replies = append(rec.replies, schema.AssistantMessage(w.Final, nil))
	cfg := &adk.ChatModelAgentConfig{
		Name: "agent", Description: "measured", Instruction: w.System, Model: rec, MaxIterations: turns + 5,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{&stepTool{w: w}}}},
	}
	if guarded {
		p, err := core.New(core.Config{})
		require.NoError(t, err)
		if items > 0 {
			_, err = p.Update(ctx, "session", func([]core.Item) ([]core.Item, error) {
				list := make([]core.Item, items)
				for i := range list {
					list[i].Content = fmt.Sprintf("Move part %d of the service to the new client", i+1)
				}
				return list, nil
			})
			require.NoError(t, err)
		}
		require.NoError(t, einoadapter.Attach(ctx, cfg, &einoadapter.Config{Planner: p}))
		defer func() {
			list, err := p.Get(ctx, "session")
			require.NoError(t, err)
			require.Len(t, list.Todos, items)
			if writes {
				require.GreaterOrEqual(t, list.Revision, int64(turns))
			}
		}()
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	require.NoError(t, err)
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent})
	var took time.Duration
	allocs, _ := once(func() {
		start := time.Now()
		err = drain(runner.Query(ctx, w.User))
		took = time.Since(start)
	})
	require.NoError(t, err)
	require.Equal(t, turns+1, rec.asked)
	return took, allocs
}

// What a turn costs beyond the model and the tool: reported, not bounded, since the frame is eino's.
func TestTurnOfTheAgentLoop(t *testing.T) {
	const rounds = 15
	for _, c := range []struct {
		name   string
		writes bool
		items  int
	}{
		{"no list", false, 0},
		{"10 open items shown", false, 10},
		{"10 items written", true, 10},
	} {
		var with, without [rounds]time.Duration
		var a, b uint64
		for i := range rounds {
			with[i], a = agentRun(t, true, c.writes, c.items)
			without[i], b = agentRun(t, false, false, 0)
		}
		per := func(d time.Duration) time.Duration { return d / (turns + 1) }
		t.Logf("a turn of the agent loop, %-20s %8v and %4d allocations with the plugin, %8v and %4d without", c.name+":",
			per(median(with[:])), a/(turns+1), per(median(without[:])), b/(turns+1))
		require.Greater(t, a, b, "the plugin did nothing")
	}
}
