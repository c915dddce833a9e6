package core

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// writePath is one run that accepts a write at a time, on a MemoryStore. Its lists alternate, so that each write is a change.
type writePath struct {
	run  *Run
	args [2]string
	n    int
}

func newWritePath(t testing.TB, items int) *writePath {
	p, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.Begin("session", RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := &writePath{run: run}
	for turn := range w.args {
		list := make([]map[string]string, items)
		for i := range list {
			list[i] = map[string]string{"id": fmt.Sprint(i + 1), "content": fmt.Sprintf("Move part %d of the service to the new client", i+1), "status": "pending"}
		}
		list[turn]["status"] = "in_progress"
		raw, err := json.Marshal(map[string]any{"todos": list})
		if err != nil {
			t.Fatal(err)
		}
		w.args[turn] = string(raw)
	}
	return w
}

func (w *writePath) write(t testing.TB) string {
	result, err := w.run.CallTool(context.Background(), Call{ID: "c", Name: DefaultToolName, Args: w.args[w.n%2]})
	if err != nil {
		t.Fatal(err)
	}
	w.n++
	return result
}

// codec is what a write cannot do without: its arguments decoded and its result encoded, once each.
type codec struct {
	args   []byte
	result toolResult
}

func newCodec(t testing.TB, w *writePath) *codec {
	c := &codec{args: []byte(w.args[w.n%2])}
	if err := json.Unmarshal([]byte(w.write(t)), &c.result); err != nil {
		t.Fatal(err)
	}
	if c.result.Error != nil || c.result.Unchanged {
		t.Fatalf("the write was not accepted as a change: %+v", c.result)
	}
	return c
}

func (c *codec) pass(t testing.TB) {
	var in struct {
		Todos []struct {
			ID      string `json:"id"`
			Content string `json:"content"`
			Status  Status `json:"status"`
		} `json:"todos"`
	}
	if err := json.Unmarshal(c.args, &in); err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(&c.result); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, items := range []int{6, 10, 100} {
		b.Run(fmt.Sprintf("%d/write", items), func(b *testing.B) {
			w := newWritePath(b, items)
			w.write(b)
			b.ReportAllocs()
			for b.Loop() {
				w.write(b)
			}
		})
		b.Run(fmt.Sprintf("%d/json", items), func(b *testing.B) {
			c := newCodec(b, newWritePath(b, items))
			b.ReportAllocs()
			for b.Loop() {
				c.pass(b)
			}
		})
	}
}

// TestWriteCost holds a write, from arguments to result, validated and saved, to four times what encoding/json alone needs for the
// two. Short rounds of both alternate and the medians are compared, so that a busy machine slows both alike.
func TestWriteCost(t *testing.T) {
	for _, items := range []int{10, 100} {
		w := newWritePath(t, items)
		c := newCodec(t, w)
		const rounds = 31
		reps := 2000 / items
		var write, codec [rounds]time.Duration
		for i := range rounds {
			write[i] = clock(reps, func() { w.write(t) })
			codec[i] = clock(reps, func() { c.pass(t) })
		}
		if got := w.run.revision(); got != int64(w.n) {
			t.Fatalf("%d writes gave revision %d: not each was a change", w.n, got)
		}
		ratio := float64(median(write[:])) / float64(median(codec[:]))
		t.Logf("%3d items: a write %v, json alone %v: ratio %.2f", items, median(write[:])/time.Duration(reps), median(codec[:])/time.Duration(reps), ratio)
		if ratio > 4 {
			t.Errorf("a write of %d items costs %.2f times what json alone does, want at most 4", items, ratio)
		}
	}
	for _, most := range []struct{ items, allocs, kib int }{{6, 102, 8}, {100, 400, 80}} {
		w := newWritePath(t, most.items)
		w.write(t)
		allocs, bytes := allocated(func() { w.write(t) })
		t.Logf("%3d items: %d allocations, %.1f KiB", most.items, allocs, float64(bytes)/1024)
		if allocs > uint64(most.allocs) || bytes > uint64(most.kib)<<10 {
			t.Errorf("a write of %d items makes %d allocations of %d bytes, want at most %d and %d KiB", most.items, allocs, bytes, most.allocs, most.kib)
		}
	}
}

func clock(reps int, f func()) time.Duration {
	start := time.Now()
	for range reps {
		f()
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// allocated is the least that one of several calls allocates: what others do meanwhile only adds.
func allocated(f func()) (allocs, bytes uint64) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i := range 50 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		n, b := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
		if i == 0 || n < allocs {
			allocs = n
		}
		if i == 0 || b < bytes {
			bytes = b
		}
	}
	return allocs, bytes
}
