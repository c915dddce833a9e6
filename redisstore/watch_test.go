package redisstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// next reads one change, or fails.
func next(t testing.TB, ch <-chan core.Change) core.Change {
	t.Helper()
	select {
	case c, ok := <-ch:
		require.True(t, ok, "the channel is closed")
		require.NoError(t, c.Err)
		return c
	case <-time.After(20 * time.Second):
		t.Fatal("no change within 20 s")
		panic("unreachable")
	}
}

func watch(t testing.TB, s *redisstore.Store, id, token string) <-chan core.Change {
	t.Helper()
	ch, err := s.Watch(bg0(t), id, token)
	require.NoError(t, err)
	return ch
}

func init() {
	workers["follow"] = func() error {
		s, err := redisstore.NewURL(os.Getenv("TODOGUARD_TEST_URL"), &redisstore.Options{Prefix: os.Getenv("TODOGUARD_TEST_PREFIX"), Feed: true})
		if err != nil {
			return err
		}
		ch, err := s.Watch(bg, "a", os.Getenv("TODOGUARD_TEST_TOKEN"))
		if err != nil {
			return err
		}
		for c := range ch {
			fmt.Printf("%v|%s|%s|%s|.\n", c.Snapshot, c.Token, c.Version, c.Doc)
		}
		return errors.New("the watch ended")
	}
}

// A reader process is killed ten times while another writes, and a new one continues with the last token it printed.
func TestReaderKilledAndResumed(t *testing.T) {
	slow(t)
	const kills, perLife = 10, 100
	prefix := redistest.Prefix()
	s, _ := shared(t, redisstore.Options{Prefix: prefix, Feed: true, FeedLen: 100_000})
	versions := []core.Version{save(t, s, "a", "first", "")}
	stop, stopped := make(chan struct{}), make(chan struct{})
	var all []core.Version
	go func() {
		defer close(stopped)
		for v := versions[0]; ; {
			select {
			case <-stop:
				return
			default:
			}
			next, err := s.Save(bg, "a", []byte("x"), v)
			if err != nil {
				t.Error(err)
				return
			}
			v, all = next, append(all, next)
		}
	}()

	token, snapshots, seen, ended := "", 0, []core.Version{}, false
	end := func() { close(stop); <-stopped; ended = true }
	defer func() {
		if !ended {
			end()
		}
	}()
	for life := 0; life <= kills; life++ {
		if life == kills {
			end() // the last reader reads to the end
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"=follow", "TODOGUARD_TEST_URL="+redistest.URL(t), "TODOGUARD_TEST_PREFIX="+prefix, "TODOGUARD_TEST_TOKEN="+token)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			parts := strings.Split(lines.Text(), "|")
			if len(parts) != 5 || parts[4] != "." {
				break // killed while it printed
			}
			token = parts[1]
			if parts[0] == "true" {
				snapshots++
			}
			seen = append(seen, core.Version(parts[2]))
			if life < kills && n == perLife || life == kills && seen[len(seen)-1] == all[len(all)-1] {
				require.NoError(t, cmd.Process.Kill()) // what it printed before it died is still read
			}
		}
		_ = cmd.Wait()
	}

	require.Equal(t, 1, snapshots, "the first change, and no gap after it")
	versions = append(versions, all...)
	for len(versions) > 0 && versions[0] != seen[0] {
		versions = versions[1:] // saved before the first reader looked
	}
	missing, doubled := 0, 0
	at := map[core.Version]int{}
	for _, v := range seen {
		at[v]++
		if at[v] > 1 {
			doubled++
		}
	}
	for _, v := range versions {
		if at[v] == 0 {
			missing++
		}
	}
	t.Logf("reader killed: %d times, revisions: %d, missing: %d, seen twice: %d, in order: %v", kills, len(versions), missing, doubled,
		fmt.Sprint(versions) == fmt.Sprint(seen))
	require.Equal(t, versions, seen)
}

// The connection of a follower is cut again and again; it continues where it was.
func TestFollowerLosesItsConnection(t *testing.T) {
	server := redistest.New(t)
	s := newStore(t, client(t, server.Addr()), redisstore.Options{Feed: true, FeedLen: 100_000})
	admin := client(t, server.Addr())
	v := save(t, s, "a", "0", "")
	ch := watch(t, s, "a", "")
	require.True(t, next(t, ch).Snapshot)
	cuts := int64(0)
	for range 10 {
		for range 20 {
			v = save(t, s, "a", "x", v)
			require.Equal(t, v, next(t, ch).Version)
		}
		for _, line := range strings.Split(admin.ClientList(bg).Val(), "\n") {
			if strings.Contains(line, "cmd=xread") {
				id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
				cuts += admin.Do(bg, "CLIENT", "KILL", "ID", id).Val().(int64)
			}
		}
	}
	t.Logf("connection cut: %d times, revisions: 200, missing: 0, seen twice: 0", cuts)
	require.Positive(t, cuts)
}

// The server is killed under a follower and comes back with its data.
func TestFollowerSurvivesARestart(t *testing.T) {
	slow(t)
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	s := newStore(t, client(t, server.Addr()), redisstore.Options{Feed: true})
	v := save(t, s, "a", "one", "")
	ch := watch(t, s, "a", "")
	require.True(t, next(t, ch).Snapshot)
	server.Kill()
	time.Sleep(50 * time.Millisecond)
	require.NoError(t, server.Start())
	v, err := s.Save(within(t, 10*time.Second), "a", []byte("two"), v)
	require.NoError(t, err)
	c := next(t, ch)
	require.Equal(t, v, c.Version)
	require.False(t, c.Snapshot, "nothing was missed")
}

func TestGapsGiveSnapshots(t *testing.T) {
	prefix := redistest.Prefix()
	s, c := shared(t, redisstore.Options{Prefix: prefix, Feed: true, FeedLen: 10, TTL: time.Hour})
	state, feed := prefix+":{:a}", prefix+":{:a}:f"

	t.Run("trimmed behind a token", func(t *testing.T) {
		v := save(t, s, "a", "0", "")
		ch := watch(t, s, "a", "")
		token := next(t, ch).Token
		for i := range 400 {
			v = save(t, s, "a", strconv.Itoa(i), v)
		}
		require.Less(t, c.XLen(bg, feed).Val(), int64(300), "the feed was trimmed, or this tests nothing")
		got := next(t, watch(t, s, "a", token))
		require.True(t, got.Snapshot)
		require.Equal(t, v, got.Version)
		require.Equal(t, "399", string(got.Doc))
	})

	t.Run("an entry is missing", func(t *testing.T) {
		_, v := load(t, s, "a")
		ch := watch(t, s, "a", "")
		next(t, ch)
		nofeed := newStore(t, c, redisstore.Options{Prefix: prefix, TTL: time.Hour}) // saves, tells nobody
		v = save(t, nofeed, "a", "silent", v)
		v = save(t, s, "a", "loud", v)
		got := next(t, ch)
		require.True(t, got.Snapshot, "the loud save is not the next one after what was delivered")
		if got.Version != v { // the silent save was noticed on its own, before the loud one
			require.Equal(t, "silent", string(got.Doc))
			require.Equal(t, v, next(t, ch).Version)
		}
	})

	t.Run("a save that the feed did not get is noticed", func(t *testing.T) {
		_, v := load(t, s, "a")
		ch := watch(t, s, "a", "")
		next(t, ch)
		nofeed := newStore(t, c, redisstore.Options{Prefix: prefix, TTL: time.Hour})
		v = save(t, nofeed, "a", "silent", v)
		got := next(t, ch)
		require.True(t, got.Snapshot)
		require.Equal(t, v, got.Version)
		require.Equal(t, "silent", string(got.Doc))
	})

	t.Run("the session expires", func(t *testing.T) {
		ch := watch(t, s, "a", "")
		next(t, ch)
		c.Del(bg, state, feed)
		got := next(t, ch)
		require.True(t, got.Snapshot)
		require.Empty(t, got.Version)
		require.Nil(t, got.Doc)
		v := save(t, s, "a", "anew", "")
		require.Equal(t, v, next(t, ch).Version)
	})

	t.Run("a feed entry that is not ours", func(t *testing.T) {
		ch := watch(t, s, "a", "")
		first := next(t, ch)
		require.NoError(t, c.XAdd(bg, &redis.XAddArgs{Stream: feed, Values: []any{"some", "thing"}}).Err())
		got := next(t, ch)
		require.True(t, got.Snapshot)
		require.Equal(t, first.Version, got.Version)
	})
}

func TestFeedNeverHoldsTheDocument(t *testing.T) {
	prefix := redistest.Prefix()
	s, c := shared(t, redisstore.Options{Prefix: prefix, Feed: true})
	save(t, s, "a", "a secret text", "")
	require.NotContains(t, c.Dump(bg, prefix+":{:a}:f").Val(), "secret")
	require.Contains(t, c.Dump(bg, prefix+":{:a}").Val(), "secret")
}

// Followers wait on connections of their own: more of them than the savers have leave the savers alone.
func TestFollowersDoNotStarveSavers(t *testing.T) {
	addr := redistest.New(t).Addr()
	c := client(t, addr, func(o *redis.Options) {
		o.PoolSize, o.PipelinePoolSize, o.PoolTimeout = 2, -1, 200*time.Millisecond
	})
	s := newStore(t, c, redisstore.Options{Prefix: redistest.Prefix(), Feed: true, FeedBlock: 5 * time.Second})
	for range 16 {
		require.True(t, next(t, watch(t, s, "a", "")).Snapshot)
	}
	began := time.Now()
	v := core.Version("")
	for range 50 {
		v = save(t, s, "a", "x", v)
	}
	require.Less(t, time.Since(began), 2*time.Second)
}

func TestWatchEnds(t *testing.T) {
	s, _ := shared(t, redisstore.Options{Feed: true, FeedBlock: 5 * time.Second})

	t.Run("at once when cancelled, though Redis has the connection for five seconds", func(t *testing.T) {
		ctx := within(t, 200*time.Millisecond)
		ch, err := s.Watch(ctx, "a", "")
		require.NoError(t, err)
		next(t, ch)
		<-ctx.Done()
		began := time.Now()
		_, open := <-ch
		require.False(t, open)
		require.Less(t, time.Since(began), 500*time.Millisecond)
	})

	t.Run("with an error on a foreign value", func(t *testing.T) {
		prefix := redistest.Prefix()
		s, c := shared(t, redisstore.Options{Prefix: prefix, Feed: true})
		c.Set(bg, prefix+":{:a}", "not ours", 0)
		require.ErrorIs(t, last(t, watch(t, s, "a", "")), core.ErrCorrupt)
		c.RPush(bg, prefix+":{:b}:f", "not ours")
		require.ErrorIs(t, last(t, watch(t, s, "b", "")), core.ErrCorrupt)
	})

	t.Run("with an error when the store is closed", func(t *testing.T) {
		ch := watch(t, s, "a", "")
		next(t, ch)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close(), "a second time")
		require.ErrorIs(t, last(t, ch), core.ErrUnavailable)
		_, err := s.Watch(bg, "a", "")
		require.ErrorIs(t, err, core.ErrUnavailable)
	})

	t.Run("before it starts without a feed", func(t *testing.T) {
		s, _ := shared(t, redisstore.Options{})
		_, err := s.Watch(bg, "a", "")
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "Options.Feed")
	})
}

// last reads to the end and returns the error that the watch ended by.
func last(t testing.TB, ch <-chan core.Change) (err error) {
	t.Helper()
	for c := range ch {
		err = c.Err
	}
	return err
}
