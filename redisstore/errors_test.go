package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
)

var sentinels = []error{core.ErrConflict, core.ErrCorrupt, core.ErrUnavailable, core.ErrUnknown, core.ErrDenied, core.ErrFull, core.ErrNoSession}

// only requires that err has this meaning and no other; nil: none.
func only(t *testing.T, err, want error, about string) {
	t.Helper()
	require.Error(t, err, about)
	for _, s := range sentinels {
		require.Equal(t, s == want, errors.Is(err, s), "%s: %v: is %v", about, err, s)
	}
}

// What each error reply of a server means, in all methods and with and without scripts.
func TestErrorReplies(t *testing.T) {
	replies := map[string]error{
		"OOM command not allowed when used memory > 'maxmemory'.":                          core.ErrFull,
		"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed": core.ErrFull,
		"READONLY You can't write against a read only replica.":                            core.ErrUnavailable,
		"LOADING Redis is loading the dataset in memory":                                   core.ErrUnavailable,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.": core.ErrUnavailable,
		"CLUSTERDOWN The cluster is down":                                                  core.ErrUnavailable,
		"TRYAGAIN Multiple keys request during rehashing of slot":                          core.ErrUnavailable,
		"NOREPLICAS Not enough good replicas to write.":                                    core.ErrUnavailable,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to":  core.ErrUnavailable,
		"BUSY Redis is busy running a script.":                                             core.ErrUnavailable,
		"ERR max number of clients reached":                                                core.ErrUnavailable,
		"NOPERM this user has no permissions to run the 'set' command":                     core.ErrDenied,
		"NOAUTH Authentication required.":                                                  core.ErrDenied,
		"WRONGPASS invalid username-password pair or user is disabled.":                    core.ErrDenied,
		"WRONGTYPE Operation against a key holding the wrong kind of value":                core.ErrCorrupt,
		"ERR something else": nil,
		"ERR The user executing the script can't run this command or subcommand script: f_1": core.ErrDenied,
	}
	for text, want := range replies {
		for _, noScripts := range []bool{false, true} {
			t.Run(fmt.Sprintf("%.20s no scripts %v", text, noScripts), func(t *testing.T) {
				t.Parallel() // each waits for the server to get well
				server := miniredis.RunT(t)
				s := newStore(t, client(t, server.Addr(), retries(-1)), redisstore.Options{Timeout: 300 * time.Millisecond, NoScripts: noScripts})
				v := save(t, s, "a", "one", "")
				server.SetError(text)
				_, err := s.Save(bg, "a", []byte("x"), v)
				only(t, err, want, "save")
				require.ErrorContains(t, err, `redisstore: save "a": `)
				require.ErrorContains(t, err, text)
				_, err = s.Save(within(t, 60*time.Millisecond), "a", []byte("x"), "foreign")
				only(t, err, want, "save on a foreign version")
				_, _, err = s.Load(within(t, 60*time.Millisecond), "a")
				only(t, err, want, "load")
				only(t, s.Delete(bg, "a"), want, "delete")
				server.SetError("")
				doc, got := load(t, s, "a")
				require.Equal(t, "one", doc, "nothing was changed")
				require.Equal(t, v, got)
			})
		}
	}
}

// A server that gets well within the time is no error at all.
func TestTemporaryRepliesAreWaitedOut(t *testing.T) {
	server := miniredis.RunT(t)
	s := newStore(t, client(t, server.Addr(), retries(-1)), redisstore.Options{})
	v := save(t, s, "a", "one", "")
	for _, call := range []func() error{
		func() (err error) { v, err = s.Save(bg, "a", []byte("two"), v); return err },
		func() error { _, _, err := s.Load(bg, "a"); return err },
		func() error { return s.Delete(bg, "other") },
	} {
		server.SetError("LOADING Redis is loading the dataset in memory")
		well := time.AfterFunc(50*time.Millisecond, func() { server.SetError("") })
		require.NoError(t, call())
		require.False(t, well.Stop(), "the call waited")
	}
}

// The pool is exhausted: nothing was sent, and the store says what it can prove.
func TestNoConnection(t *testing.T) {
	server := miniredis.RunT(t)
	c := client(t, server.Addr(), func(o *redis.Options) {
		o.PoolSize, o.PipelinePoolSize, o.PoolTimeout, o.MaxRetries = 1, -1, 10*time.Millisecond, -1
	})
	s := newStore(t, c, redisstore.Options{Timeout: 60 * time.Millisecond})
	busy := c.Conn()
	require.NoError(t, busy.Ping(bg).Err())
	_, err := s.Save(bg, "a", nil, "")
	only(t, err, core.ErrUnknown, "save")
	_, _, err = s.Load(bg, "a")
	only(t, err, core.ErrUnavailable, "load")
	require.NoError(t, busy.Close())
	save(t, s, "a", "one", "")
}

// A context that is done before the call is nothing but that: no server was asked.
func TestDoneContextIsNotAnUnknownOutcome(t *testing.T) {
	var count trips
	c := client(t, miniredis.RunT(t).Addr())
	c.AddHook(&count)
	s := newStore(t, c, redisstore.Options{})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	_, err := s.Save(ctx, "a", nil, "")
	only(t, err, nil, "save")
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, `redisstore: save "a": context canceled`)
	require.Empty(t, count.take())
}
