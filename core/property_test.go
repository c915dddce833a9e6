package core

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The property of part E: random plans of 1 to 40 items with random edges, and random writes, host calls and check outcomes on them.
// After every step, however it ended, the promises of docs/design.md, sections 4 and 5, hold.
func TestPlansKeepTheirPromises(t *testing.T) {
	cases := 10_000
	if testing.Short() || raceDetector {
		cases = 2000
	}
	stats := map[string]int{}
	for seed := range cases {
		w := newPlanWorld(t, uint64(seed))
		for range 1 + w.rnd.IntN(8) {
			w.step()
			w.hold()
		}
		if seed%10 == 0 {
			w.waysOut()
		}
		for k, n := range w.stats {
			stats[k] += n
		}
	}
	t.Logf("%d plans: %v", cases, stats)
	for _, k := range []string{"accepted", "refused needs_replan", "refused blocked", "refused not_one_in_progress", "refused dependency_cycle",
		"refused unknown_dependency", "check passed", "check failed", "check could not run", "stuck", "way out", "host ok", "host refused"} {
		require.Greater(t, stats[k], 5, "the test does not reach %q", k)
	}
}

// planWorld is one session under random steps, and what must be true of it, kept in another way than the code keeps it.
type planWorld struct {
	t      testing.TB
	seed   uint64
	rnd    *rand.Rand
	p      *Planner
	r      *Run
	prev   []Item
	fails  map[string]int // failures by content
	fresh  []string       // contents whose checks passed in this step
	failed []string       // contents whose checks failed in this step: they count if it is accepted
	stats  map[string]int
	cur    []Item // as hold has seen it
}

func (w *planWorld) count() {
	for _, content := range w.failed {
		w.fails[content]++
	}
}

func newPlanWorld(t testing.TB, seed uint64) *planWorld {
	w := &planWorld{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 7)), fails: map[string]int{}, stats: map[string]int{}}
	p, err := New(Config{Dependencies: true, MaxFailures: 1 + w.rnd.IntN(3), Checks: ForAll(w.check), Limits: Limits{Items: 60}, Updates: []Updates{Replace, Merge}[w.rnd.IntN(2)]})
	require.NoError(t, err)
	w.p = p
	w.r, err = p.Begin(sess, RunOptions{})
	require.NoError(t, err)
	return w
}

func (w *planWorld) check(_ context.Context, it Item) CheckResult {
	status := []CheckStatus{CheckPassed, CheckPassed, CheckPassed, CheckFailed, CheckFailed, CheckNotRun}[w.rnd.IntN(6)]
	w.stats["check "+string(status)]++
	switch status {
	case CheckPassed:
		w.fresh = append(w.fresh, it.Content)
	case CheckFailed:
		w.failed = append(w.failed, it.Content)
	}
	return CheckResult{Status: status}
}

func (w *planWorld) failf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d: %s\nbefore: %q\nafter:  %q", w.seed, fmt.Sprintf(format, args...), lines(w.prev), lines(w.items()))
}

func (w *planWorld) items() []Item {
	s, err := w.p.Get(context.Background(), sess)
	require.NoError(w.t, err)
	return s.Todos
}

// step is one random thing that the model or the host does.
func (w *planWorld) step() {
	w.prev, w.fresh, w.failed = w.cur, nil, nil
	if len(w.prev) > 0 && w.rnd.IntN(3) == 0 {
		w.host()
		return
	}
	if w.rnd.IntN(6) > 0 {
		_, err := w.r.BeforeModel(context.Background(), Prompt{Boundary: "b"})
		require.NoError(w.t, err)
	}
	items := w.write()
	text, err := w.r.WriteTodos(context.Background(), "c", w.encode(items))
	require.NoError(w.t, err)
	res := parseResult(w.t, text)
	if res.Error != nil {
		w.stats["refused "+string(res.Error.Code)]++
		if s, _ := w.p.Get(context.Background(), sess); !slices.Equal(lines(w.prev), lines(s.Todos)) {
			w.failf("a refused write changed the list: %s", text)
		}
		return
	}
	w.stats["accepted"]++
	w.count()
}

// encode sends the list whole, or, now and then in Merge mode, says so.
func (w *planWorld) encode(items []Item) string {
	b := argsOf(items)
	if w.p.cfg.Updates == Merge && w.rnd.IntN(2) == 0 {
		return b[:len(b)-1] + `,"merge":false}`
	}
	return b
}

// write is a list that is often good: built from the list as it is, with a few things changed.
func (w *planWorld) write() []Item {
	items := cloneItems(w.prev)
	if len(items) == 0 {
		n := 1 + w.rnd.IntN(40)
		for i := range n {
			it := Item{ID: strconv.Itoa(i + 1), Content: "Step " + word(i), Status: StatusPending}
			for range w.rnd.IntN(3) {
				if j := w.rnd.IntN(n); j < i || w.rnd.IntN(60) == 0 {
					it.DependsOn = append(it.DependsOn, strconv.Itoa(j+1))
				}
			}
			items = append(items, it)
		}
		if w.rnd.IntN(10) == 0 {
			w.rnd.Shuffle(n, func(i, j int) { items[i], items[j] = items[j], items[i] })
		}
	}
	for range 1 + w.rnd.IntN(4) {
		i := w.rnd.IntN(len(items))
		switch w.rnd.IntN(12) {
		case 0: // any status at all
			items[i].Status = Statuses()[w.rnd.IntN(5)]
		case 1:
			items[i].Content = "Way " + word(w.rnd.IntN(100))
		case 2:
			items[i].ID = strconv.Itoa(1 + w.rnd.IntN(60)) // renamed, or doubled
		case 3:
			if len(items) > 1 {
				items = slices.Delete(items, i, i+1)
			}
		case 4:
			items = append(items, Item{Content: "Step " + word(w.rnd.IntN(60)), Status: StatusPending})
		case 5:
			items[i].DependsOn = append(items[i].DependsOn, strconv.Itoa(1+w.rnd.IntN(45)))
		case 6:
			items[i].DependsOn = nil
		default: // forward: finish what is in progress
			for j := range items {
				if items[j].Status == StatusInProgress {
					items[j].Status = StatusCompleted
				}
			}
		}
	}
	if w.rnd.IntN(8) > 0 { // mostly with one in progress
		first := -1
		for j := range items {
			if items[j].Status != StatusInProgress {
				continue
			}
			if first >= 0 {
				items[j].Status = StatusPending
			}
			first = j
		}
		if first < 0 {
			if n := nextActionable(items); n != nil {
				n.Status = StatusInProgress
			}
		}
	}
	if w.rnd.IntN(4) == 0 { // a whole chain at once
		for j := range items {
			if items[j].Status == StatusPending && len(waitsFor(items, j)) == 0 {
				items[j].Status = StatusCompleted
			}
		}
	}
	return items
}

func (w *planWorld) host() {
	ctx := context.Background()
	id := w.prev[w.rnd.IntN(len(w.prev))].ID
	var err error
	switch w.rnd.IntN(4) {
	case 0:
		_, err = w.p.Start(ctx, sess, id)
	case 1, 2:
		_, _, err = w.p.Finish(ctx, sess, id)
	case 3:
		content := "Host " + word(w.rnd.IntN(50))
		if _, err = w.p.Replan(ctx, sess, id, content); err == nil {
			delete(w.fails, content) // the host has the last word
		}
	}
	if err != nil {
		require.ErrorIs(w.t, err, ErrRule)
		w.stats["host refused"]++
		return
	}
	w.stats["host ok"]++
	w.count()
}

// hold checks what must be true after every step.
func (w *planWorld) hold() {
	s, err := w.p.Get(context.Background(), sess)
	require.NoError(w.t, err)
	items := s.Todos
	w.cur = cloneItems(items)
	inProgress := 0
	for i, it := range items {
		waits := []string{}
		for _, d := range it.DependsOn {
			j := find(items, d)
			if j < 0 {
				w.failf("item %s depends on %s, which is not there", it.ID, d)
			}
			if items[j].Status != StatusCompleted {
				waits = append(waits, d)
			}
		}
		switch it.Status {
		case StatusInProgress:
			inProgress++
			fallthrough
		case StatusCompleted:
			if len(waits) > 0 {
				w.failf("item %s is %s before %v", it.ID, it.Status, waits)
			}
		case StatusNeedsReplan:
			w.stats["stuck"]++
			if w.fails[it.Content] < w.p.cfg.MaxFailures {
				w.failf("item %s needs replanning after %d failures", it.ID, w.fails[it.Content])
			}
		}
		if it.Status == StatusCompleted {
			was := find(w.prev, it.ID)
			before := was >= 0 && w.prev[was].Status == StatusCompleted && w.prev[was].Content == it.Content
			if !before && !slices.Contains(w.fresh, it.Content) {
				w.failf("item %s is completed without a check that passed", it.ID)
			}
		}
		if it.Failures != w.fails[it.Content] {
			w.failf("item %s has %d failures, counted %d", it.ID, it.Failures, w.fails[it.Content])
		}
		if w.reaches(items, i, i, map[int]bool{}) {
			w.failf("item %s depends on itself", it.ID)
		}
	}
	if inProgress > 1 {
		w.failf("%d items are in progress", inProgress)
	}
	next, ok := s.Next()
	if ok {
		i := find(items, next.ID)
		if w.chainStuck(items, i, map[int]bool{}) {
			w.failf("the next item %s has needs_replan in its chain", next.ID)
		}
		if !items[i].Open() {
			w.failf("the next item %s is closed", next.ID)
		}
	}
	// Rule 4: nothing in progress only where the rules allow it, or where a check, the host or the limit took it away.
	if !ok && inProgress > 0 {
		w.failf("something is in progress and nothing is next")
	}
}

func (w *planWorld) reaches(items []Item, from, to int, seen map[int]bool) bool {
	for _, d := range items[from].DependsOn {
		j := find(items, d)
		if j == to {
			return true
		}
		if j >= 0 && !seen[j] {
			seen[j] = true
			if w.reaches(items, j, to, seen) {
				return true
			}
		}
	}
	return false
}

func (w *planWorld) chainStuck(items []Item, i int, seen map[int]bool) bool {
	if seen[i] {
		return false
	}
	seen[i] = true
	if items[i].Status == StatusNeedsReplan {
		return true
	}
	for _, d := range items[i].DependsOn {
		if j := find(items, d); j >= 0 && w.chainStuck(items, j, seen) {
			return true
		}
	}
	return false
}

// waysOut tries each way out of each needs_replan on a copy of the session: the rules accept it.
func (w *planWorld) waysOut() {
	for _, it := range w.items() {
		if it.Status != StatusNeedsReplan {
			continue
		}
		for _, way := range []string{"new content", "cancelled", "dropped", "replan"} {
			doc, _, err := w.p.store.Load(context.Background(), sess)
			require.NoError(w.t, err)
			store := NewMemoryStore()
			_, err = store.Save(context.Background(), sess, doc, "")
			require.NoError(w.t, err)
			cfg := w.p.cfg
			cfg.Store, cfg.Updates = store, Replace
			p, err := New(cfg)
			require.NoError(w.t, err)
			r, _ := p.Begin(sess, RunOptions{})
			if way == "replan" {
				_, err := p.Replan(context.Background(), sess, it.ID, it.Content)
				require.NoError(w.t, err)
				w.stats["way out"]++
				continue
			}
			items := w.items()
			i := find(items, it.ID)
			switch way {
			case "new content":
				items[i].Content, items[i].Status = "A wholly new approach", StatusPending
			case "cancelled":
				items[i].Status = StatusCancelled
			case "dropped":
				if items = slices.Delete(items, i, i+1); len(items) == 0 {
					continue // an empty list would lose an open item: rule 5
				}
				for j := range items {
					items[j].DependsOn = slices.DeleteFunc(items[j].DependsOn, func(id string) bool { return id == it.ID })
				}
			}
			if !slices.ContainsFunc(items, func(it Item) bool { return it.Status == StatusInProgress }) {
				if n := nextActionable(items); n != nil {
					n.Status = StatusInProgress
				}
			}
			text, err := r.WriteTodos(context.Background(), "c", argsOf(items))
			require.NoError(w.t, err)
			if res := parseResult(w.t, text); res.Error != nil {
				w.failf("no way out of needs_replan of %s by %s: %s", it.ID, way, res.Error.Message)
			}
			w.stats["way out"]++
		}
	}
}

// word spells a number, so that contents differ in more than signs.
func word(n int) string { return string(rune('a'+n/26)) + string(rune('a'+n%26)) }

// Whatever the order of writes, two planners that see the same steps come to the same document: the rules have no hidden state.
func TestPlansAreDeterministic(t *testing.T) {
	for seed := range 200 {
		var docs []string
		for range 2 {
			w := newPlanWorld(t, uint64(seed))
			w.r.rs.ID = "run"
			for range 5 {
				w.step()
				w.hold()
			}
			docs = append(docs, document(t, w.p.store))
		}
		require.Equal(t, docs[0], docs[1])
	}
}
