package einoadapter_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// A model that sends text before its calls: every call is run and every text stays in the history, whether or not items are
// open, and the answer is whole.
func TestGraphTextFirstModelLosesNothing(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		ran := 0
		count := work{name: "work", run: func(context.Context) (string, error) { ran++; return "done", nil }}
		m := newLines(
			line{text: "Let me look first.", calls: []schema.ToolCall{call("w1", "work", `{}`)}}, // nothing is open
			line{text: "Now I plan.", calls: []schema.ToolCall{plan("c1", "in_progress")}},
			line{text: "And work.", calls: []schema.ToolCall{call("w2", "work", `{}`)}}, // an item is open
			say("Shipped: v1.4.0 is out."),
			line{text: "I tick it off.", calls: []schema.ToolCall{plan("c2", "completed")}},
			say("List updated."),
		)
		r := g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m, tools: tools(count)})
		answer, err := w.run(inSession("s"), r, user("Ship it."))
		require.NoError(t, err)
		require.Equal(t, "Shipped: v1.4.0 is out.", answer)
		require.Equal(t, 2, ran)
		last := m.requests()[5]
		require.Equal(t, "system user assistant:w1 tool:w1 assistant:c1 tool:c1 assistant:w2 tool:w2 assistant user assistant:c2 tool:c2", shape(last))
		var said []string
		for _, m := range last {
			if m.Role == schema.Assistant {
				said = append(said, m.Content)
			}
		}
		require.Equal(t, []string{"Let me look first.", "Now I plan.", "And work.", "Shipped: v1.4.0 is out.", "I tick it off."}, said)
	})
}

// plain builds what a graph builder has without the plugin: the same loop with the same way to tell calls from an answer.
func plain(t testing.TB, m *lineModel, live bool) agentRunnable {
	cfg := &react.AgentConfig{ToolCallingModel: m, MaxStep: 100, ToolsConfig: compose.ToolsNodeConfig{Tools: tools(work{name: "work"})}}
	if !live {
		cfg.StreamToolCallChecker = func(_ context.Context, out *schema.StreamReader[*schema.Message]) (bool, error) {
			defer out.Close()
			for {
				chunk, err := out.Recv()
				if errors.Is(err, io.EOF) {
					return false, nil
				}
				if err != nil || len(chunk.ToolCalls) > 0 {
					return err == nil, err
				}
			}
		}
	}
	a, err := react.NewAgent(context.Background(), cfg)
	require.NoError(t, err)
	inner, opts := a.ExportGraph()
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	require.NoError(t, g.AddGraphNode("agent", inner, opts...))
	require.NoError(t, g.AddEdge(compose.START, "agent"))
	require.NoError(t, g.AddEdge("agent", compose.END))
	r, err := g.Compile(context.Background())
	require.NoError(t, err)
	return r
}

// firstChunk is how long the first text and the whole answer take.
func firstChunk(t testing.TB, r agentRunnable) (first, all time.Duration) {
	start := time.Now()
	out, err := r.Stream(inSession("s"), user("Hello."))
	require.NoError(t, err)
	defer out.Close()
	for {
		chunk, err := out.Recv()
		if errors.Is(err, io.EOF) {
			return first, time.Since(start)
		}
		require.NoError(t, err)
		if first == 0 && chunk.Content != "" {
			first = time.Since(start)
		}
	}
}

// With nothing open the first chunk comes as early as without the plugin, for either way to tell calls from an answer.
func TestGraphFirstChunkLatency(t *testing.T) {
	slow := line{text: "one two three four five six seven eight nine ten", delay: 5 * time.Millisecond}
	for _, live := range []bool{true, false} {
		for _, g := range agentGraphs() {
			name := g.name + "/whole response first"
			if live {
				name = g.name + "/live"
			}
			t.Run(name, func(t *testing.T) {
				var with, without []time.Duration
				var all time.Duration
				for range 5 { // by turns, so that a busy machine slows down both
					d, _ := firstChunk(t, plain(t, newLines(slow), live))
					without = append(without, d)
					d, all = firstChunk(t, g.build(t, rig{planner: newPlanner(t, core.Config{}), model: newLines(slow), live: live}))
					with = append(with, d)
				}
				a, b := slices.Min(with), slices.Min(without)
				ratio := float64(a) / float64(b)
				t.Logf("first chunk with the plugin %v, without %v: ratio %.2f; whole answer %v", a, b, ratio, all)
				require.Less(t, ratio, 1.5)
				if live {
					require.Less(t, a, all/2, "the answer streams")
				}
			})
		}
	}
}

// Live never streams what the guard may still want to replace.
func TestGraphLiveHoldsBackWhileItemsAreOpen(t *testing.T) {
	for _, g := range agentGraphs() {
		t.Run(g.name, func(t *testing.T) {
			m := newLines(do(plan("c1", "in_progress")), say("Shipped: v1.4.0 is out."), do(plan("c2", "completed")), say("List updated."))
			r := g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m, live: true})
			answer, err := readText(r.Stream(inSession("s"), user("Ship it.")))
			require.NoError(t, err)
			require.Equal(t, "Shipped: v1.4.0 is out.", answer)
		})
	}
}

// What a user of eino sees of the turns before the answer, message by message, streams as well.
func TestReactMessageFutureIsLive(t *testing.T) {
	ctx := inSession("s")
	cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{Planner: newPlanner(t, core.Config{}), Agent: react.AgentConfig{
		ToolCallingModel: newLines(line{text: "one two three four five six seven eight", delay: 5 * time.Millisecond})}})
	require.NoError(t, err)
	agent, err := react.NewAgent(ctx, cfg)
	require.NoError(t, err)
	opt, future := react.WithMessageFuture()
	first, start := make(chan time.Duration, 1), time.Now()
	go func() {
		msg, _, _ := future.GetMessageStreams().Next()
		_, _ = msg.Recv()
		first <- time.Since(start)
		msg.Close()
	}()
	out, err := agent.Stream(ctx, user("Hello."), opt)
	require.NoError(t, err)
	all := time.Since(start)
	out.Close()
	require.Less(t, <-first, all/2)
}
