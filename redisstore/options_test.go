package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

func TestOptionsThatCannotBeUsed(t *testing.T) {
	c := client(t, "127.0.0.1:1")
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	var none *redis.Client
	cases := []struct {
		client redis.UniversalClient
		o      redisstore.Options
		want   string // "": accepted
	}{
		{c, redisstore.Options{}, ""},
		{nil, redisstore.Options{}, "redisstore: client: got nil, want a redis.UniversalClient"},
		{none, redisstore.Options{}, "redisstore: client: got nil, want a redis.UniversalClient"},
		{c, redisstore.Options{Prefix: "a{b"}, `redisstore: Options.Prefix: got "a{b", want a text without braces`},
		{c, redisstore.Options{Prefix: "a}b"}, `redisstore: Options.Prefix: got "a}b", want a text without braces`},
		{c, redisstore.Options{Prefix: "a:b"}, ""},
		{c, redisstore.Options{TTL: -time.Second}, "redisstore: Options.TTL: got -1s, want 0 (for ever) or at least 1ms"},
		{c, redisstore.Options{TTL: time.Microsecond}, "redisstore: Options.TTL: got 1µs, want 0 (for ever) or at least 1ms"},
		{c, redisstore.Options{TTL: time.Millisecond}, ""},
		{c, redisstore.Options{Timeout: -1}, "redisstore: Options.Timeout: got -1ns, want 0 (5s) or more"},
		{c, redisstore.Options{FeedLen: -1}, "redisstore: Options.FeedLen: got -1, want 0 (128) or more"},
		{c, redisstore.Options{FeedBlock: 6 * time.Second}, "redisstore: Options.FeedBlock: got 6s, want 1ms to 5s"},
		{c, redisstore.Options{FeedBlock: -1}, "redisstore: Options.FeedBlock: got -1ns, want 1ms to 5s"},
		{ring, redisstore.Options{}, "redisstore: client: got a *redis.Ring, want a client, cluster client or failover client, " +
			"or Options.AllowRing: a ring forks a list when a shard fails"},
		{c, redisstore.Options{FeedClient: ring}, "redisstore: Options.FeedClient: got a *redis.Ring, want a client, cluster client or " +
			"failover client, or Options.AllowRing: a ring forks a list when a shard fails"},
		{ring, redisstore.Options{AllowRing: true}, ""},
	}
	for _, tc := range cases {
		s, err := redisstore.New(tc.client, &tc.o)
		if tc.want != "" {
			require.EqualError(t, err, tc.want)
			require.Nil(t, s)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, s.Close())
	}
}

func TestNilOptionsAreTheDefaults(t *testing.T) {
	_, c := shared(t, redisstore.Options{})
	s, err := redisstore.New(c, nil)
	require.NoError(t, err)
	id := redistest.Prefix()
	save(t, s, id, "one", "")
	require.EqualValues(t, -1, c.PTTL(bg, "todo:{:"+id+"}").Val(), "no expiry")
	require.NoError(t, s.Delete(bg, id))
	require.Empty(t, names(t, c, "todo:{:"+id+"}*"), "no feed")
}

// Options are copied: a change afterwards is without effect.
func TestOptionsAreCopied(t *testing.T) {
	_, c := shared(t, redisstore.Options{})
	o := redisstore.Options{Prefix: redistest.Prefix(), Tenant: "acme"}
	first := o.Prefix
	s, err := redisstore.New(c, &o)
	require.NoError(t, err)
	o.Prefix, o.Tenant = "other", "other"
	save(t, s, "a", "one", "")
	require.Len(t, names(t, c, first+":{acme:a}"), 1)
}

func TestNewURL(t *testing.T) {
	s, err := redisstore.NewURL(redistest.URL(t), &redisstore.Options{Prefix: redistest.Prefix(), Feed: true})
	require.NoError(t, err)
	v := save(t, s, "a", "one", "")
	ch := watch(t, s, "a", "")
	require.Equal(t, v, next(t, ch).Version)
	require.NoError(t, s.Close())
	_, _, err = s.Load(bg, "a")
	require.ErrorIs(t, err, core.ErrUnavailable, "its client is closed with it")
	_, err = s.Save(bg, "a", nil, v)
	require.ErrorIs(t, err, core.ErrUnavailable)

	for _, bad := range []string{"", "no url", "http://host", "redis://user:hunter2@host:port:port/x", "redis://:hunter2@[::1", "redis://user:hunter2@host/a/b"} {
		_, err := redisstore.NewURL(bad, nil)
		require.ErrorContains(t, err, "redisstore: url: got", "%q", bad)
		require.NotContains(t, err.Error(), "hunter2", "a password in an error ends in a log")
	}
	_, err = redisstore.NewURL("redis://host", &redisstore.Options{TTL: -1})
	require.ErrorContains(t, err, "Options.TTL")
}

// The client that New was given stays open.
func TestCloseLeavesTheCallersClient(t *testing.T) {
	s, c := shared(t, redisstore.Options{Feed: true})
	next(t, watch(t, s, "a", ""))
	require.NoError(t, s.Close())
	require.NoError(t, c.Ping(bg).Err())
	save(t, s, "a", "one", "")
}

func TestGivenFeedClientIsUsedAndLeftOpen(t *testing.T) {
	var count trips
	_, fc := shared(t, redisstore.Options{})
	fc.AddHook(&count)
	s, _ := shared(t, redisstore.Options{Feed: true, FeedClient: fc})
	next(t, watch(t, s, "a", ""))
	require.NoError(t, s.Close())
	require.Contains(t, count.take(), "xrevrange+get")
	require.NoError(t, fc.Ping(bg).Err())
}
