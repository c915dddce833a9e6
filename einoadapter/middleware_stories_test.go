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
	url := redistest.URL(t)
	open := func(t testing.TB) core.Store {
		store, err := redisstore.NewURL(url, &redisstore.Options{Prefix: redistest.Prefix()})
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	storytest.Run(t, storytest.Options{Stores: map[string]func(testing.TB) core.Store{"redis": open}}, einoadk.Surfaces()...)
}
