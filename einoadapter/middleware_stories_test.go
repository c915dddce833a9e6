package einoadapter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

func TestStoriesADK(t *testing.T) {
	storytest.Run(t, storytest.Options{Modes: storytest.Modes()}, einoadk.Surfaces()...)
}

func TestStoriesADKRedis(t *testing.T) {
	storytest.Run(t, storytest.Options{Stores: onRedis(t)}, einoadk.Surfaces()...)
}

// onRedis makes the stores of stories on a real server, each under a prefix of its own.
func onRedis(t *testing.T) map[string]func(testing.TB) core.Store {
	url := redistest.URL(t)
	return map[string]func(testing.TB) core.Store{"redis": func(t testing.TB) core.Store {
		store, err := redisstore.NewURL(url, &redisstore.Options{Prefix: redistest.Prefix()})
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		return store
	}}
}
