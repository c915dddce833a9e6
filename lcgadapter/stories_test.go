package lcgadapter_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/lcg"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// Every story on every agent of LangChainGo, invoked and streamed, in all modes of writing.
func TestStories(t *testing.T) {
	storytest.Run(t, storytest.Options{Modes: storytest.Modes()}, lcg.All()...)
}

func TestStoriesWithRedis(t *testing.T) {
	redistest.Start(t) // skips without a server
	storytest.Run(t, storytest.Options{Stores: map[string]func(testing.TB) core.Store{"redis": redisStore}}, lcg.All()...)
}

func redisStore(t testing.TB) core.Store {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t)})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	store, err := redisstore.New(client, &redisstore.Options{Prefix: redistest.Prefix()})
	require.NoError(t, err)
	return store
}

// The table of what text agents cannot do names only what stories can ask for, with a reason.
func TestStoriesThatTextAgentsCannotPlay(t *testing.T) {
	for trait, why := range lcg.TextAgentsCannot {
		require.Equal(t, storytest.ParallelCalls, trait)
		require.NotEmpty(t, why)
	}
	for _, s := range []storytest.Surface{lcg.Functions(), lcg.FunctionsStream()} {
		require.Empty(t, s.Cannot, s.Name)
	}
}
