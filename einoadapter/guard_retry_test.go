package einoadapter_test

import (
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// A retry is no new input: the guard that was silenced by an explanation stays silent.
func TestRetryDoesNotWakeTheGuard(t *testing.T) {
	everyADK(t, retryAsleep[*adkMessage], retryAsleep[*adkAgentic])
}

func retryAsleep[M adk.MessageType](t *testing.T, stream bool) {
	for _, fails := range []bool{false, true} {
		planner := newPlanner(t, core.Config{OnExhausted: core.Explain})
		require.NoError(t, openItems(planner, "s", "Ship it", "Tell them"))
		turns := []turn{says(answer), says("It stands."), calls(use("c1", "close"))} // in place of the explanation it works on
		if fails {
			turns = append(turns, turn{err: errModel})
		}
		m := acts[M](t, append(turns, says("That is all."))...)
		c := newCast(stream, m, work{name: "close", run: func(c ctx) (string, error) {
			_, err := planner.Update(c, "s", func(todos []core.Item) ([]core.Item, error) {
				todos[0].Status = core.StatusCompleted
				return todos, nil
			})
			return "closed", err
		}})
		c.todo = einoadapter.Config{Planner: planner}
		c.cfg.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: soon}
		seen := c.run(t)
		assert.Equal(t, "assistant: That is all.", seen[len(seen)-1])
		assert.Len(t, m.requests(), len(turns)+1)
	}
}
