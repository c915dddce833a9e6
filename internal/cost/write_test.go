package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"github.com/todoguard/todoguard/core"
)

// updates are the arguments of two updates that take turns, so that each changes the list.
func updates(t testing.TB, items int) [2]string {
	var out [2]string
	for turn := range out {
		list := make([]map[string]string, items)
		for i := range list {
			list[i] = map[string]string{"id": fmt.Sprint(i + 1), "content": fmt.Sprintf("Move part %d of the service to the new client", i+1), "status": "pending"}
		}
		list[turn]["status"] = "in_progress"
		raw, err := json.Marshal(map[string]any{"todos": list})
		require.NoError(t, err)
		out[turn] = string(raw)
	}
	return out
}

// einoTool lends the endpoint of Eino's write_todos to use, inside a run of the deep agent.
type einoTool struct {
	*adk.BaseChatModelAgentMiddleware
	use func(ctx context.Context, write func(args string) (string, error))
}

func (e *einoTool) WrapInvokableToolCall(_ context.Context, endpoint adk.InvokableToolCallEndpoint, _ *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, args string, opts ...tool.Option) (string, error) {
		e.use(ctx, func(args string) (string, error) { return endpoint(ctx, args, opts...) })
		return endpoint(ctx, args, opts...)
	}, nil
}

func withEinoTool(t *testing.T, use func(ctx context.Context, write func(args string) (string, error))) {
	ctx, used := context.Background(), false
	agent, err := deep.New(ctx, &deep.Config{
		Name: "deep", Description: "measured", Instruction: "-", WithoutGeneralSubAgent: true,
		ChatModel: &recorder{replies: []*schema.Message{call("c", "write_todos", `{"todos":[]}`), schema.AssistantMessage("done", nil)}},
		Handlers: []adk.ChatModelAgentMiddleware{&einoTool{use: func(ctx context.Context, write func(string) (string, error)) {
			used = true
			use(ctx, write)
		}}},
	})
	require.NoError(t, err)
	require.NoError(t, drain(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "go")))
	require.True(t, used)
}

// drain reads a run to its end.
func drain(it *adk.AsyncIterator[*adk.AgentEvent]) error {
	var errs []error
	for {
		e, ok := it.Next()
		if !ok {
			return errors.Join(errs...)
		}
		errs = append(errs, e.Err)
	}
}

// Ours validates, saves and says what there is to say; Eino's stores what it gets. Both are called as the framework's tool node does.
func TestWriteBesideEino(t *testing.T) {
	for _, items := range []int{6, 100} {
		args := updates(t, items)
		p, err := core.New(core.Config{})
		require.NoError(t, err)
		run, err := p.Begin("session", core.RunOptions{})
		require.NoError(t, err)
		writes := 0
		ours := func(ctx context.Context) {
			_, err := run.CallTool(ctx, core.Call{ID: "c", Name: core.DefaultToolName, Args: args[writes%2]})
			require.NoError(t, err)
			writes++
		}
		withEinoTool(t, func(ctx context.Context, write func(string) (string, error)) {
			turns := 0
			eino := func(context.Context) {
				result, err := write(args[turns%2])
				require.NoError(t, err)
				require.NotEmpty(t, result)
				turns++
			}
			const rounds, reps = 21, 40
			var a, b [rounds]time.Duration
			for i := range rounds {
				a[i], b[i] = clock(ctx, reps, ours), clock(ctx, reps, eino)
			}
			an, ab := allocated(ctx, ours)
			bn, bb := allocated(ctx, eino)
			t.Logf("%3d items: ours %v, %d allocations, %.1f KiB; Eino deep write_todos %v, %d allocations, %.1f KiB", items,
				median(a[:])/reps, an, kib(ab), median(b[:])/reps, bn, kib(bb))
			if items == 6 {
				require.LessOrEqual(t, an, uint64(102))
			}
		})
		list, err := p.Get(context.Background(), "session")
		require.NoError(t, err)
		require.EqualValues(t, writes, list.Revision, "not each write was a change")
	}
}

func clock(ctx context.Context, reps int, f func(context.Context)) time.Duration {
	start := time.Now()
	for range reps {
		f(ctx)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func kib(b uint64) float64 { return float64(b) / 1024 }

// allocated is the least that one of several calls allocates: what others do meanwhile only adds.
func allocated(ctx context.Context, f func(context.Context)) (allocs, bytes uint64) {
	allocs, bytes = ^uint64(0), ^uint64(0)
	for range 50 {
		n, b := once(func() { f(ctx) })
		allocs, bytes = min(allocs, n), min(bytes, b)
	}
	return allocs, bytes
}

func once(f func()) (allocs, bytes uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}
