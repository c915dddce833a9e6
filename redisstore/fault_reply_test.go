package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

func timeouts(respects bool) func(*redis.Options) {
	return func(o *redis.Options) {
		o.ContextTimeoutEnabled = respects
		o.ReadTimeout = 300 * time.Millisecond
	}
}

func retries(n int) func(*redis.Options) { return func(o *redis.Options) { o.MaxRetries = n } }

// The server executes the save and the answer does not arrive. The writer is the only one: it must be told success,
// the write must be there once, and nothing may be left over.
func TestLostReply(t *testing.T) {
	cases := []struct {
		name    string
		scripts bool
		lose    string // the request whose reply is lost
		retries int    // of the driver; the store has its own
		times   int
		hang    bool
	}{
		{"script, cut, the driver repeats", true, "evalsha", 3, 1, false},
		{"script, cut, the store repeats", true, "evalsha", -1, 1, false},
		{"script, cut five times", true, "evalsha", -1, 5, false},
		{"script, hang, the driver repeats", true, "evalsha", 3, 1, true},
		{"script, hang, the store repeats", true, "evalsha", -1, 1, true},
		{"watch, cut at exec, the driver repeats", false, "exec", 3, 1, false},
		{"watch, cut at exec, the store repeats", false, "exec", -1, 1, false},
		{"watch, hang at exec, the driver repeats", false, "exec", 3, 1, true},
		{"watch, hang at exec, the store repeats", false, "exec", -1, 1, true},
		{"watch, cut at watch", false, "watch", -1, 1, false},
	}
	saves, lostWrites, doubled, falseConflicts := 0, 0, 0, 0
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			addr := redistest.New(t).Addr()
			direct := client(t, addr)
			proxy := redistest.NewProxy(t, addr)
			o := redisstore.Options{Prefix: redistest.Prefix(), TTL: time.Hour, Feed: true, NoScripts: !tc.scripts}
			s := newStore(t, client(t, proxy.Addr(), timeouts(true), retries(tc.retries)), o)
			v := save(t, s, "a", "one", "")

			proxy.Lose(tc.lose, tc.times, tc.hang)
			v2, err := s.Save(within(t, 20*time.Second), "a", []byte("two"), v)
			if errors.Is(err, core.ErrConflict) {
				falseConflicts++
			}
			require.NoError(t, err)
			require.Equal(t, tc.times, proxy.Lost(), "replies lost")
			saves++

			doc, got := load(t, newStore(t, direct, o), "a")
			entries := direct.XLen(bg, o.Prefix+":{:a}:f").Val()
			if doc != "two" {
				lostWrites++
			}
			if entries > 2 {
				doubled++
			}
			require.Equal(t, "two", doc)
			require.Equal(t, v2, got)
			require.EqualValues(t, 2, entries, "feed entries")
			require.Len(t, names(t, direct, o.Prefix+":*"), 2, "state and feed, no upload left over")
		})
	}
	t.Logf("saves whose reply was lost: %d, lost: %d, doubled: %d, false conflicts: %d", saves, lostWrites, doubled, falseConflicts)
	require.Equal(t, len(cases), saves)
}

// The answer is lost for good: the writer is told so, never "conflict", and finds its own write when it looks.
func TestLostReplyForGood(t *testing.T) {
	addr := redistest.New(t).Addr()
	proxy := redistest.NewProxy(t, addr)
	s := newStore(t, client(t, proxy.Addr(), timeouts(true)), redisstore.Options{Prefix: redistest.Prefix()})
	v := save(t, s, "a", "one", "")
	proxy.Lose("evalsha", 1_000_000, false)
	_, err := s.Save(within(t, 300*time.Millisecond), "a", []byte("two"), v)
	require.ErrorIs(t, err, core.ErrUnknown)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, core.ErrConflict)
	require.Greater(t, proxy.Lost(), 1, "the save was repeated")
	proxy.Lose("", 0, false)
	doc, _ := load(t, s, "a")
	require.Equal(t, "two", doc)
}

// Others write while the answer is lost: the write is still known as applied while it is among the last eight, and
// a repetition by the driver, on another connection and so without the WATCH, must not bring it back over theirs.
func TestLostReplyThenOthersWrite(t *testing.T) {
	cases := []struct {
		name    string
		scripts bool
		retries int
	}{
		{"script, the store repeats", true, -1},
		{"script, the driver repeats", true, 3},
		{"watch, the store repeats", false, -1},
		{"watch, the driver repeats", false, 3},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			addr := redistest.New(t).Addr()
			proxy := redistest.NewProxy(t, addr)
			o := redisstore.Options{Prefix: redistest.Prefix(), Feed: true, NoScripts: !tc.scripts}
			s := newStore(t, client(t, proxy.Addr(), timeouts(true), retries(tc.retries)), o)
			other := newStore(t, client(t, addr), o)
			v := save(t, s, "a", "one", "")

			lose := "exec"
			if tc.scripts {
				lose = "evalsha"
			}
			proxy.Lose(lose, 1, false)
			proxy.OnLost(func() { // while the writer still waits for its answer
				_, v := load(t, other, "a")
				for _, doc := range []string{"3", "4", "5", "6", "7", "8", "9"} {
					v = save(t, other, "a", doc, v)
				}
			})
			v2, err := s.Save(bg, "a", []byte("two"), v)
			require.NoError(t, err, "the write is the eighth last: a replay, not a conflict")
			require.Equal(t, 1, proxy.Lost())
			doc, now := load(t, s, "a")
			require.Equal(t, "9", doc)
			require.NotEqual(t, v2, now)
			_, err = s.Save(bg, "a", []byte("x"), v2)
			require.Equal(t, "9", string(conflict(t, err).Doc), "the next save learns of the others")
		})
	}
}

// The reply is lost, and when the store asks again the server has no room left for a second upload. The write is stored
// all the same, and the writer is told so.
func TestLostReplyThenFull(t *testing.T) {
	bothWays(t, func(t *testing.T, o redisstore.Options) {
		addr := redistest.New(t).Addr()
		proxy := redistest.NewProxy(t, addr)
		admin := client(t, addr)
		s := newStore(t, client(t, proxy.Addr(), timeouts(true), retries(-1)), o)
		v := save(t, s, "a", "one", "")
		lose := "evalsha"
		if o.NoScripts {
			lose = "exec"
		}
		proxy.Lose(lose, 1, false)
		proxy.OnLost(func() { admin.ConfigSet(bg, "maxmemory", "1") })
		v2, err := s.Save(bg, "a", []byte("two"), v)
		require.NoError(t, err)
		require.Equal(t, "1", admin.ConfigGet(bg, "maxmemory").Val()["maxmemory"])
		doc, got := load(t, s, "a")
		require.Equal(t, "two", doc)
		require.Equal(t, v2, got)
	})
}
