package storetest

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todoguard/todoguard/core"
)

// A suite that nothing can fail proves nothing: each store below has one defect, and the suite must name it, alone.
func TestEachDefectFailsItsOwnCheck(t *testing.T) {
	defects := map[string]struct {
		fails string
		make  func(clock *clock) core.Store
	}{
		"missing is an error":               {"missing", wrap(func(s *broken) { s.load = loadMissingIsError })},
		"returns a version of its own":      {"round trip", wrap(func(s *broken) { s.save = saveLosesFirstUpdate })},
		"version is a hash of the bytes":    {"new version", wrap(func(s *broken) { s.save = saveKeepsVersionOfSameBytes })},
		"create overwrites":                 {"create once", wrap(func(s *broken) { s.save = saveCreateOverwrites })},
		"remembers the last versions only":  {"stale version", wrap(func(s *broken) { s.save = saveTakesOldVersions })},
		"compares a prefix of the version":  {"unknown version", wrap(func(s *broken) { s.save = saveTrimsVersion })},
		"conflict carries what was sent":    {"conflict document", wrap(func(s *broken) { s.save = saveConflictShowsSent })},
		"save on a deleted session creates": {"delete", wrap(func(s *broken) { s.save = saveRevives })},
		"versions start over after delete":  {"recreated", wrap(func(s *broken) { s.save = saveForgivesAfterDelete })},
		"compare and set in two steps":      {"one winner", wrap(func(s *broken) { s.save = saveInTwoSteps })},
		"empty session is a shared default": {"no session", wrap(func(s *broken) { s.defaultSession = "default" })},
		"ignores the context":               {"done context", wrap(func(s *broken) { s.noContext = true })},
		"trims trailing zero bytes":         {"opaque bytes", wrap(func(s *broken) { s.save = saveTrimsBlanks })},
		"unescaped id":                      {"any session id", wrap(func(s *broken) { s.id = strings.NewReplacer("%3A", ":", "%3a", ":").Replace })},
		"id is cut":                         {"any session id", wrap(func(s *broken) { s.id = func(id string) string { return id[:min(len(id), 4000)] } })},
		"keeps the caller's slice":          {"copy in", wrap(func(s *broken) { s.aliasIn = true })},
		"hands out its own slice":           {"copy out", wrap(func(s *broken) { s.aliasOut = true })},
		"conflict shares memory":            {"copy in conflict", wrap(func(s *broken) { s.aliasConflict = true })},
		"a late save revives":               {"expiry", expiring(func(s *ttlStore) { s.revive = true })},
		"save keeps the old expiry":         {"renewed by save", expiring(func(s *ttlStore) { s.firstOnly = true })},
		"failed save renews":                {"not renewed by a failed save", expiring(func(s *ttlStore) { s.renewFailed = true })},
		"snapshot of an empty document":     {"watch: snapshot first", watching(func(w *watchStore) { w.emptyIsNone = true })},
		"watch swaps neighbours":            {"watch: in order, each once", watching(func(w *watchStore) { w.swapLate = true })},
		"watch misses deletes":              {"watch: delete", watching(func(w *watchStore) { w.noDeletes = true })},
		"watch resumes at the end":          {"watch: resume", watching(func(w *watchStore) { w.resumeAtEnd = true })},
		"watch believes any token":          {"watch: unknown token", watching(func(w *watchStore) { w.trustToken = true })},
		"watch mixes sessions":              {"watch: one session", watching(func(w *watchStore) { w.allSessions = true })},
		"watch makes saves wait":            {"watch: slow consumer", watching(func(w *watchStore) { w.blockSaves = true })},
		"watch never closes":                {"watch: end", watching(func(w *watchStore) { w.neverClose = true })},
		"watch of no session":               {"watch: no session", watching(func(w *watchStore) { w.anySession = true })},
	}
	covered := map[string]bool{}
	for name, d := range defects {
		covered[d.fails] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &clock{now: time.Unix(0, 0)}
			h := harness(d.make, clock)
			h.Patience = 300 * time.Millisecond
			got := verdicts(t, h)
			if failed := got.failed(); !slices.Equal(failed, []string{d.fails}) {
				t.Errorf("failed checks: got %q, want only %q\n%s", failed, d.fails, got)
			}
		})
	}
	for _, c := range checks() {
		if !covered[c.name] {
			t.Errorf("check %q: no broken store fails it, want one that does", c.name)
		}
	}
}

// The stores that the broken ones are made from hold the whole contract, and nothing is skipped on them.
func TestSoundStoresFailNothing(t *testing.T) {
	for name, mk := range map[string]func(*clock) core.Store{
		"wrapped": wrap(func(*broken) {}), "expiring": expiring(func(*ttlStore) {}), "watching": watching(func(*watchStore) {}),
	} {
		t.Run(name, func(t *testing.T) {
			clock := &clock{now: time.Unix(0, 0)}
			got := verdicts(t, harness(mk, clock))
			if failed := got.failed(); len(failed) > 0 {
				t.Errorf("failed checks: got %q, want none\n%s", failed, got)
			}
			for _, c := range checks() {
				want := c.need == needsWatch && name != "watching" || c.need == needsExpiry && name != "expiring"
				if skipped := got[c.name].skipped; skipped != want {
					t.Errorf("check %q skipped: got %v, want %v", c.name, skipped, want)
				}
			}
		})
	}
}

func TestEveryCheckSaysWhatItHolds(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range checks() {
		if c.name == "" || seen[c.name] {
			t.Errorf("check %q: the name must be set and unique", c.name)
		}
		seen[c.name] = true
		if !strings.HasSuffix(c.holds, ".") {
			t.Errorf("check %q holds %q, want a sentence", c.name, c.holds)
		}
		r := record(c, Harness{New: func(testing.TB) core.Store { return core.NewMemoryStore() }})
		if !strings.Contains(r.log.String(), c.holds) {
			t.Errorf("check %q: printed %q, want its sentence %q", c.name, r.log.String(), c.holds)
		}
	}
}

func TestWithoutAClockOrAWatcherTheirChecksAreSkipped(t *testing.T) {
	got := verdicts(t, Harness{New: func(testing.TB) core.Store { return struct{ core.Store }{core.NewMemoryStore()} }})
	for _, c := range checks() {
		if skipped := got[c.name].skipped; skipped != (c.need != needsNothing) {
			t.Errorf("check %q skipped: got %v, want %v", c.name, skipped, !skipped)
		}
	}
}

// harness drives the stores of mk; those that expire do so after an hour.
func harness(mk func(*clock) core.Store, c *clock) Harness {
	h := Harness{New: func(testing.TB) core.Store { return mk(c) }}
	if _, expires := mk(c).(*ttlStore); expires {
		h.TTL, h.Advance = time.Hour, c.advance
	}
	return h
}

type results map[string]*recorder

func (r results) failed() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name].Failed() {
			names = append(names, name)
		}
	}
	return names
}

func (r results) String() string {
	var b strings.Builder
	for _, name := range r.failed() {
		fmt.Fprintf(&b, "--- %s\n%s", name, &r[name].log)
	}
	return b.String()
}

func verdicts(t *testing.T, h Harness) results {
	t.Helper()
	all := results{}
	for _, c := range checks() {
		all[c.name] = record(c, h)
	}
	return all
}

// record runs one check on a recorder instead of a test, so that a failing check fails no test.
func record(c check, h Harness) *recorder {
	r := &recorder{}
	done := make(chan struct{})
	go func() { // Fatal ends the goroutine
		defer close(done)
		c.on(r, h)
	}()
	<-done
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r
}

// recorder is a testing.TB that only remembers.
type recorder struct {
	testing.TB // nil: what is not overridden below must not be used by the suite
	mu         sync.Mutex
	log        strings.Builder
	failed     bool
	skipped    bool
	cleanups   []func()
}

func (r *recorder) Helper()                  {}
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Context() context.Context { return context.Background() }
func (r *recorder) Failed() bool             { r.mu.Lock(); defer r.mu.Unlock(); return r.failed }
func (r *recorder) Logf(f string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.log, f+"\n", a...)
}
func (r *recorder) Errorf(f string, a ...any) {
	r.Logf(f, a...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); runtime.Goexit() }
func (r *recorder) Skip(a ...any)             { r.Skipf("%s", fmt.Sprint(a...)) }
func (r *recorder) Skipf(f string, a ...any)  { r.Logf(f, a...); r.skipped = true; runtime.Goexit() }
