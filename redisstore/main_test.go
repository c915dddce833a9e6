package redisstore_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// workers are what a second process of this test binary does, by the name in the environment variable below.
var workers = map[string]func() error{}

const workerEnv = "TODOGUARD_TEST_WORKER"

func TestMain(m *testing.M) {
	if name := os.Getenv(workerEnv); name != "" {
		if err := workers[name](); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

var bg = context.Background()

// client connects to addr with short time-outs and without the driver's courtesies.
func client(t testing.TB, addr string, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	o := &redis.Options{Addr: addr, ContextTimeoutEnabled: true, DisableIdentity: true, DialTimeout: time.Second, DialerRetries: 1}
	for _, f := range change {
		f(o)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// newStore makes a store that is closed with the test. Watches look often, so that no test waits for five seconds.
func newStore(t testing.TB, c redis.UniversalClient, o redisstore.Options) *redisstore.Store {
	t.Helper()
	if o.FeedBlock == 0 {
		o.FeedBlock = 50 * time.Millisecond
	}
	s, err := redisstore.New(c, &o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// shared is a store on the server that all tests share, under a prefix of its own.
func shared(t testing.TB, o redisstore.Options) (*redisstore.Store, *redis.Client) {
	t.Helper()
	ro, err := redis.ParseURL(redistest.URL(t))
	require.NoError(t, err)
	c := client(t, ro.Addr, func(o *redis.Options) {
		o.Username, o.Password, o.DB, o.TLSConfig = ro.Username, ro.Password, ro.DB, ro.TLSConfig
	})
	if o.Prefix == "" {
		o.Prefix = redistest.Prefix()
	}
	return newStore(t, c, o), c
}

func save(t testing.TB, s core.Store, session, doc string, base core.Version) core.Version {
	t.Helper()
	v, err := s.Save(bg, session, []byte(doc), base)
	require.NoError(t, err)
	return v
}

func load(t testing.TB, s core.Store, session string) (string, core.Version) {
	t.Helper()
	doc, v, err := s.Load(bg, session)
	require.NoError(t, err)
	return string(doc), v
}

// conflict returns the conflict that err must be.
func conflict(t testing.TB, err error) *core.ConflictError {
	t.Helper()
	var ce *core.ConflictError
	require.ErrorAs(t, err, &ce)
	require.ErrorIs(t, err, core.ErrConflict)
	return ce
}

func names(t testing.TB, c redis.UniversalClient, pattern string) []string {
	t.Helper()
	ks, err := c.Keys(bg, pattern).Result()
	require.NoError(t, err)
	return ks
}

func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !f(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 30 s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(bg, d)
	t.Cleanup(cancel)
	return ctx
}

// bg0 is a context that ends with the test.
func bg0(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(bg)
	t.Cleanup(cancel)
	return ctx
}
