package redisstore_test

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// bothWays runs f for a store with scripts and for one without.
func bothWays(t *testing.T, f func(t *testing.T, o redisstore.Options)) {
	t.Run("scripts", func(t *testing.T) { f(t, redisstore.Options{TTL: time.Hour, Feed: true}) })
	t.Run("no scripts", func(t *testing.T) { f(t, redisstore.Options{TTL: time.Hour, Feed: true, NoScripts: true}) })
}

func TestFullServer(t *testing.T) {
	bothWays(t, func(t *testing.T, o redisstore.Options) {
		server := redistest.New(t)
		c := client(t, server.Addr())
		s := newStore(t, c, o)
		v := save(t, s, "a", "one", "")
		require.NoError(t, c.ConfigSet(bg, "maxmemory-policy", "noeviction").Err())
		require.NoError(t, c.ConfigSet(bg, "maxmemory", "1").Err())

		refused := 0
		for range 3 {
			_, err := s.Save(bg, "a", []byte(strings.Repeat("x", 5000)), v)
			require.ErrorIs(t, err, core.ErrFull)
			require.NotErrorIs(t, err, core.ErrUnknown)
			refused++
		}
		doc, got := load(t, s, "a")
		require.Equal(t, "one", doc, "reads go on and nothing changed")
		require.Equal(t, v, got)
		require.ElementsMatch(t, []string{"todo:{:a}", "todo:{:a}:f"}, names(t, c, "*"), "no upload is left over")

		require.NoError(t, c.ConfigSet(bg, "maxmemory", "0").Err())
		save(t, s, "a", "two", v)
		require.EqualValues(t, 2, c.XLen(bg, "todo:{:a}:f").Val(), "feed entries")
		t.Logf("maxmemory: refused as core.ErrFull: %d, acknowledged writes: 2, lost: 0, false conflicts: 0", refused)
	})
}

// What forbids scripts is found out by the first save, which goes on without them.
func TestNoEval(t *testing.T) {
	check := func(t *testing.T, c, admin *redis.Client) {
		var count trips
		c.AddHook(&count)
		s := newStore(t, c, redisstore.Options{TTL: time.Hour, Feed: true})
		v, saves := core.Version(""), 0
		for range 5 {
			v = save(t, s, "a", strconv.Itoa(saves), v)
			saves++
		}
		asked := 0
		for _, trip := range count.take() {
			asked += strings.Count(trip, "eval")
		}
		require.Equal(t, 1, asked, "the server is asked once for a script")
		_, err := s.Save(bg, "a", []byte("x"), "")
		require.Equal(t, "4", string(conflict(t, err).Doc))
		require.EqualValues(t, saves, admin.XLen(bg, "todo:{:a}:f").Val(), "feed entries")
		require.Len(t, names(t, admin, "todo:*"), 2, "no upload is left over")
		require.NoError(t, s.Delete(bg, "a"))
		doc, _ := load(t, s, "a")
		require.Empty(t, doc)
		t.Logf("without EVAL: acknowledged writes: %d, lost: 0, false conflicts: 0", saves)
	}
	t.Run("renamed", func(t *testing.T) {
		server := redistest.New(t, "--rename-command", "EVAL", "", "--rename-command", "EVALSHA", "")
		check(t, client(t, server.Addr()), client(t, server.Addr()))
	})
	t.Run("NOPERM", func(t *testing.T) {
		server := redistest.New(t)
		admin := client(t, server.Addr())
		check(t, user(t, server, "~*", "+@all", "-@scripting"), admin)
	})
}

// user makes an account with these rules and connects as it.
func user(t *testing.T, server *redistest.Server, rules ...string) *redis.Client {
	t.Helper()
	admin := client(t, server.Addr())
	args := []any{"ACL", "SETUSER", "u", "reset", "on", ">secret"}
	for _, r := range rules {
		args = append(args, r)
	}
	require.NoError(t, admin.Do(bg, args...).Err())
	return client(t, server.Addr(), func(o *redis.Options) { o.Username, o.Password = "u", "secret" })
}

// The permissions in the package comment suffice for everything, and a tenant cannot reach another.
func TestLeastPrivilege(t *testing.T) {
	basic := strings.Fields("+get +set +del +getrange +rename +pexpire +pttl +persist +xadd +xread +xrevrange +ping +hello")
	for name, more := range map[string]string{"scripts": "+evalsha +eval", "no scripts": "+watch +unwatch +multi +exec"} {
		t.Run(name, func(t *testing.T) {
			server := redistest.New(t)
			admin := client(t, server.Addr())
			c := user(t, server, append(append([]string{"~todo:{acme:*"}, basic...), strings.Fields(more)...)...)
			for _, ttl := range []time.Duration{time.Hour, 0} {
				s := newStore(t, c, redisstore.Options{Tenant: "acme", TTL: ttl, Feed: true})
				ch, err := s.Watch(bg0(t), "a", "")
				require.NoError(t, err)
				require.True(t, (<-ch).Snapshot)
				v := save(t, s, "a", "one", "")
				require.Equal(t, v, (<-ch).Version)
				if ttl > 0 {
					require.NoError(t, admin.PExpire(bg, "todo:{acme:a}", ttl/3).Err())
					load(t, s, "a")
					require.Greater(t, admin.PTTL(bg, "todo:{acme:a}").Val(), ttl/2, "a load may renew")
				}
				_, err = s.Save(bg, "a", []byte("x"), "")
				conflict(t, err)
				save(t, s, "a", "two", v)
				require.NoError(t, s.Delete(bg, "a"))
				require.NoError(t, admin.FlushAll(bg).Err())
			}
			if name == "scripts" {
				require.NoError(t, admin.ScriptFlush(bg).Err())
				save(t, newStore(t, c, redisstore.Options{Tenant: "acme"}), "b", "one", "")
			}

			evil := newStore(t, c, redisstore.Options{Tenant: "evil"})
			_, err := evil.Save(bg, "a", []byte("x"), "")
			require.ErrorIs(t, err, core.ErrDenied)
			_, _, err = evil.Load(bg, "a")
			require.ErrorIs(t, err, core.ErrDenied)
			require.ErrorIs(t, evil.Delete(bg, "a"), core.ErrDenied)
			for _, l := range admin.Do(bg, "ACL", "LOG").Val().([]any) {
				for k, v := range l.(map[any]any) {
					if k == "object" && !strings.HasPrefix(v.(string), "todo:{evil:") && v != "evalsha" && v != "client|setinfo" {
						t.Errorf("the account was denied %v, which the documented permissions should cover", v)
					}
				}
			}
			wrong := client(t, server.Addr(), func(o *redis.Options) { o.Username, o.Password = "u", "wrong" })
			_, _, err = newStore(t, wrong, redisstore.Options{}).Load(bg, "a")
			require.ErrorIs(t, err, core.ErrDenied)
		})
	}
}

// Somebody else's value under one of the keys is never overwritten, and its expiry is left alone.
func TestForeignTypes(t *testing.T) {
	bothWays(t, func(t *testing.T, o redisstore.Options) {
		o.Prefix = redistest.Prefix()
		s, c := shared(t, o)
		state, feed := o.Prefix+":{:a}", o.Prefix+":{:a}:f"
		foreign := map[string]func(){
			"a list":          func() { c.RPush(bg, state, "x", "y") },
			"a hash":          func() { c.HSet(bg, state, "x", "y") },
			"a text":          func() { c.Set(bg, state, "not ours", 0) },
			"a text of lines": func() { c.Set(bg, state, "not\nours", 0) },
			"an empty text":   func() { c.Set(bg, state, "", 0) },
			"a newer format":  func() { c.Set(bg, state, "2 1 AAAAAAAAAAAAAAAA \n{}", 0) },
			"a huge text":     func() { c.Set(bg, state, strings.Repeat("x", 100_000), 0) },
		}
		for name, put := range foreign {
			c.Del(bg, state)
			put()
			before := c.Dump(bg, state).Val()
			require.NotEmpty(t, before)
			for _, base := range []core.Version{"", "1.AAAAAAAAAAAAAAAA", "nonsense"} {
				_, err := s.Save(bg, "a", []byte("x"), base)
				require.ErrorIs(t, err, core.ErrCorrupt, "%s: Save on version %q", name, base)
			}
			_, _, err := s.Load(bg, "a")
			require.ErrorIs(t, err, core.ErrCorrupt, "%s: Load", name)
			require.Equal(t, before, c.Dump(bg, state).Val(), "%s: the value", name)
			require.EqualValues(t, -1, c.PTTL(bg, state).Val(), "%s: the expiry", name)
			require.Len(t, names(t, c, o.Prefix+":*"), 1, "%s: no upload is left over", name)
		}
		require.NoError(t, s.Delete(bg, "a"), "Delete is how one gets rid of it")
		require.Zero(t, c.Exists(bg, state).Val())
		c.Del(bg, feed)

		c.RPush(bg, feed, "x") // under the feed key: the save is stored all the same
		v := save(t, s, "a", "one", "")
		v = save(t, s, "a", "two", v)
		require.NoError(t, c.PExpire(bg, state, time.Minute).Err())
		doc, got := load(t, s, "a") // renews the state
		require.Equal(t, "two", doc)
		require.Equal(t, v, got)
		require.Greater(t, c.PTTL(bg, state).Val(), time.Minute)
		require.NoError(t, s.Delete(bg, "a"))
		require.Equal(t, []string{"x"}, c.LRange(bg, feed, 0, -1).Val(), "the foreign list")
		require.EqualValues(t, -1, c.PTTL(bg, feed).Val(), "the expiry of the foreign list")
		t.Logf("foreign values: %d, overwritten: 0", len(foreign)+1)
	})
}

func TestScriptFlushUnderLoad(t *testing.T) {
	server := redistest.New(t) // flushing scripts disturbs other tests
	c := client(t, server.Addr())
	s := newStore(t, c, redisstore.Options{Feed: true})
	tr := startTraffic(t, s, 4, 10*time.Second)
	flushes := 0
	for range 20 {
		before := tr.saves.Load()
		eventually(t, "saves between two flushes", func() bool { return tr.saves.Load() > before+20 })
		require.NoError(t, c.ScriptFlush(bg).Err())
		flushes++
	}
	tr.end()
	missing := lost(t, s, tr.snapshot())
	t.Logf("SCRIPT FLUSH: %d, acknowledged writes: %d, lost: %d, false conflicts: %d", flushes, tr.saves.Load(), missing, tr.falsec.Load())
	require.Zero(t, missing+int(tr.falsec.Load()))
}

// Sixteen writers count on one list, each by load, add one, save, and again on a conflict.
func TestSixteenWriters(t *testing.T) {
	const writers, each = 16, 40
	for _, how := range []string{"scripts", "no scripts", "mixed"} {
		t.Run(how, func(t *testing.T) {
			o := redisstore.Options{Prefix: redistest.Prefix(), TTL: time.Hour, Feed: true}
			s, c := shared(t, o)
			o.NoScripts = true
			other := newStore(t, c, o)
			var wg sync.WaitGroup
			var conflicts atomic.Int64
			for w := range writers {
				mine := s
				if how == "no scripts" || how == "mixed" && w%2 == 0 {
					mine = other
				}
				wg.Go(func() {
					for range each {
						n, err := increment(mine, "a")
						conflicts.Add(int64(n))
						if err != nil {
							t.Errorf("writer %d: %v", w, err)
							return
						}
					}
				})
			}
			wg.Wait()
			doc, _ := load(t, s, "a")
			total, err := strconv.Atoi(doc)
			require.NoError(t, err)
			t.Logf("writers: %d, acknowledged writes: %d, lost: %d (conflicts retried: %d)", writers, writers*each, writers*each-total, conflicts.Load())
			require.Equal(t, writers*each, total)
			require.NotZero(t, conflicts.Load(), "the writers did meet")
		})
	}
}

// increment adds one to the number that is stored, and starts over from what a conflict shows.
func increment(s core.Store, id string) (conflicts int, err error) {
	doc, v, err := s.Load(bg, id)
	for err == nil {
		n := 0
		if v != "" {
			if n, err = strconv.Atoi(string(doc)); err != nil {
				break
			}
		}
		_, err = s.Save(bg, id, strconv.AppendInt(nil, int64(n+1), 10), v)
		var ce *core.ConflictError
		if !errors.As(err, &ce) {
			break
		}
		conflicts++
		doc, v, err = ce.Doc, ce.Version, nil
	}
	return conflicts, err
}
