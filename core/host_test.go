package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func ruleCode(t *testing.T, err error) Code {
	t.Helper()
	require.ErrorIs(t, err, ErrRule)
	var e *RuleError
	require.ErrorAs(t, err, &e)
	require.Contains(t, e.Error(), e.Advice)
	return e.Code
}

func TestUpdate(t *testing.T) {
	p, rec := newTest(t, Config{Dependencies: true})
	s, err := p.Update(t.Context(), sess, func(items []Item) ([]Item, error) {
		require.Empty(t, items)
		return []Item{{Content: " First\n"}, {ID: "x", Content: "Second", Status: StatusInProgress}, {Content: "Third", DependsOn: []string{"x"}}}, nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"1 pending First", "x in_progress Second", "2 pending Third <- x"}, lines(s.Todos))
	require.Equal(t, int64(1), s.Revision)
	require.Equal(t, Summary{Total: 3, Pending: 2, InProgress: 1}, s.Summary)
	e := rec.events()
	require.Len(t, e, 1)
	require.Equal(t, EventListChanged, e[0].Kind)
	require.Empty(t, e[0].RunID)
	// No change: no revision, no event.
	again, err := p.Update(t.Context(), sess, func(items []Item) ([]Item, error) { return items, nil })
	require.NoError(t, err)
	require.Equal(t, s, again)
	require.Len(t, rec.events(), 1)
	// Its own error comes back as it is; nothing changed.
	mine := errors.New("mine")
	_, err = p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return nil, mine })
	require.Equal(t, mine, err)
	// It may set any status and drop open items, which is said.
	s, err = p.Update(t.Context(), sess, func(items []Item) ([]Item, error) {
		items[0].Status = StatusNeedsReplan
		return items[:1], nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"1 needs_replan First"}, lines(s.Todos))
	e = rec.events()
	require.Equal(t, []string{"x in_progress Second", "2 pending Third <- x"}, lines(e[1].Dropped))
	_, err = p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return nil, nil })
	require.NoError(t, err)
}

func TestUpdateHoldsTheRules(t *testing.T) {
	for code, ls := range map[Code][]string{
		CodeNotOneInProgress:  {"1 in_progress A", "2 in_progress B"},
		CodeDuplicateID:       {"1 pending A", "1 pending B"},
		CodeEmptyContent:      {"1 pending "},
		CodeBadStatus:         {"1 paused A"},
		CodeUnknownDependency: {"1 pending A <- 7"},
		CodeDependencyCycle:   {"1 pending A <- 2", "2 pending B <- 1"},
		CodeBlocked:           {"1 pending A", "2 completed B <- 1"},
	} {
		p, rec := newTest(t, Config{Dependencies: true})
		_, err := p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return list(ls...), nil })
		require.Equal(t, code, ruleCode(t, err))
		require.Empty(t, storedLines(t, p))
		require.Empty(t, rec.events())
	}
}

// The host's edit runs anew on what another writer has stored: it loses nothing.
func TestUpdateRetriesAfterAConflict(t *testing.T) {
	store := faulty()
	p, _ := newTest(t, Config{Store: store})
	other, _ := newTest(t, Config{Store: store.Store})
	seed(t, p, "1 pending A")
	store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
		if n <= 2 {
			_, err := other.Update(t.Context(), sess, func(items []Item) ([]Item, error) { return append(items, Item{Content: "Other " + word(n)}), nil })
			require.NoError(t, err)
		}
		return save()
	})
	calls := 0
	s, err := p.Update(t.Context(), sess, func(items []Item) ([]Item, error) { calls++; return append(items, Item{Content: "Mine"}), nil })
	require.NoError(t, err)
	require.Equal(t, 3, calls)
	require.Equal(t, []string{"1 pending A", "2 pending Other ab", "3 pending Other ac", "4 pending Mine"}, lines(s.Todos))
	require.Equal(t, int64(4), s.Revision)
}

func TestHostDrivenUse(t *testing.T) {
	results := map[string]Check{"2": fail}
	p, rec := newTest(t, Config{Dependencies: true, Checks: func(it Item) Check {
		if c := results[it.ID]; c != nil {
			return c
		}
		return pass
	}})
	ctx := t.Context()
	seed(t, p, "1 pending A", "2 pending B", "3 pending C <- 2")
	next := func() string {
		it, ok, err := p.NextActionable(ctx, sess)
		require.NoError(t, err)
		if !ok {
			return ""
		}
		return it.ID
	}
	require.Equal(t, "1", next())
	s, err := p.Start(ctx, sess, "2")
	require.NoError(t, err)
	require.Equal(t, StatusInProgress, s.Todos[1].Status)
	require.Equal(t, "2", next(), "the one in progress comes first")
	it, ok, err := p.NextPending(ctx, sess)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "1", it.ID)

	_, err = p.Start(ctx, sess, "1")
	require.Equal(t, CodeNotOneInProgress, ruleCode(t, err))
	require.ErrorContains(t, err, `Item 2 ("B")`)
	_, err = p.Start(ctx, sess, "2")
	require.NoError(t, err, "once more changes nothing")
	_, err = p.Start(ctx, sess, "9")
	require.Equal(t, CodeUnknownItem, ruleCode(t, err))
	_, _, err = p.Finish(ctx, sess, "3")
	require.Equal(t, CodeBlocked, ruleCode(t, err))
	_, _, err = p.Finish(ctx, sess, "9")
	require.Equal(t, CodeUnknownItem, ruleCode(t, err))
	_, err = p.Replan(ctx, sess, "9", "x")
	require.Equal(t, CodeUnknownItem, ruleCode(t, err))

	s, reports, err := p.Finish(ctx, sess, "2")
	require.NoError(t, err, "a failed check is no error")
	require.Equal(t, []CheckReport{{ID: "2", Status: CheckFailed, Output: "1 test failed", Failures: 1}}, reports)
	require.Equal(t, StatusInProgress, s.Todos[1].Status)
	require.Equal(t, 1, s.Todos[1].Failures)
	require.Equal(t, "1 test failed", s.Todos[1].LastOutput)
	s, _, err = p.Finish(ctx, sess, "2")
	require.NoError(t, err)
	require.Equal(t, StatusNeedsReplan, s.Todos[1].Status)
	require.Equal(t, "1", next(), "never an item whose chain holds needs_replan")
	_, err = p.Start(ctx, sess, "2")
	require.Equal(t, CodeNeedsReplan, ruleCode(t, err))
	_, _, err = p.Finish(ctx, sess, "2")
	require.Equal(t, CodeNeedsReplan, ruleCode(t, err))
	_, reports, err = p.Finish(ctx, sess, "1")
	require.NoError(t, err)
	require.Equal(t, CheckPassed, reports[0].Status)
	require.Empty(t, next())
	_, ok, err = p.NextPending(ctx, sess)
	require.NoError(t, err)
	require.True(t, ok, "C is pending, though blocked")

	_, err = p.Replan(ctx, sess, "2", " ")
	require.Equal(t, CodeEmptyContent, ruleCode(t, err))
	_, err = p.Replan(ctx, sess, "1", "x")
	require.Equal(t, CodeBadStatus, ruleCode(t, err), "it is completed")
	s, err = p.Replan(ctx, sess, "2", "B, another way")
	require.NoError(t, err)
	require.Equal(t, "2 pending B, another way", lines(s.Todos)[1])
	require.Zero(t, s.Todos[1].Failures)
	delete(results, "2")
	_, _, err = p.Finish(ctx, sess, "2")
	require.NoError(t, err)
	_, _, err = p.Finish(ctx, sess, "3")
	require.NoError(t, err)
	require.Empty(t, next())
	_, ok, err = p.NextPending(ctx, sess)
	require.NoError(t, err)
	require.False(t, ok)
	_, err = p.Start(ctx, sess, "3")
	require.Equal(t, CodeBadStatus, ruleCode(t, err))
	n := len(rec.events())
	_, reports, err = p.Finish(ctx, sess, "3")
	require.NoError(t, err)
	require.Empty(t, reports, "finishing what is finished runs no check")
	require.Len(t, rec.events(), n)
	for i, e := range rec.events(EventListChanged) {
		require.Equal(t, int64(i+1), e.Revision)
	}
	seed(t, p, "1 cancelled A")
	_, err = p.Start(ctx, sess, "1")
	require.Equal(t, CodeBadStatus, ruleCode(t, err))
	_, _, err = p.Finish(ctx, sess, "1")
	require.Equal(t, CodeBadStatus, ruleCode(t, err))
}

// The host's last word: Replan with the same content starts at zero.
func TestReplanResetsFailures(t *testing.T) {
	p, _ := newTest(t, Config{MaxFailures: 1, Checks: ForAll(fail)})
	seed(t, p, "1 pending A")
	_, _, err := p.Finish(t.Context(), sess, "1")
	require.NoError(t, err)
	s, err := p.Replan(t.Context(), sess, "1", "A")
	require.NoError(t, err)
	require.Equal(t, StatusPending, s.Todos[0].Status)
	require.Zero(t, s.Todos[0].Failures)
	_, err = p.Start(t.Context(), sess, "1")
	require.NoError(t, err)
}

// The check of a host's Finish runs once, also when the save has to be retried, and with no lock held.
func TestFinishChecksOnce(t *testing.T) {
	store := faulty()
	var p *Planner
	runs := 0
	p, _ = newTest(t, Config{Store: store, Checks: ForAll(func(ctx context.Context, _ Item) CheckResult {
		runs++
		_, err := p.Update(ctx, sess, func(items []Item) ([]Item, error) { return append(items, Item{Content: "From a check"}), nil })
		require.NoError(t, err)
		return CheckResult{Status: CheckPassed}
	})})
	seed(t, p, "1 in_progress A")
	s, _, err := p.Finish(t.Context(), sess, "1")
	require.NoError(t, err)
	require.Equal(t, 1, runs)
	require.Equal(t, []string{"1 completed A", "2 pending From a check"}, lines(s.Todos))
}

// The list's revision changes only when the list does: a failure is counted in the document alone.
func TestFinishThatFailsIsNoNewRevision(t *testing.T) {
	p, rec := newTest(t, Config{MaxFailures: 3, Checks: ForAll(fail)})
	seed(t, p, "1 in_progress A")
	s, reports, err := p.Finish(t.Context(), sess, "1")
	require.NoError(t, err)
	require.Equal(t, 1, reports[0].Failures)
	require.Equal(t, 1, s.Todos[0].Failures)
	require.Equal(t, int64(1), s.Revision)
	require.Len(t, rec.events(EventListChanged), 1)
	require.Equal(t, reports, rec.events(EventChecked)[0].Checks, "but the check is told")
	// As it is when the model tries.
	r := begin(t, p)
	res := accepted(t, turn(t, r, "1 completed A"))
	require.Equal(t, int64(1), res.Revision)
	require.Equal(t, 2, res.Checks[0].Failures)
	require.Len(t, rec.events(EventListChanged), 1)
	require.Len(t, rec.events(EventChecked), 2)
	require.Equal(t, 2, rec.events(EventChecked)[1].Checks[0].Failures)
}

func TestClear(t *testing.T) {
	p, rec := newTest(t, Config{Checks: ForAll(fail), MaxFailures: 1})
	seed(t, p, "1 in_progress A")
	_, _, err := p.Finish(t.Context(), sess, "1")
	require.NoError(t, err)
	require.NoError(t, p.Clear(t.Context(), sess))
	e := rec.events(EventListChanged)
	require.Empty(t, e[len(e)-1].Todos)
	require.Zero(t, e[len(e)-1].Revision)
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, Snapshot{}, s)
	accepted(t, turn(t, begin(t, p), "1 in_progress A")) // its failures are gone, too
	require.NoError(t, p.Clear(t.Context(), "never there"))
}

func TestSnapshotNext(t *testing.T) {
	for want, ls := range map[string][]string{
		"2": {"1 pending A", "2 in_progress B"},
		"1": {"1 pending A", "2 pending B"},
		"":  {"1 completed A", "2 needs_replan B", "3 pending C <- 2", "4 pending D <- 3", "5 cancelled E", "6 pending F <- 5"},
		"7": {"2 needs_replan B", "3 pending C <- 2", "7 pending G"},
	} {
		it, ok := Snapshot{Todos: list(ls...)}.Next()
		require.Equal(t, want != "", ok)
		require.Equal(t, want, it.ID)
	}
	require.Equal(t, []string{"2 in_progress B", "1 pending A", "3 needs_replan C"},
		lines(Snapshot{Todos: list("1 pending A", "2 in_progress B", "3 needs_replan C", "4 completed D")}.Open()))
}

func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, _ := newTest(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seed(t, p, "1 in_progress A")
	ch, err := p.Watch(ctx, sess, "")
	require.NoError(t, err)
	u := <-ch
	require.NoError(t, u.Err)
	require.Equal(t, []string{"1 in_progress A"}, lines(u.Todos), "what it is now comes first")
	seed(t, p, "1 completed A")
	u = <-ch
	require.Equal(t, int64(2), u.Revision)
	// Bookkeeping is no change of the list.
	seed(t, p, "1 in_progress A")
	u = <-ch
	require.Equal(t, int64(3), u.Revision)
	r := begin(t, p)
	require.Equal(t, Correct, say(t, r, "x").Action)
	seed(t, p, "1 completed A")
	u = <-ch
	require.Equal(t, int64(4), u.Revision)
	token := u.Token
	require.NoError(t, p.Clear(t.Context(), sess))
	u = <-ch
	require.Zero(t, u.Revision)
	require.Empty(t, u.Todos)
	cancel()
	for range ch { //nolint:revive // closed once ctx is done
	}

	// A token resumes behind what it stands for; an outdated one begins with what is now.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	ch, err = p.Watch(ctx, sess, token)
	require.NoError(t, err)
	u = <-ch
	require.Zero(t, u.Revision)
	seed(t, p, "1 pending New")
	u = <-ch
	require.Equal(t, int64(1), u.Revision)
	ch2, err := p.Watch(ctx, sess, u.Token)
	require.NoError(t, err)
	seed(t, p, "1 pending Newer")
	require.Equal(t, int64(2), (<-ch2).Revision, "not once more what it had")
	require.Equal(t, int64(2), (<-ch).Revision)
	cancel()
	for range ch { //nolint:revive // closed
	}
	for range ch2 { //nolint:revive // closed
	}
}

func TestWatchErrors(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, _ := newTest(t, Config{Store: struct{ Store }{NewMemoryStore()}}) // no Watcher
	_, err := p.Watch(t.Context(), sess, "")
	require.ErrorIs(t, err, errors.ErrUnsupported)

	store := NewMemoryStore()
	_, err = store.Save(t.Context(), sess, []byte("garbage"), "")
	require.NoError(t, err)
	p, _ = newTest(t, Config{Store: store})
	ch, err := p.Watch(t.Context(), sess, "")
	require.NoError(t, err)
	u, ok := <-ch
	require.True(t, ok)
	require.ErrorIs(t, u.Err, ErrCorrupt)
	_, ok = <-ch
	require.False(t, ok, "then it is closed, and the store's watch with it")
	_, err = p.Watch(t.Context(), "", "")
	require.ErrorIs(t, err, ErrNoSession)
}

// Depth and breadth of a list do not matter to the search for circles.
func TestCycle(t *testing.T) {
	var chain []Item
	for i := range 10_000 {
		it := Item{ID: formatID(int64(i)), Content: "x", Status: StatusPending}
		if i > 0 {
			it.DependsOn = []string{formatID(int64(i - 1))}
		}
		chain = append(chain, it)
	}
	require.Nil(t, cycle(chain))
	chain[0].DependsOn = []string{"9999"}
	require.Len(t, cycle(chain), 10_001)
	for _, c := range []struct {
		ls   []string
		want []string
	}{
		{[]string{"1 pending A <- 2", "2 pending B <- 3", "3 pending C <- 2"}, []string{"2", "3", "2"}},
		{[]string{"1 pending A <- 1"}, []string{"1", "1"}},
		{[]string{"1 pending A", "2 pending B <- 1", "3 pending C <- 1,2"}, nil},
	} {
		require.Equal(t, c.want, cycle(list(c.ls...)))
	}
}

func TestRuleErrorIsData(t *testing.T) {
	p, _ := newTest(t, Config{})
	_, err := p.Start(t.Context(), sess, "x")
	var e *RuleError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "x", e.Item)
	require.True(t, json.Valid([]byte(refusal(e, nil))))
}

// A stored list may come from elsewhere: whatever it holds, what stands on an item that needs replanning is not next.
func TestNextIsNeverOnAStuckChain(t *testing.T) {
	p, _ := newTest(t, Config{Dependencies: true})
	doc := `{"todos":[{"id":"1","content":"A","status":"needs_replan"},{"id":"2","content":"B","status":"completed","depends_on":["1"]},` +
		`{"id":"3","content":"C","status":"in_progress","depends_on":["2","9","3"]},{"id":"4","content":"D","status":"pending"%s}]}`
	for deps, want := range map[string]string{"": "4", `,"depends_on":["2"]`: ""} {
		require.NoError(t, p.Clear(t.Context(), sess))
		_, err := p.store.Save(t.Context(), sess, fmt.Appendf(nil, doc, deps), "")
		require.NoError(t, err)
		it, ok, err := p.NextActionable(t.Context(), sess)
		require.NoError(t, err)
		require.Equal(t, want, it.ID)
		require.Equal(t, want != "", ok)
	}
}
