package redisstore_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/redisstore"
)

// trips counts what goes over the wire: a command is one round trip, and so is a pipeline.
type trips struct {
	mu  sync.Mutex
	all []string
}

func (c *trips) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.add(cmd.Name()); return next(ctx, cmd) }
}

func (c *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		names := make([]string, len(cmds))
		for i, cmd := range cmds {
			names[i] = cmd.Name()
		}
		c.add(strings.Join(names, "+"))
		return next(ctx, cmds)
	}
}

func (c *trips) add(s string) {
	if s == "hello" || s == "client" {
		return // the driver opens a connection
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
}

// take returns the trips since the last call.
func (c *trips) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

func TestRoundTrips(t *testing.T) {
	for _, feed := range []bool{false, true} {
		server := miniredis.RunT(t)
		c := client(t, server.Addr())
		var count trips
		c.AddHook(&count)
		s := newStore(t, c, redisstore.Options{TTL: time.Hour, Feed: feed})

		v := save(t, s, "a", "one", "")
		require.Equal(t, []string{"set+evalsha", "eval"}, count.take(), "the first save of all teaches the server the script")
		v = save(t, s, "a", "two", v)
		require.Equal(t, []string{"set+evalsha"}, count.take(), "a save")
		load(t, s, "a")
		require.Equal(t, []string{"get+pttl"}, count.take(), "a load")
		load(t, s, "b")
		require.Equal(t, []string{"get+pttl"}, count.take(), "a load of nothing")
		_, err := s.Save(bg, "a", []byte("x"), "")
		require.Equal(t, v, conflict(t, err).Version)
		require.Equal(t, []string{"set+evalsha"}, count.take(), "a conflict, with the document that is stored")

		server.FastForward(29 * time.Minute)
		load(t, s, "a")
		require.Equal(t, []string{"get+pttl"}, count.take(), "more than half of the life is left")
		server.FastForward(2 * time.Minute)
		load(t, s, "a")
		want := []string{"get+pttl", "pexpire"}
		if feed {
			want = []string{"get+pttl", "pexpire+xrevrange", "pexpire"}
		}
		require.Equal(t, want, count.take(), "less than half is left")
		load(t, s, "a")
		require.Equal(t, []string{"get+pttl"}, count.take(), "renewed once")
		server.FastForward(59 * time.Minute)
		doc, _ := load(t, s, "a")
		require.Equal(t, "two", doc, "a session that is read lives on")
	}
}

func TestRoundTripsWithoutExpiry(t *testing.T) {
	c := client(t, miniredis.RunT(t).Addr())
	var count trips
	c.AddHook(&count)
	s := newStore(t, c, redisstore.Options{})
	save(t, s, "a", "one", "")
	count.take()
	load(t, s, "a")
	require.Equal(t, []string{"get"}, count.take())
	require.NoError(t, s.Delete(bg, "a"))
	require.Equal(t, []string{"del"}, count.take())
}

func TestRoundTripsWithoutScripts(t *testing.T) {
	c := client(t, miniredis.RunT(t).Addr())
	var count trips
	c.AddHook(&count)
	s := newStore(t, c, redisstore.Options{Feed: true, NoScripts: true})
	v := save(t, s, "a", "one", "")
	count.take()
	save(t, s, "a", "two", v)
	require.Equal(t, []string{"watch", "getrange+xrevrange", "multi+set+xadd+persist+exec"}, count.take())
}

// A store that was made sends nothing, and a server that was never asked for more than the package comment names.
func TestNothingIsSentAtStart(t *testing.T) {
	c := client(t, miniredis.RunT(t).Addr())
	var count trips
	c.AddHook(&count)
	s := newStore(t, c, redisstore.Options{Feed: true})
	require.NoError(t, s.Close())
	require.Empty(t, count.take())
}
