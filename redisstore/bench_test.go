package redisstore_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// benchRounds is odd, so that a median is a round. In each round every candidate runs for benchSlice.
const (
	benchRounds = 25
	benchSlice  = 50 * time.Millisecond
)

// A save and a load cost at most so many times a plain SET of the same bytes. Figures of one run are compared with
// each other only: round by round, and then the median of the rounds, since the machine is never quiet.
func TestBenchmark(t *testing.T) {
	if os.Getenv("TODOGUARD_BENCH") != "1" {
		t.Skip("set TODOGUARD_BENCH=1")
	}
	server := redistest.New(t)
	c := client(t, server.Addr(), func(o *redis.Options) { o.PoolSize, o.PipelinePoolSize = 32, 32 })
	plain := newStore(t, c, redisstore.Options{Prefix: "plain", TTL: time.Hour})
	feed := newStore(t, c, redisstore.Options{Prefix: "feed", TTL: time.Hour, Feed: true})

	t.Logf("%8s %6s %12s %8s %8s %8s   x SET, median of %d rounds", "bytes", "conns", "SET p50", "save", "+feed", "load", benchRounds)
	for _, size := range []int{500, 5_000, 50_000} {
		bound := map[string]float64{"save": 1.8, "feed": 2.1, "load": 1.25}
		if size == 50_000 {
			bound["save"], bound["feed"] = 1.5, 1.7
		}
		doc := []byte(strings.Repeat("x", size))
		for _, conns := range []int{1, 16} {
			candidates := []struct {
				name string
				op   func(worker int) func() error
			}{
				{"SET", func(w int) func() error {
					key := fmt.Sprintf("set:%d", w)
					return func() error { return c.Set(bg, key, doc, 0).Err() }
				}},
				{"save", saver(t, plain, doc)},
				{"feed", saver(t, feed, doc)},
				{"load", func(w int) func() error {
					return func() error { _, _, err := plain.Load(bg, session(w)); return err }
				}},
			}
			ratios := map[string][]float64{}
			var sets []time.Duration
			for round := range benchRounds + 1 {
				p50 := map[string]time.Duration{}
				ops := map[string]func(int) func() error{}
				for _, cand := range candidates {
					ops[cand.name] = cand.op
				}
				switch {
				case conns == 1 && round > 0:
					p50 = interleaved(t, ops)
				default:
					for i := range candidates { // each round begins with another candidate
						cand := candidates[(i+round)%len(candidates)]
						if round == 0 {
							cand = candidates[i] // saves come before loads
						}
						p50[cand.name] = median(sample(t, conns, cand.op))
					}
				}
				if round == 0 {
					continue // warms up
				}
				sets = append(sets, p50["SET"])
				for name, d := range p50 {
					ratios[name] = append(ratios[name], float64(d)/float64(p50["SET"]))
				}
			}
			got := map[string]float64{}
			for name := range bound {
				got[name] = median(ratios[name])
			}
			t.Logf("%8d %6d %12v %8.2f %8.2f %8.2f", size, conns, median(sets), got["save"], got["feed"], got["load"])
			for name, most := range bound {
				if got[name] > most {
					t.Errorf("%d bytes, %d connections: %s: got %.2f x SET, want at most %.2f", size, conns, name, got[name], most)
				}
			}
		}
	}
}

// saver saves again and again on the version that it has.
func saver(t *testing.T, s core.Store, doc []byte) func(int) func() error {
	return func(w int) func() error {
		_, v := load(t, s, session(w))
		return func() (err error) {
			v, err = s.Save(bg, session(w), doc, v)
			return err
		}
	}
}

// sample runs op on conns workers for a slice of time and returns how long each call took.
func sample(t *testing.T, conns int, op func(int) func() error) []time.Duration {
	t.Helper()
	all := make([][]time.Duration, conns)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for w := range conns {
		f := op(w)
		wg.Go(func() {
			<-begin
			for end := time.Now().Add(benchSlice); ; {
				start := time.Now()
				if start.After(end) {
					return
				}
				if err := f(); err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
				all[w] = append(all[w], time.Since(start))
			}
		})
	}
	close(begin)
	wg.Wait()
	flat := slices.Concat(all...)
	require.NotEmpty(t, flat)
	return flat
}

// interleaved runs the candidates call by call in turn on one connection. An idle processor of a virtual machine takes three
// times as long to wake up as the call itself takes, or no time at all while it still spins: whole slices fall into one or the
// other of the two, neighbouring calls into the same.
func interleaved(t *testing.T, ops map[string]func(int) func() error) map[string]time.Duration {
	t.Helper()
	names := slices.Sorted(maps.Keys(ops))
	calls, took := map[string]func() error{}, map[string][]time.Duration{}
	for _, name := range names {
		calls[name] = ops[name](0)
	}
	for end := time.Now().Add(time.Duration(len(names)) * benchSlice); time.Now().Before(end); {
		for _, name := range names {
			start := time.Now()
			require.NoError(t, calls[name]())
			took[name] = append(took[name], time.Since(start))
		}
	}
	p50 := map[string]time.Duration{}
	for _, name := range names {
		p50[name] = median(took[name])
	}
	return p50
}

func median[T int | float64 | time.Duration](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
