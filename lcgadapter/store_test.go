package lcgadapter_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/chains"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// A store that fails ends the run with its error, unless the host lets it go on.
func TestStoreErrors(t *testing.T) {
	down := errors.New("down")
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, script(say("x")), lcgadapter.WithStore(failing{down}))), "go")
	require.ErrorIs(t, err, down)
	require.Empty(t, answer)

	model := script(calls("c1", "write_todos", twoOpen), say("WITHOUT THE LIST"))
	agent := wrapped(t, model, lcgadapter.WithStore(failing{down}), lcgadapter.WithOnStoreError(func(context.Context, error) error { return nil }))
	answer, err = chains.Run(session(t), lcgadapter.NewExecutor(agent), "go")
	require.NoError(t, err)
	require.Equal(t, "WITHOUT THE LIST", answer)
	require.Contains(t, model.requests[1].text(), "not_saved")
}

// A store that fails when the run is over costs no answer, neither the model's nor the held one.
func TestAStoreThatFailsAtTheEndCostsNoAnswer(t *testing.T) {
	correction := []step{calls("c1", "write_todos", twoOpen), say("ANSWER")}
	for name, c := range map[string]struct {
		steps []step
		saves int // that the run makes, the last one at its end
	}{
		"answered":          {append(correction, calls("c2", "write_todos", twoDone), say("Closed.")), 4},
		"the forced turn":   {append(correction, step{err: errors.New("503")}), 3},
		"no iteration left": {append(correction, calls("c2", "write_todos", oneDone), calls("c3", "search", searchX), calls("c4", "write_todos", twoDone)), 6},
	} {
		t.Run(name, func(t *testing.T) {
			play := func(saves int) (string, *saving, error) {
				store := &saving{Store: core.NewMemoryStore(), left: saves}
				agent := wrapped(t, script(slices.Clone(c.steps)...), lcgadapter.WithStore(store))
				answer, err := chains.Run(session(t), lcgadapter.NewExecutor(agent), "go")
				return answer, store, err
			}
			_, store, err := play(c.saves)
			require.NoError(t, err)
			require.Zero(t, store.left, "saves")
			answer, store, err := play(c.saves - 1)
			require.NoError(t, err)
			require.Equal(t, -1, store.left, "the last save failed")
			require.Equal(t, "ANSWER", answer)
		})
	}
}

// saving is a store whose saves fail after some.
type saving struct {
	core.Store
	left int
}

func (s *saving) Save(ctx context.Context, session string, doc []byte, base core.Version) (core.Version, error) {
	if s.left--; s.left < 0 {
		return "", core.ErrUnavailable
	}
	return s.Store.Save(ctx, session, doc, base)
}

type failing struct{ err error }

func (f failing) Load(context.Context, string) ([]byte, core.Version, error) { return nil, "", f.err }
func (f failing) Save(context.Context, string, []byte, core.Version) (core.Version, error) {
	return "", f.err
}
func (f failing) Delete(context.Context, string) error { return f.err }
