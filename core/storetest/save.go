package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/todoguard/todoguard/core"
)

// saveChecks hold compare-and-set: who may write, who may not, and what a version is.
func saveChecks() []check {
	return []check{
		{"missing", `Load of what was never saved returns nil, "", nil; Delete of it returns nil.`, needsNothing, checkMissing},
		{"round trip", "Save returns the version under which Load finds the same bytes.", needsNothing, checkRoundTrip},
		{"new version", "The version changes with every save, also when the bytes are the same.", needsNothing, checkNewVersion},
		{"create once", `Save with base "" where something is stored is ErrConflict and changes nothing.`, needsNothing, checkCreateOnce},
		{"stale version", "Save with a version from before other saves is ErrConflict and changes nothing.", needsNothing, checkStale},
		{"unknown version", "A version that this store never gave out matches nothing, whatever it looks like.", needsNothing, checkUnknown},
		{"conflict document", "A ConflictError carries the document that is stored and its version.", needsNothing, checkConflictDoc},
		{"delete", "Delete removes the document; a save on the version from before it is ErrConflict.", needsNothing, checkDelete},
		{"recreated", "A version from before a Delete never matches again, also when the session is saved anew.", needsNothing, checkRecreated},
		{"one winner", "Of many concurrent saves on one version exactly one wins; all others get ErrConflict.", needsNothing, checkOneWinner},
		{"no session", "An empty session id is ErrNoSession in every method.", needsNothing, checkNoSession},
		{"done context", "Once the context is done every method returns its error, wrapped, and changes nothing.", needsNothing, checkDoneContext},
	}
}

func checkMissing(e *env) {
	e.missing(e.id)
	if err := e.store.Delete(e.ctx, e.id); err != nil {
		e.Errorf("Delete: got %v, want nil", err)
	}
}

func checkRoundTrip(e *env) {
	v1 := e.save(e.id, "one", "")
	e.stored(e.id, "one", v1)
	v2 := e.save(e.id, "two", v1)
	e.stored(e.id, "two", v2)
}

func checkNewVersion(e *env) {
	seen := map[core.Version]int{}
	var v core.Version
	for i := range 20 {
		v = e.save(e.id, "same", v)
		if first, again := seen[v]; again {
			e.Errorf("save %d: got version %q, which save %d had already, want a new one", i, v, first)
		}
		seen[v] = i
	}
}

func checkCreateOnce(e *env) {
	v := e.save(e.id, "one", "")
	e.refused(e.id, "two", "")
	e.stored(e.id, "one", v)
}

func checkStale(e *env) {
	versions := []core.Version{e.save(e.id, "0", "")}
	for i := 1; i < 12; i++ { // more saves than a store may remember
		versions = append(versions, e.save(e.id, fmt.Sprint(i), versions[i-1]))
	}
	for _, old := range versions[:11] {
		e.refused(e.id, "stale", old)
	}
	e.stored(e.id, "11", versions[11])
}

func checkUnknown(e *env) {
	v := e.save(e.id, "one", "")
	other := e.session("other")
	foreign := []core.Version{"0", "1", "2", "-1", "x", " ", "%", "*", core.Version("\x00"), v + "0", v[:len(v)-1] + "~", " " + v,
		e.save(other, "one", "")}
	for _, f := range foreign {
		if f == v {
			continue // short counters: the same token for another session
		}
		e.refused(e.id, "two", f)
		e.refused(e.session("nothing"), "two", f)
	}
	e.stored(e.id, "one", v)
}

func checkConflictDoc(e *env) {
	v1 := e.save(e.id, "one", "")
	v2 := e.save(e.id, "two", v1)
	var ce *core.ConflictError
	if errors.As(e.refused(e.id, "three", v1), &ce) && (string(ce.Doc) != "two" || ce.Version != v2) {
		e.Errorf("conflict: got document %q, version %q, want %q, %q", ce.Doc, ce.Version, "two", v2)
	}
	gone := e.session("gone")
	if errors.As(e.refused(gone, "three", v1), &ce) && (ce.Doc != nil || ce.Version != "") {
		e.Errorf("conflict where nothing is stored: got document %q, version %q, want nil and \"\"", ce.Doc, ce.Version)
	}
}

func checkDelete(e *env) {
	v := e.save(e.id, "one", "")
	if err := e.store.Delete(e.ctx, e.id); err != nil {
		e.Fatalf("Delete: got %v, want nil", err)
	}
	e.missing(e.id)
	e.refused(e.id, "two", v)
	e.missing(e.id)
}

func checkRecreated(e *env) {
	old := []core.Version{e.save(e.id, "one", "")}
	old = append(old, e.save(e.id, "two", old[0]))
	if err := e.store.Delete(e.ctx, e.id); err != nil {
		e.Fatalf("Delete: got %v, want nil", err)
	}
	v := e.save(e.id, "new one", "")
	for range 2 { // once at each length of history that the old versions knew
		for _, o := range old {
			e.refused(e.id, "stale", o)
		}
		v = e.save(e.id, "new two", v)
	}
	e.stored(e.id, "new two", v)
}

func checkOneWinner(e *env) {
	const writers, rounds = 16, 5
	base := e.save(e.id, "start", "")
	for round := range rounds {
		versions, errs := make([]core.Version, writers), make([]error, writers)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				<-start
				versions[w], errs[w] = e.store.Save(e.ctx, e.id, fmt.Appendf(nil, "round %d writer %d", round, w), base)
			})
		}
		close(start)
		wg.Wait()
		winner := -1
		for w, err := range errs {
			switch {
			case err == nil && winner >= 0:
				e.Fatalf("round %d: writers %d and %d both won on version %q", round, winner, w, base)
			case err == nil:
				winner = w
			case !errors.Is(err, core.ErrConflict):
				e.Fatalf("round %d: writer %d: got %v, want core.ErrConflict", round, w, err)
			}
		}
		if winner < 0 {
			e.Fatalf("round %d: no writer won, want one", round)
		}
		base = versions[winner]
		e.stored(e.id, fmt.Sprintf("round %d writer %d", round, winner), base)
	}
}

func checkNoSession(e *env) {
	_, _, load := e.store.Load(e.ctx, "")
	_, save := e.store.Save(e.ctx, "", []byte("x"), "")
	calls := map[string]error{"Load": load, "Save": save, "Delete": e.store.Delete(e.ctx, "")}
	for name, err := range calls {
		if !errors.Is(err, core.ErrNoSession) {
			e.Errorf("%s of session \"\": got %v, want core.ErrNoSession", name, err)
		}
	}
}

func checkDoneContext(e *env) {
	v := e.save(e.id, "one", "")
	done, cancel := context.WithCancel(e.ctx)
	cancel()
	_, _, load := e.store.Load(done, e.id)
	_, save := e.store.Save(done, e.id, []byte("two"), v)
	calls := map[string]error{"Load": load, "Save": save, "Delete": e.store.Delete(done, e.id)}
	for name, err := range calls {
		if !errors.Is(err, context.Canceled) {
			e.Errorf("%s with a cancelled context: got %v, want an error that is context.Canceled", name, err)
		}
	}
	e.stored(e.id, "one", v)
}
