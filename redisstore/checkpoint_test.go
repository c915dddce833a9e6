package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// What Eino asks for, word for word; the package must not import it.
type einoStore interface {
	Get(ctx context.Context, checkPointID string) ([]byte, bool, error)
	Set(ctx context.Context, checkPointID string, checkPoint []byte) error
}

type einoDeleter interface {
	Delete(ctx context.Context, checkPointID string) error
}

var (
	_ einoStore   = (*redisstore.CheckPointStore)(nil)
	_ einoDeleter = (*redisstore.CheckPointStore)(nil)
)

func TestCheckPoints(t *testing.T) {
	run := func(t *testing.T, s *redisstore.CheckPointStore) {
		_, ok, err := s.Get(bg, "x")
		require.NoError(t, err)
		require.False(t, ok)
		for _, data := range [][]byte{{0, 1, 255}, {}, []byte("the last one wins")} {
			require.NoError(t, s.Set(bg, "x", data))
			got, ok, err := s.Get(bg, "x")
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, string(data), string(got))
		}
		_, ok, err = s.Get(bg, "y")
		require.NoError(t, err)
		require.False(t, ok, "ids are apart")
		require.NoError(t, s.Delete(bg, "x"))
		require.NoError(t, s.Delete(bg, "x"), "missing")
		_, ok, err = s.Get(bg, "x")
		require.NoError(t, err)
		require.False(t, ok)

		_, _, err = s.Get(bg, "")
		require.ErrorIs(t, err, core.ErrNoSession)
		require.ErrorIs(t, s.Set(bg, "", nil), core.ErrNoSession)
		require.ErrorIs(t, s.Delete(bg, ""), core.ErrNoSession)
	}
	t.Run("miniredis", func(t *testing.T) {
		server := miniredis.RunT(t)
		s, err := redisstore.NewCheckPointStore(client(t, server.Addr()), &redisstore.CheckPointOptions{Prefix: "app", TTL: time.Hour})
		require.NoError(t, err)
		run(t, s)
		require.NoError(t, s.Set(bg, "a:b", []byte("x")))
		require.Equal(t, []string{"app:cp:{a%3Ab}"}, server.Keys())
		server.FastForward(59 * time.Minute)
		_, ok, err := s.Get(bg, "a:b")
		require.NoError(t, err)
		require.True(t, ok)
		server.FastForward(2 * time.Minute)
		_, ok, err = s.Get(bg, "a:b")
		require.NoError(t, err)
		require.False(t, ok, "expired")
	})
	t.Run("redis", func(t *testing.T) {
		_, c := shared(t, redisstore.Options{})
		cp, err := redisstore.NewCheckPointStore(c, &redisstore.CheckPointOptions{Prefix: redistest.Prefix()})
		require.NoError(t, err)
		run(t, cp)
	})
	t.Run("of a store", func(t *testing.T) {
		s, _ := shared(t, redisstore.Options{TTL: time.Hour})
		run(t, s.CheckPoints())
	})
}

func TestCheckPointErrors(t *testing.T) {
	_, err := redisstore.NewCheckPointStore(nil, nil)
	require.EqualError(t, err, "redisstore: client: got nil, want a redis.UniversalClient")
	_, err = redisstore.NewCheckPointStore(client(t, "127.0.0.1:1"), &redisstore.CheckPointOptions{Prefix: "{"})
	require.ErrorContains(t, err, "Options.Prefix")

	_, err = redisstore.NewCheckPointStore(client(t, "127.0.0.1:1"), nil)
	require.NoError(t, err, "nil options are the defaults")
	s, err := redisstore.NewCheckPointStore(client(t, "127.0.0.1:1"), &redisstore.CheckPointOptions{Timeout: 50 * time.Millisecond})
	require.NoError(t, err)
	_, _, err = s.Get(bg, "x")
	only(t, err, core.ErrUnavailable, "get")
	require.ErrorContains(t, err, `redisstore: get checkpoint "x": `)
	only(t, s.Set(bg, "x", nil), core.ErrUnknown, "set")
	only(t, s.Delete(bg, "x"), core.ErrUnknown, "delete")
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, s.Set(ctx, "x", nil), context.Canceled)
}
