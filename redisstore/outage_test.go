package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// The server is down when the program starts, comes, goes and comes back. One store lives through all of it.
func TestServerDownAtStartAndInMidRun(t *testing.T) {
	slow(t)
	server := redistest.New(t)
	server.Kill()
	s := newStore(t, client(t, server.Addr()), redisstore.Options{Feed: true, Timeout: 300 * time.Millisecond})

	down := func(when string, v core.Version) {
		t.Helper()
		calls := map[string]struct {
			want error
			call func(context.Context) error
		}{
			"Load":   {core.ErrUnavailable, func(ctx context.Context) error { _, _, err := s.Load(ctx, "a"); return err }},
			"Save":   {core.ErrUnknown, func(ctx context.Context) error { _, err := s.Save(ctx, "a", []byte("x"), v); return err }},
			"Delete": {core.ErrUnknown, func(ctx context.Context) error { return s.Delete(ctx, "nothing") }},
		}
		for name, c := range calls {
			began := time.Now()
			require.ErrorIs(t, c.call(bg), c.want, "%s, %s, no deadline", when, name)
			require.NotErrorIs(t, c.call(bg), context.DeadlineExceeded, "%s, %s: the caller has no deadline", when, name)
			require.Less(t, time.Since(began), 3*time.Second, "%s, %s: Options.Timeout is 300 ms", when, name)

			began = time.Now()
			require.ErrorIs(t, c.call(within(t, 100*time.Millisecond)), c.want, "%s, %s, with a deadline", when, name)
			require.Less(t, time.Since(began), time.Second, "%s, %s: the deadline was 100 ms", when, name)

			ctx, cancel := context.WithCancel(bg)
			time.AfterFunc(50*time.Millisecond, cancel)
			err := c.call(ctx)
			if name != "Delete" { // which is not repeated, and so may be back before
				require.ErrorIs(t, err, context.Canceled, "%s, %s, cancelled", when, name)
			}
		}
	}

	down("at start", "")
	require.NoError(t, server.Start())
	// The refused saves never reached a server. The driver needs up to a second to notice that it is back.
	v, err := s.Save(within(t, 10*time.Second), "a", []byte("one"), "")
	require.NoError(t, err)
	down2 := make(chan error, 1)
	server.Kill()
	down("in mid-run", v)
	var v2 core.Version
	go func() { // a save that waits through the outage
		var err error
		v2, err = s.Save(within(t, 20*time.Second), "b", []byte("waited"), "")
		down2 <- err
	}()
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, server.Start())
	require.NoError(t, <-down2)
	doc, got := load(t, s, "b") // at once: no restart of the program, no new store
	require.Equal(t, "waited", doc)
	require.Equal(t, v2, got)
	doc, got = load(t, s, "a") // this server kept nothing on disk, and nothing else pretends it did
	require.Empty(t, doc)
	require.Empty(t, got)
}

// What the errors of a refused call say.
func TestOutageMessages(t *testing.T) {
	s := newStore(t, client(t, "127.0.0.1:1"), redisstore.Options{Timeout: 50 * time.Millisecond})
	_, err := s.Save(bg, "a", nil, "")
	require.ErrorContains(t, err, `redisstore: save "a": todoguard: the outcome of the save is unknown: `)
	_, _, err = s.Load(bg, "a")
	require.ErrorContains(t, err, `redisstore: load "a": todoguard: the store is unavailable: `)
}
