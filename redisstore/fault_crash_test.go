package redisstore_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow")
	}
}

// traffic is a set of writers, each the only one of its session, that save numbered documents until stopped. As
// nobody else writes, every conflict is false.
type traffic struct {
	stop   chan struct{}
	wg     sync.WaitGroup
	mu     sync.Mutex
	acked  []int // by writer: the number of the newest document that Save acknowledged; -1: none
	saves  atomic.Int64
	falsec atomic.Int64
	open   atomic.Int64 // saves whose outcome stayed unknown
}

func startTraffic(t *testing.T, s core.Store, writers int, patience time.Duration) *traffic {
	tr := &traffic{stop: make(chan struct{}), acked: make([]int, writers)}
	for w := range writers {
		tr.acked[w] = -1
		tr.wg.Go(func() {
			var v core.Version
			for i := 0; ; i++ {
				select {
				case <-tr.stop:
					return
				default:
				}
				doc := fmt.Sprintf("%d %s", i, strings.Repeat("x", 2000))
				next, err := s.Save(within(t, patience), session(w), []byte(doc), v)
				switch {
				case err == nil:
					v = next
					tr.saves.Add(1)
					tr.mu.Lock()
					tr.acked[w] = i
					tr.mu.Unlock()
				case errors.Is(err, core.ErrConflict):
					tr.falsec.Add(1)
					t.Errorf("writer %d: false conflict at document %d: %v", w, i, err)
					return
				default:
					tr.open.Add(1)
					t.Errorf("writer %d: document %d: %v", w, i, err)
					return
				}
			}
		})
	}
	t.Cleanup(tr.end)
	return tr
}

func session(w int) string { return "session " + strconv.Itoa(w) }

func (tr *traffic) end() {
	select {
	case <-tr.stop:
	default:
		close(tr.stop)
	}
	tr.wg.Wait()
}

func (tr *traffic) snapshot() []int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return append([]int(nil), tr.acked...)
}

// lost counts the acknowledged documents that are not in the store, nor superseded by a newer one.
func lost(t *testing.T, s core.Store, acked []int) (n int) {
	t.Helper()
	for w, want := range acked {
		if want < 0 {
			continue
		}
		doc, v, err := s.Load(within(t, 20*time.Second), session(w))
		require.NoError(t, err)
		number, _, _ := strings.Cut(string(doc), " ")
		if got, err := strconv.Atoi(number); v == "" || err != nil || got < want {
			t.Errorf("writer %d: document %d was acknowledged, %.20q is stored", w, want, doc)
			n += want - got
		}
	}
	return n
}

// The process dies at any moment. With appendfsync always, what was acknowledged is there after the restart.
func TestKill9UnderLoad(t *testing.T) {
	slow(t)
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	s := newStore(t, client(t, server.Addr()), redisstore.Options{Feed: true})
	reader := newStore(t, client(t, server.Addr()), redisstore.Options{})
	tr := startTraffic(t, s, 4, 30*time.Second)
	kills, missing := 0, 0
	for range 5 {
		before := tr.saves.Load()
		eventually(t, "saves between two kills", func() bool { return tr.saves.Load() > before+100 })
		server.Kill()
		kills++
		acked := tr.snapshot() // all of these had their answer before the kill
		require.NoError(t, server.Start())
		missing += lost(t, reader, acked)
	}
	tr.end()
	missing += lost(t, reader, tr.snapshot())
	t.Logf("kill -9: %d, acknowledged writes: %d, lost: %d, false conflicts: %d", kills, tr.saves.Load(), missing, tr.falsec.Load())
	require.Zero(t, missing)
	require.Zero(t, tr.falsec.Load())
	require.Equal(t, 5, kills)
}

// The machine dies in the middle of the write to the log: the list is the old one or the new one, never a mixture,
// and its feed agrees.
func TestTornLog(t *testing.T) {
	slow(t)
	server := redistest.New(t, "--appendonly", "yes", "--appendfsync", "always")
	o := redisstore.Options{Feed: true, TTL: time.Hour}
	c := client(t, server.Addr())
	s := newStore(t, c, o)
	v1 := save(t, s, "a", "old", "")
	file := appendLog(t, server.Dir())
	start := size(t, file)
	v2 := save(t, s, "a", "new", v1)
	server.Kill()
	whole, err := os.ReadFile(file)
	require.NoError(t, err)

	const cuts = 25
	older, newer, mixed := 0, 0, 0
	for i := range cuts {
		at := start + (len(whole)-start)*i/(cuts-1)
		require.NoError(t, os.WriteFile(file, whole[:at], 0o600))
		require.NoError(t, server.Start())
		cut := client(t, server.Addr())
		doc, v := load(t, newStore(t, cut, o), "a")
		entries := cut.XLen(bg, "todo:{:a}:f").Val()
		switch {
		case doc == "old" && v == v1 && entries == 1:
			older++
		case doc == "new" && v == v2 && entries == 2:
			newer++
		default:
			mixed++
			t.Errorf("log cut at byte %d of %d: document %q, version %q, %d feed entries", at, len(whole), doc, v, entries)
		}
		server.Kill()
	}
	t.Logf("log cut at %d offsets of the last save: old list %d, new list %d, mixed: %d", cuts, older, newer, mixed)
	require.Zero(t, mixed)
	require.Positive(t, older)
	require.Positive(t, newer)
}

func appendLog(t *testing.T, dir string) (file string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".aof") && (file == "" || strings.Contains(path, ".incr.")) {
			file = path
		}
		return err
	}))
	require.NotEmpty(t, file)
	return file
}

func size(t *testing.T, file string) int {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	return int(info.Size())
}

// A server that stands still keeps its connections open and answers nothing.
func TestStoppedServer(t *testing.T) {
	slow(t)
	for _, respects := range []bool{true, false} {
		t.Run(fmt.Sprintf("client respects deadlines %v", respects), func(t *testing.T) {
			server := redistest.New(t)
			c := client(t, server.Addr(), func(o *redis.Options) { // a read of the client alone lasts longer than the test allows
				o.ContextTimeoutEnabled, o.ReadTimeout = respects, 3*time.Second
			})
			s := newStore(t, c, redisstore.Options{Feed: true})
			v := save(t, s, "a", "one", "")
			acked, lost, falseConflicts := 1, 0, 0
			server.Pause()

			began := time.Now()
			_, err := s.Save(within(t, 150*time.Millisecond), "a", []byte("two"), v)
			require.ErrorIs(t, err, core.ErrUnknown)
			require.ErrorContains(t, err, "context deadline exceeded")
			took := time.Since(began)
			require.Less(t, took, time.Second, "the deadline was 150 ms")

			_, _, err = s.Load(within(t, 150*time.Millisecond), "a")
			require.ErrorIs(t, err, core.ErrUnavailable)

			done := make(chan error, 1)
			go func() { // a save that began before the server went on ends well
				_, err := s.Save(within(t, 20*time.Second), "b", []byte("patient"), "")
				done <- err
			}()
			time.Sleep(700 * time.Millisecond)
			server.Resume()
			require.NoError(t, <-done)
			acked++

			// The unknown save may have been executed after all. Either way one more save settles it.
			v2, err := s.Save(within(t, 5*time.Second), "a", []byte("three"), v)
			if err != nil {
				ce := conflict(t, err)
				if string(ce.Doc) != "two" { // the only other write
					falseConflicts++
				}
				v2 = save(t, s, "a", "three", ce.Version)
			}
			acked++
			for id, want := range map[string]string{"a": "three", "b": "patient"} {
				if doc, _ := load(t, s, id); doc != want {
					lost++
				}
			}
			_, got := load(t, s, "a")
			require.Equal(t, v2, got)
			t.Logf("SIGSTOP: deadline 150ms, returned after %v; acknowledged writes: %d, lost: %d, false conflicts: %d",
				took.Round(10*time.Millisecond), acked, lost, falseConflicts)
			require.Zero(t, lost+falseConflicts)
		})
	}
}
