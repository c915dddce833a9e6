// Package storetest is the conformance suite for implementations of [core.Store] and [core.Watcher].
//
// The contract is docs/design.md, section 8. Each check holds one sentence of it and logs that sentence, so that
// a failing run says which promise is broken. The suite uses the standard library alone and never sleeps: time
// moves by Harness.Advance where the store has a clock that can be moved, else the checks on expiry are skipped.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/todoguard/todoguard/core"
)

// Harness tells the suite how to make and drive a store.
type Harness struct {
	// New returns a store that is ready for use. It is called once a check. Stores of several checks may share
	// their data: every check works on session ids that no other check uses. What New opens it closes in t.Cleanup.
	New func(t testing.TB) core.Store
	// TTL is how long the stores of New keep a session after its last save. Zero: for ever.
	TTL time.Duration
	// Advance moves the clock of the stores by d. Nil: the clock cannot be moved and the checks on expiry are skipped.
	Advance func(d time.Duration)
	// Patience bounds the wait for something that must happen: a change on a watch, a save that may not be blocked.
	// Zero: 10 seconds. A correct store never waits that long.
	Patience time.Duration
}

// Run runs every check of the suite as a subtest of t. A check that does not apply (no TTL, no Watcher) is skipped
// with the reason.
func Run(t *testing.T, h Harness) {
	t.Helper()
	if h.New == nil {
		t.Fatal("storetest: Harness.New: got nil, want a function that makes a store")
	}
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.on(t, h) })
	}
}

// check is one sentence of the contract and the code that holds a store to it.
type check struct {
	name  string
	holds string // the sentence
	need  need
	run   func(e *env)
}

type need int

const (
	needsNothing need = iota
	needsExpiry
	needsWatch
)

// checks lists the whole suite in the order in which a new store is best made to pass.
func checks() []check {
	all := append(saveChecks(), valueChecks()...)
	all = append(all, expiryChecks()...)
	return append(all, watchChecks()...)
}

// on runs one check on a fresh store.
func (c check) on(t testing.TB, h Harness) {
	t.Helper()
	t.Logf("contract: %s", c.holds)
	if c.need == needsExpiry && (h.TTL <= 0 || h.Advance == nil) {
		t.Skip("skipped: the harness gives no TTL, or no way to move the clock")
	}
	if h.Patience <= 0 {
		h.Patience = 10 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	e := &env{TB: t, ctx: ctx, h: h, store: h.New(t)}
	e.id = e.session(c.name)
	if c.need == needsWatch {
		w, ok := e.store.(core.Watcher)
		if !ok {
			t.Skip("skipped: the store is no core.Watcher")
		}
		probe, stop := context.WithCancel(ctx)
		_, err := w.Watch(probe, e.session("probe"), "")
		stop()
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skipf("skipped: the store was made without the ability to watch: %v", err)
		}
		e.watcher = w
	}
	c.run(e)
}

// env is what one check works with.
type env struct {
	testing.TB
	ctx     context.Context
	h       Harness
	store   core.Store
	watcher core.Watcher // nil unless the check needs it
	id      string       // the session of this check
}

// session returns an id that was never used before, in this process or another.
func (e *env) session(name string) string {
	return fmt.Sprintf("storetest-%s-%016x", name, rand.Uint64())
}

// save stores doc and stops the check if the store refuses.
func (e *env) save(id, doc string, base core.Version) core.Version {
	e.Helper()
	v, err := e.store.Save(e.ctx, id, []byte(doc), base)
	if err != nil {
		e.Fatalf("Save(%.40q, base %q): got error %v, want it stored", doc, base, err)
	}
	if v == "" {
		e.Fatalf("Save(%.40q, base %q): got version \"\", want a version that is not empty", doc, base)
	}
	return v
}

// refused saves doc and reports unless the store answers ErrConflict.
func (e *env) refused(id, doc string, base core.Version) error {
	e.Helper()
	v, err := e.store.Save(e.ctx, id, []byte(doc), base)
	if !errors.Is(err, core.ErrConflict) {
		e.Errorf("Save(%.40q, base %q): got version %q, error %v, want core.ErrConflict", doc, base, v, err)
	}
	return err
}

// stored reports unless exactly doc and v are stored.
func (e *env) stored(id, doc string, v core.Version) {
	e.Helper()
	got, gv, err := e.store.Load(e.ctx, id)
	if err != nil || gv != v || string(got) != doc || got == nil {
		e.Errorf("Load: got %.40q (nil: %v, %d bytes), version %q, error %v, want %.40q (%d bytes), version %q",
			got, got == nil, len(got), gv, err, doc, len(doc), v)
	}
}

// missing reports unless nothing is stored.
func (e *env) missing(id string) {
	e.Helper()
	doc, v, err := e.store.Load(e.ctx, id)
	if doc != nil || v != "" || err != nil {
		e.Errorf("Load: got %.40q (nil: %v), version %q, error %v, want nil, \"\", nil: nothing is stored", doc, doc == nil, v, err)
	}
}
