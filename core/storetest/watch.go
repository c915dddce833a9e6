package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/todoguard/todoguard/core"
)

// watchChecks hold the optional core.Watcher.
func watchChecks() []check {
	return []check{
		{"watch: snapshot first", "With an empty token the first change is a snapshot of what is stored now; Doc nil: nothing.", needsWatch, checkSnapshotFirst},
		{"watch: in order, each once", "Changes come in the order of the saves, each once, with the version that Save returned.", needsWatch, checkInOrder},
		{"watch: delete", `After a Delete a change with version "" comes, and after it the saves of the new session.`, needsWatch, checkWatchDelete},
		{"watch: resume", "With the token of an earlier change the watch continues behind that change.", needsWatch, checkResume},
		{"watch: unknown token", "A token from which the sequence cannot be proven complete gives a snapshot.", needsWatch, checkUnknownToken},
		{"watch: one session", "A watch reports the changes of its own session alone.", needsWatch, checkOneSession},
		{"watch: slow consumer", "A consumer that stops reading delays no save, and finds the last save when it reads again.", needsWatch, checkSlow},
		{"watch: end", "The channel is closed once the context is done.", needsWatch, checkWatchEnd},
		{"watch: no session", "Watch of an empty session id is ErrNoSession.", needsWatch, checkWatchNoSession},
	}
}

// watch starts one and returns its channel and the function that ends it.
func (e *env) watch(token string) (<-chan core.Change, context.CancelFunc) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	ch, err := e.watcher.Watch(ctx, e.id, token)
	if err != nil {
		cancel()
		e.Fatalf("Watch(token %q): got %v, want a channel", token, err)
	}
	return ch, cancel
}

// next returns the next change; it stops the check if none comes or the watch ended.
func (e *env) next(ch <-chan core.Change, what string) core.Change {
	e.Helper()
	timer := time.NewTimer(e.h.Patience)
	defer timer.Stop()
	select {
	case c, ok := <-ch:
		if !ok {
			e.Fatalf("%s: the channel was closed, want a change", what)
		}
		if c.Err != nil {
			e.Fatalf("%s: the watch ended by %v, want a change", what, c.Err)
		}
		return c
	case <-timer.C:
		e.Fatalf("%s: nothing came within %v, want a change", what, e.h.Patience)
	}
	panic("unreachable")
}

// snapshot reads a snapshot and reports unless it shows doc (nil: nothing is stored) and v.
func (e *env) snapshot(ch <-chan core.Change, doc []byte, v core.Version) core.Change {
	e.Helper()
	c := e.next(ch, "snapshot")
	if !c.Snapshot || c.Version != v || string(c.Doc) != string(doc) || (c.Doc == nil) != (doc == nil) {
		e.Fatalf("got snapshot %v, document %.40q (nil: %v), version %q, want a snapshot of %.40q (nil: %v), version %q",
			c.Snapshot, c.Doc, c.Doc == nil, c.Version, doc, doc == nil, v)
	}
	return c
}

// change reads a change and stops the check unless it is the save that produced v.
func (e *env) change(ch <-chan core.Change, v core.Version) core.Change {
	e.Helper()
	c := e.next(ch, fmt.Sprintf("change %q", v))
	if c.Version != v || c.Snapshot {
		e.Fatalf("got version %q (snapshot: %v), want the change %q", c.Version, c.Snapshot, v)
	}
	return c
}

func checkSnapshotFirst(e *env) {
	ch, cancel := e.watch("")
	e.snapshot(ch, nil, "")
	cancel()
	for _, doc := range []string{"", "one"} {
		e.id = e.session("snapshot")
		v := e.save(e.id, doc, "")
		ch, cancel := e.watch("")
		e.snapshot(ch, []byte(doc), v)
		cancel()
	}
}

func checkInOrder(e *env) {
	ch, cancel := e.watch("")
	defer cancel()
	e.snapshot(ch, nil, "")
	var v core.Version
	for i := range 5 { // one at a time
		v = e.save(e.id, fmt.Sprint(i), v)
		e.change(ch, v)
	}
	var all []core.Version
	for i := range 40 { // in a burst
		v = e.save(e.id, fmt.Sprint(i), v)
		all = append(all, v)
	}
	for _, v := range all {
		e.change(ch, v)
	}
	e.refused(e.id, "lost", "") // reports nothing: the next change is the next save
	e.change(ch, e.save(e.id, "last", v))
}

func checkWatchDelete(e *env) {
	v := e.save(e.id, "one", "")
	ch, cancel := e.watch("")
	defer cancel()
	e.snapshot(ch, []byte("one"), v)
	if err := e.store.Delete(e.ctx, e.id); err != nil {
		e.Fatalf("Delete: got %v, want nil", err)
	}
	if c := e.next(ch, "delete"); c.Version != "" || c.Doc != nil {
		e.Fatalf("after Delete: got version %q, document %q, want \"\" and nil", c.Version, c.Doc)
	}
	v = e.save(e.id, "anew", "")
	if c := e.next(ch, "save after delete"); c.Version != v {
		e.Fatalf("after Delete and Save: got version %q, want %q", c.Version, v)
	}
}

func checkResume(e *env) {
	v := e.save(e.id, "one", "")
	ch, cancel := e.watch("")
	token := e.snapshot(ch, []byte("one"), v).Token
	cancel()
	if token == "" {
		e.Skip("skipped: this watcher gives no tokens, so it cannot resume")
	}
	ch, cancel = e.watch(token) // nothing happened since: nothing comes before the next save
	v = e.save(e.id, "two", v)
	token = e.change(ch, v).Token
	cancel()

	missed := []core.Version{}
	for i := range 3 {
		v = e.save(e.id, fmt.Sprint("missed ", i), v)
		missed = append(missed, v)
	}
	ch, cancel = e.watch(token)
	defer cancel()
	c := e.next(ch, "resume")
	if c.Snapshot { // a store without history proves nothing complete, and says so
		if c.Version != v || string(c.Doc) != "missed 2" {
			e.Fatalf("resume: got a snapshot of %q, version %q, want what is stored: %q, %q", c.Doc, c.Version, "missed 2", v)
		}
		return
	}
	if c.Version != missed[0] {
		e.Fatalf("resume: got version %q, want %q, the first save behind the token", c.Version, missed[0])
	}
	for _, m := range missed[1:] {
		e.change(ch, m)
	}
}

func checkUnknownToken(e *env) {
	v := e.save(e.id, "one", "")
	for _, token := range []string{"no such token", "0", "1-1", "99999999999999-0", "-", "+", "$", "\x00"} {
		ch, cancel := e.watch(token)
		e.snapshot(ch, []byte("one"), v)
		cancel()
	}
}

func checkOneSession(e *env) {
	ch, cancel := e.watch("")
	defer cancel()
	e.snapshot(ch, nil, "")
	other := e.session("other")
	e.save(other, "other two", e.save(other, "other", ""))
	e.change(ch, e.save(e.id, "own", ""))
}

func checkSlow(e *env) {
	ch, cancel := e.watch("")
	defer cancel()
	patient, stop := context.WithTimeout(e.ctx, e.h.Patience)
	defer stop()
	var v core.Version
	for i := range 300 {
		type answer struct {
			v   core.Version
			err error
		}
		done := make(chan answer, 1) // a store that blocks may not even look at its context
		go func() {
			v, err := e.store.Save(patient, e.id, fmt.Append(nil, i), v)
			done <- answer{v, err}
		}()
		select {
		case a := <-done:
			if a.err != nil {
				e.Fatalf("save %d beside a watch that nobody reads: got %v, want it stored", i, a.err)
			}
			v = a.v
		case <-patient.Done():
			e.Fatalf("save %d beside a watch that nobody reads: blocked, want it stored", i)
		}
	}
	for {
		if c := e.next(ch, "the last save"); c.Version == v {
			return
		}
	}
}

func checkWatchEnd(e *env) {
	ch, cancel := e.watch("")
	e.snapshot(ch, nil, "")
	cancel()
	timer := time.NewTimer(e.h.Patience)
	defer timer.Stop()
	for {
		select {
		case _, open := <-ch:
			if !open {
				return
			}
		case <-timer.C:
			e.Fatalf("the context is done, the channel still open after %v, want it closed", e.h.Patience)
		}
	}
}

func checkWatchNoSession(e *env) {
	if _, err := e.watcher.Watch(e.ctx, "", ""); !errors.Is(err, core.ErrNoSession) {
		e.Errorf("Watch of session \"\": got %v, want core.ErrNoSession", err)
	}
}
