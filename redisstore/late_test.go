package redisstore_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// wiretap calls f with every pipeline in place of sending it.
type wiretap struct {
	f func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error
}

func (w wiretap) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}
func (w wiretap) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (w wiretap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return w.f(ctx, cmds, next) }
}

// The upload disappears between SET and script, by eviction: it is sent again, and not for ever.
func TestUploadVanishes(t *testing.T) {
	for vanish, want := range map[int]error{1: nil, 2: nil, 1 << 30: core.ErrUnavailable} {
		c := client(t, miniredis.RunT(t).Addr())
		s := newStore(t, c, redisstore.Options{Timeout: 200 * time.Millisecond})
		v := save(t, s, "a", "one", "")
		uploads := 0
		c.AddHook(wiretap{func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
			if uploads++; uploads <= vanish {
				cmds = cmds[1:]
			}
			return send(ctx, cmds)
		}})
		_, err := s.Save(bg, "a", []byte("two"), v)
		if want != nil {
			only(t, err, want, "save")
			doc, got := load(t, s, "a")
			require.Equal(t, "one", doc)
			require.Equal(t, v, got)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, vanish+1, uploads)
	}
}

// A request that reaches the server long after its writer gave up changes nothing once others have saved, and leaves
// nothing behind.
func TestLateRequestIsHarmless(t *testing.T) {
	prefix := redistest.Prefix()
	s, c := shared(t, redisstore.Options{Prefix: prefix, Feed: true})
	_, raw := shared(t, redisstore.Options{})
	v := save(t, s, "a", "one", "")
	var late [][]any
	c.AddHook(wiretap{func(ctx context.Context, cmds []redis.Cmder, send redis.ProcessPipelineHook) error {
		if late == nil {
			for _, cmd := range cmds {
				args := append([]any{}, cmd.Args()...)
				for i, a := range args {
					if b, ok := a.([]byte); ok {
						args[i] = string(b) // the store uses the buffer again
					}
				}
				late = append(late, args)
			}
		}
		return send(ctx, cmds)
	}})
	v = save(t, s, "a", "two", v)
	for i := range 12 {
		v = save(t, s, "a", "later", v)
		for _, args := range late {
			require.NoError(t, raw.Do(bg, args...).Err())
		}
		doc, got := load(t, s, "a")
		require.Equal(t, "later", doc, "%d saves later", i+1)
		require.Equal(t, v, got)
	}
	require.EqualValues(t, 14, raw.XLen(bg, prefix+":{:a}:f").Val(), "feed entries")
	require.Len(t, names(t, raw, prefix+":*"), 2, "no upload is left over")
	require.NoError(t, s.Delete(bg, "a"))
	for _, args := range late {
		require.NoError(t, raw.Do(bg, args...).Err())
	}
	doc, _ := load(t, s, "a")
	require.Empty(t, doc, "nor does it bring a deleted session back")
}

// The life of a session: set in full by each save, taken away where the options say so.
func TestExpirySettings(t *testing.T) {
	for _, noScripts := range []bool{false, true} {
		prefix := redistest.Prefix()
		short, c := shared(t, redisstore.Options{Prefix: prefix, TTL: time.Hour, Feed: true, NoScripts: noScripts})
		ever := newStore(t, c, redisstore.Options{Prefix: prefix, Feed: true, NoScripts: noScripts})
		keys := []string{prefix + ":{:a}", prefix + ":{:a}:f"}
		v := save(t, short, "a", "one", "")
		for _, k := range keys {
			require.InDelta(t, time.Hour, c.PTTL(bg, k).Val(), float64(time.Minute), k)
		}
		v = save(t, ever, "a", "two", v)
		for _, k := range keys {
			require.EqualValues(t, -1, c.PTTL(bg, k).Val(), "%s lives for ever", k)
		}
		load(t, short, "a")
		require.EqualValues(t, -1, c.PTTL(bg, keys[0]).Val(), "a load gives no end to what has none")
		save(t, short, "a", "three", v)
		for _, k := range keys {
			require.InDelta(t, time.Hour, c.PTTL(bg, k).Val(), float64(time.Minute), k)
		}
		require.NoError(t, short.Delete(bg, "a"))
		require.Zero(t, c.Exists(bg, keys[0]).Val())
		require.LessOrEqual(t, c.PTTL(bg, keys[1]).Val(), time.Minute, "the feed tells of the delete and is then gone")
		require.Positive(t, c.PTTL(bg, keys[1]).Val())
	}
}
