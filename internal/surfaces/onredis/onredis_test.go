// Package onredis holds what teams with Redis-backed sessions rely on, from the seams down to a real server: round trips a
// turn, two processes on one list, and a server that goes away (docs/design.md, section 8).
package onredis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
	"github.com/todoguard/todoguard/internal/surfaces/einograph"
	"github.com/todoguard/todoguard/internal/surfaces/lcg"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(urlVar) != "" {
		writer()
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

// trips counts what a client sends: a command or a pipeline is one round trip.
type trips struct{ n atomic.Int64 }

func (t *trips) DialHook(next redis.DialHook) redis.DialHook { return next }
func (t *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmd)
	}
}
func (t *trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		t.n.Add(1)
		return next(ctx, cmds)
	}
}

func client(t *testing.T, url string, hooks ...redis.Hook) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	o.ContextTimeoutEnabled = true
	c := redis.NewClient(o)
	for _, h := range hooks {
		c.AddHook(h)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A whole model turn (what its response brings, its tools, and the load before the next call) takes at most three round trips
// with a write and two without.
func TestRoundTripsOfATurn(t *testing.T) {
	count := &trips{}
	o := &redisstore.Options{Prefix: redistest.Prefix()}
	store, err := redisstore.New(client(t, redistest.URL(t)), o) // the runner's own reads are not counted
	require.NoError(t, err)
	counting, err := redisstore.New(client(t, redistest.URL(t), count), o)
	require.NoError(t, err)
	stories, err := storytest.Builtin()
	require.NoError(t, err)
	// The first save ever brings the script to the server, and the first command of a client its greeting.
	_, err = counting.Save(t.Context(), "warm-up", []byte("{}"), "")
	require.NoError(t, err)

	surfaces := append([]storytest.Surface{storytest.Core()}, einoadk.Surfaces()...)
	surfaces = append(append(surfaces, einograph.All()...), lcg.All()...)
	for _, sf := range surfaces {
		t.Run(sf.Name, func(t *testing.T) {
			var most [2]int64 // without a write, with one
			for _, s := range stories {
				if s.CannotOn(sf, storytest.ModeReplace) != "" {
					continue
				}
				counted := sf
				counted.Play = func(ctx context.Context, t testing.TB, env storytest.Env) (storytest.Got, error) {
					env.Config.Store = counting
					replies := s.Runs[slices.IndexFunc(s.Runs, func(r storytest.StoryRun) bool { return r.Input == env.Input })].Replies
					asked, at := 0, int64(0)
					env.Model.OnRequest(func() {
						now := count.n.Load()
						if asked > 0 { // from one request to the next: what the response, its tools and the next list took
							kind := 0
							for _, c := range replies[asked-1].Calls {
								if c.Name == core.DefaultToolName {
									kind = 1
								}
							}
							most[kind] = max(most[kind], now-at)
						}
						asked, at = asked+1, now
					})
					return sf.Play(ctx, t, env)
				}
				rec := storytest.Play(t.Context(), t, s, counted, storytest.ModeReplace, store)
				require.Empty(t, rec.Problems, s.Name)
				require.NoError(t, store.Delete(t.Context(), "story/"+s.Name))
			}
			t.Logf("round trips of a turn at most: %d without a write, %d with one", most[0], most[1])
			require.Positive(t, most[1])
			require.LessOrEqual(t, most[0], int64(2))
			require.LessOrEqual(t, most[1], int64(3))
		})
	}
}

const (
	urlVar    = "TODOGUARD_TEST_WRITER_URL"
	prefixVar = "TODOGUARD_TEST_WRITER_PREFIX"
	nameVar   = "TODOGUARD_TEST_WRITER_NAME"
	session   = "shared"
	writes    = 1000
)

// Two processes write one list 1,000 times each. The loser of a race is told stale_write with the current list, builds on
// that, and no update is lost.
func TestTwoProcessesOnOneList(t *testing.T) {
	url, prefix := redistest.URL(t), redistest.Prefix()
	self, err := os.Executable()
	require.NoError(t, err)
	var procs []*exec.Cmd
	var outs []*strings.Builder
	for _, name := range []string{"a", "b"} {
		c := exec.CommandContext(t.Context(), self)
		c.Env = append(os.Environ(), urlVar+"="+url, prefixVar+"="+prefix, nameVar+"="+name)
		out := &strings.Builder{}
		c.Stdout, c.Stderr = out, out
		require.NoError(t, c.Start())
		procs, outs = append(procs, c), append(outs, out)
	}
	for i, c := range procs {
		require.NoError(t, c.Wait(), outs[i].String())
		t.Log(strings.TrimSpace(outs[i].String()))
	}
	store, err := redisstore.New(client(t, url), &redisstore.Options{Prefix: prefix})
	require.NoError(t, err)
	p, err := core.New(core.Config{Store: store})
	require.NoError(t, err)
	s, err := p.Get(t.Context(), session)
	require.NoError(t, err)
	require.Len(t, s.Todos, 1)
	require.Equal(t, fmt.Sprintf("a=%d b=%d", writes, writes), s.Todos[0].Content, "lost updates")
	require.EqualValues(t, 2*writes, s.Revision)
	t.Logf("%d acknowledged writes, lost: %d", 2*writes, 2*writes-int(s.Revision))
}

type result struct {
	Error *struct{ Code string }
	Todos []core.Item
}

// writer is one of the two processes: a model that counts its writes in the list that both share.
func writer() {
	if err := write(os.Getenv(nameVar)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func write(name string) error {
	ctx := context.Background()
	o, err := redis.ParseURL(os.Getenv(urlVar))
	if err != nil {
		return err
	}
	c := redis.NewClient(o)
	defer c.Close()
	store, err := redisstore.New(c, &redisstore.Options{Prefix: os.Getenv(prefixVar)})
	if err != nil {
		return err
	}
	p, err := core.New(core.Config{Store: store})
	if err != nil {
		return err
	}
	run, err := p.Begin(session, core.RunOptions{})
	if err != nil {
		return err
	}
	stale, seen := 0, []core.Item(nil)
	for done := 0; done < writes; {
		if _, err := run.BeforeModel(ctx, core.Prompt{Boundary: "one"}); err != nil {
			return err
		}
		s, err := p.Get(ctx, session) // what the model saw may be older by now: that is the point
		if err != nil {
			return err
		}
		if seen == nil {
			seen = s.Todos
		}
		for {
			var a, b int
			if len(seen) > 0 {
				if _, err := fmt.Sscanf(seen[0].Content, "a=%d b=%d", &a, &b); err != nil {
					return err
				}
			}
			if name == "a" {
				a++
			} else {
				b++
			}
			text, err := run.WriteTodos(ctx, "c", fmt.Sprintf(`{"todos":[{"id":"1","content":"a=%d b=%d","status":"in_progress"}]}`, a, b))
			if err != nil {
				return err
			}
			var r result
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				return err
			}
			seen = r.Todos
			if r.Error == nil {
				done++
				break
			}
			if r.Error.Code != string(core.CodeStaleWrite) || len(r.Todos) != 1 {
				return fmt.Errorf("refused otherwise: %s", text)
			}
			stale++
		}
		seen = nil
	}
	fmt.Printf("process %s: %d writes, %d times stale_write with the current list\n", name, writes, stale)
	return nil
}

// The server goes away in mid-run and comes back: by default a typed error, within the deadline; no memory takes its place; and
// the same planner works again afterwards.
func TestServerAwayInMidRun(t *testing.T) {
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	url := "redis://" + server.Addr() + "/0"
	for _, c := range []struct {
		name string
		goOn bool
	}{{"the run ends", false}, {"the run goes on without the list", true}} {
		t.Run(c.name, func(t *testing.T) {
			store, err := redisstore.NewURL(url, &redisstore.Options{Prefix: redistest.Prefix(), Timeout: 300 * time.Millisecond})
			require.NoError(t, err)
			t.Cleanup(func() { _ = store.Close() })
			cfg := core.Config{Store: store}
			if c.goOn {
				cfg.OnStoreError = func(context.Context, error) error { return nil }
			}
			p, err := core.New(cfg)
			require.NoError(t, err)
			run, err := p.Begin("s", core.RunOptions{})
			require.NoError(t, err)
			_, err = run.BeforeModel(t.Context(), core.Prompt{Boundary: "one"})
			require.NoError(t, err)
			ok, err := run.WriteTodos(t.Context(), "c1", `{"todos":[{"id":"1","content":"Keep me","status":"in_progress"}]}`)
			require.NoError(t, err)
			require.Equal(t, "ok", storytest.Code(ok))

			server.Kill()
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			tail, err := run.BeforeModel(ctx, core.Prompt{Boundary: "one"})
			text, werr := run.WriteTodos(ctx, "c2", `{"todos":[{"id":"9","content":"Lost","status":"in_progress"}]}`)
			verdict, aerr := run.AfterModel(ctx, core.Response{Text: "Done."})
			require.Less(t, time.Since(began), 5*time.Second, "the deadline is kept")
			require.Equal(t, core.Accept, verdict.Action, "the guard is silent without the list")
			require.Empty(t, tail)
			if c.goOn {
				require.NoError(t, errors.Join(err, werr, aerr))
				require.Equal(t, string(core.CodeNotSaved), storytest.Code(text))
			} else {
				require.ErrorIs(t, err, core.ErrUnavailable)
				require.Error(t, werr)
				require.Error(t, aerr)
				require.Empty(t, text)
			}

			require.NoError(t, server.Start())
			var s core.Snapshot
			require.Eventually(t, func() bool {
				s, err = p.Get(t.Context(), "s")
				return err == nil
			}, 10*time.Second, 50*time.Millisecond)
			require.Equal(t, "Keep me", s.Todos[0].Content, "no memory took the place of the store, and nothing was overwritten")
			require.EqualValues(t, 1, s.Revision)

			next, err := p.Begin("s", core.RunOptions{})
			require.NoError(t, err)
			tail, err = next.BeforeModel(t.Context(), core.Prompt{Boundary: "two"})
			require.NoError(t, err)
			require.Contains(t, tail, "Keep me")
		})
	}
}

func TestServerAwayAtStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	redistest.Require(t) // the same rule as for the tests beside it: a machine without Redis runs none of these
	store, err := redisstore.NewURL("redis://"+addr+"/0", &redisstore.Options{Timeout: 200 * time.Millisecond})
	require.NoError(t, err, "making a store sends nothing")
	defer store.Close()
	p, err := core.New(core.Config{Store: store})
	require.NoError(t, err)
	run, err := p.Begin("s", core.RunOptions{})
	require.NoError(t, err)
	began := time.Now()
	_, err = run.BeforeModel(t.Context(), core.Prompt{Boundary: "one"})
	require.ErrorIs(t, err, core.ErrUnavailable)
	require.Less(t, time.Since(began), time.Second, "Options.Timeout is kept though the driver would dial on")
}
