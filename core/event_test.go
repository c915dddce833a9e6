package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One run, event by event.
func TestEventsOfARun(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p, rec := newTest(t, Config{Now: func() time.Time { return now }, NewID: func() string { return "run" }})
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B")
	turn(t, r, "1 in_progress A", "2 pending B") // identical: none
	turnRaw(t, r, "{")                           // refused
	say(t, r, "Done.")
	turn(t, r, "1 completed A", "2 completed B")
	say(t, r, "Updated.")
	finish(t, r, "Updated.")
	finish(t, r, "Updated.") // once
	require.Equal(t, []EventKind{EventTurn, EventListChanged, EventTurn, EventTurn, EventWriteRefused, EventTurn, EventCorrected,
		EventTurn, EventListChanged, EventTurn, EventRunEnded}, rec.kinds())
	for _, e := range rec.events() {
		require.Equal(t, now, e.Time)
		require.Equal(t, sess, e.Session)
		require.Equal(t, "run", e.RunID)
	}
	changed := rec.events(EventListChanged)
	require.Equal(t, int64(1), changed[0].Revision)
	require.Equal(t, []string{"1 in_progress A", "2 pending B"}, lines(changed[0].Todos))
	require.Regexp(t, `^c\d+$`, changed[0].CallID)
	end := rec.events(EventRunEnded)[0]
	require.Equal(t, EndAnswered, end.Reason)
	require.Empty(t, end.Open)
	require.Equal(t, "Done.", end.Answer)
	require.Equal(t, []string{"Updated."}, end.Superseded)
}

// Events come after the commit: whoever gets one can read it in the store.
func TestEventsComeAfterTheCommit(t *testing.T) {
	var p *Planner
	var err error
	n := 0
	p, err = New(Config{OnEvent: func(ctx context.Context, e Event) {
		if e.Kind != EventListChanged {
			return
		}
		n++
		s, err := p.Get(ctx, e.Session)
		require.NoError(t, err)
		require.GreaterOrEqual(t, s.Revision, e.Revision)
		require.Equal(t, lines(s.Todos), lines(e.Todos))
	}})
	require.NoError(t, err)
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	turn(t, r, "1 completed A")
	seed(t, p, "1 completed A", "2 pending B")
	require.Equal(t, 3, n)
}

// One event a revision, in order, whoever wrote.
func TestEventsAreInOrderUnderConcurrency(t *testing.T) {
	const writers, each = 8, 20
	p, rec := newTest(t, Config{Limits: Limits{Items: 500}})
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				var err error
				if w%2 == 0 {
					_, err = p.Update(context.Background(), sess, func(items []Item) ([]Item, error) {
						return append(items, Item{Content: fmt.Sprintf("%d-%d", w, i)}), nil
					})
				} else {
					r, _ := p.Begin(sess, RunOptions{})
					_, err = r.WriteTodos(context.Background(), "c", `{"todos":[]}`) // refused, or no change
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, p.Clear(context.Background(), "other")) // draws what is still queued
	var got, want []int64
	for _, e := range rec.events(EventListChanged) {
		if e.Session == sess {
			got = append(got, e.Revision)
		}
	}
	for i := range writers / 2 * each {
		want = append(want, int64(i+1))
	}
	require.Equal(t, want, got)
}

// An observer may call the planner; what comes of it is told behind what it is being told.
func TestObserversMayCallBack(t *testing.T) {
	p, rec := newTest(t, Config{})
	stop := p.Observe(func(ctx context.Context, e Event) {
		if e.Kind == EventListChanged && e.Revision < 5 {
			_, err := p.Update(ctx, e.Session, func(items []Item) ([]Item, error) { return append(items, Item{Content: "More"}), nil })
			require.NoError(t, err)
			_, err = p.Get(ctx, e.Session)
			require.NoError(t, err)
		}
	})
	seed(t, p, "1 pending A")
	var got []int64
	for _, e := range rec.events() {
		got = append(got, e.Revision)
	}
	require.Equal(t, []int64{1, 2, 3, 4, 5}, got)
	stop()
	stop() // once more is no harm
	seed(t, p, "1 pending B")
	require.Len(t, rec.events(), 6)
}

// From inside an observer the same run can be asked, too: no lock is held.
func TestObserversMayAskTheRun(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	n := 0
	defer p.Observe(func(context.Context, Event) {
		r.State()
		_, ok := r.Held()
		require.False(t, ok)
		n++
	})()
	turn(t, r, "1 in_progress A")
	require.Equal(t, 2, n)
}

// What an observer does to an event is its own affair.
func TestEventsAreTheReceiversOwn(t *testing.T) {
	p, rec := newTest(t, Config{Dependencies: true})
	defer p.Observe(func(_ context.Context, e Event) {
		for i := range e.Todos {
			e.Todos[i].Content = "spoiled"
			for j := range e.Todos[i].DependsOn {
				e.Todos[i].DependsOn[j] = "spoiled"
			}
		}
	})()
	spoiled := &recorder{}
	defer p.Observe(spoiled.observe)()
	seed(t, p, "1 pending A", "2 pending B <- 1")
	for _, r := range []*recorder{rec, spoiled} {
		require.Equal(t, []string{"1 pending A", "2 pending B <- 1"}, lines(r.events()[0].Todos))
	}
	require.Equal(t, []string{"1 pending A", "2 pending B <- 1"}, storedLines(t, p))
}

// An observer that panics: the panic reaches whoever made the call, after what it tells of was stored. No lock stays held, other
// events still come.
func TestObserverThatPanics(t *testing.T) {
	p, rec := newTest(t, Config{})
	boom := true
	defer p.Observe(func(context.Context, Event) {
		if boom {
			boom = false
			panic("boom")
		}
	})()
	r := begin(t, p)
	require.PanicsWithValue(t, "boom", func() { _, _ = r.WriteTodos(t.Context(), "c", args("1 in_progress A")) })
	require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
	accepted(t, writeList(t, r, "1 completed A"))
	require.Len(t, rec.events(EventListChanged), 2)
}

// A store or a callback of the host that panics leaves no lock behind either.
func TestHostPanicsLeaveNoLock(t *testing.T) {
	store := faulty()
	p, _ := newTest(t, Config{Store: store})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	store.set(nil, func(int, func() (Version, error)) (Version, error) { panic("boom") })
	require.Panics(t, func() { _, _ = r.WriteTodos(t.Context(), "c", args("1 completed A")) })
	require.Panics(t, func() {
		_, _ = p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return nil, nil })
	})
	require.Panics(t, func() {
		_, _ = p.Update(t.Context(), sess, func([]Item) ([]Item, error) { panic("edit") })
	})
	store.set(nil, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.WriteTodos(context.Background(), "c", args("1 completed A"))
	}()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("a lock is held")
	}
	require.Equal(t, []string{"1 completed A"}, storedLines(t, p))
}

func TestNotify(t *testing.T) {
	now := time.Unix(7, 0)
	p, rec := newTest(t, Config{Now: func() time.Time { return now }})
	p.Notify(t.Context(), Event{Kind: "mine", Session: "x"})
	p.Notify(t.Context(), Event{Kind: "mine", Time: now.Add(1)})
	require.Equal(t, []Event{{Kind: "mine", Session: "x", Time: now}, {Kind: "mine", Time: now.Add(1)}}, rec.events())
}

// Frameworks that stream read responses, and run checks, to their end when a run is over already: nothing of that is told.
func TestNothingAfterTheEnd(t *testing.T) {
	var kinds []EventKind
	checking, goOn := make(chan struct{}), make(chan struct{})
	p, err := New(Config{
		OnEvent: func(_ context.Context, e Event) { kinds = append(kinds, e.Kind) },
		Checks: ForAll(func(context.Context, Item) CheckResult {
			close(checking)
			<-goOn
			return CheckResult{Status: CheckPassed}
		}),
	})
	require.NoError(t, err)
	r, err := p.Begin("s", RunOptions{})
	require.NoError(t, err)
	_, err = r.BeforeModel(t.Context(), Prompt{Boundary: "b"})
	require.NoError(t, err)
	late := make(chan error, 1)
	go func() {
		_, err := r.WriteTodos(t.Context(), "c1", `{"todos":[{"content":"A","status":"completed"}]}`)
		late <- err
	}()
	<-checking
	_, err = r.Finish(t.Context(), Outcome{Answer: "Done."})
	require.NoError(t, err)
	close(goOn)
	require.ErrorIs(t, <-late, ErrEnded, "a check that outlives the run completes nothing")
	v, err := r.AfterModel(t.Context(), Response{Text: "Late."})
	require.NoError(t, err)
	require.Equal(t, Accept, v.Action)
	tail, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b"})
	require.NoError(t, err)
	require.Empty(t, tail)
	_, err = r.WriteTodos(t.Context(), "c2", `{"todos":[{"content":"A","status":"in_progress"}]}`)
	require.ErrorIs(t, err, ErrEnded)
	require.Equal(t, []EventKind{EventRunEnded}, kinds)
	s, err := p.Get(t.Context(), "s")
	require.NoError(t, err)
	require.Empty(t, s.Todos)
}

// An observer may do with an event's slices what it likes.
func TestAnEventsSlicesAreTheReceiversOwn(t *testing.T) {
	spoil := func(_ context.Context, e Event) {
		for i := range e.Checks {
			e.Checks[i].Output = "spoiled"
		}
		for i := range e.Calls {
			e.Calls[i].Name = "spoiled"
		}
		for i := range e.Superseded {
			e.Superseded[i] = "spoiled"
		}
	}
	p, err := New(Config{OnEvent: spoil, Checks: ForAll(func(context.Context, Item) CheckResult {
		return CheckResult{Status: CheckPassed, Output: "fine"}
	})})
	require.NoError(t, err)
	rec := &recorder{}
	p.Observe(rec.observe)
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B")
	say(t, r, "First.")
	work(t, r)
	require.Equal(t, "fine", accepted(t, turn(t, r, "1 completed A", "2 in_progress B")).Checks[0].Output)
	finish(t, r, "Second.")
	text := fmt.Sprint(rec.events())
	require.Contains(t, text, "fine")
	require.Contains(t, text, "First.")
	require.NotContains(t, text, "spoiled")
}

// A run that ends by an error delivers that error: what it held is told as not delivered, unless the user had seen it.
func TestTheEndOfAFailedRunTellsWhatWasDelivered(t *testing.T) {
	for _, seen := range []bool{false, true} {
		p, rec := newTest(t, Config{})
		seed(t, p, "1 in_progress A")
		r, err := p.Begin(sess, RunOptions{Delivered: seen})
		require.NoError(t, err)
		before(t, r)
		require.Equal(t, Correct, say(t, r, "First.").Action)
		_, err = r.Finish(t.Context(), Outcome{Err: errors.New("a tool failed")})
		require.NoError(t, err)
		e := rec.events(EventRunEnded)[0]
		require.Equal(t, EndFailed, e.Reason)
		if seen {
			require.Equal(t, "First.", e.Answer)
			require.Empty(t, e.Superseded)
		} else {
			require.Empty(t, e.Answer)
			require.Equal(t, []string{"First."}, e.Superseded)
		}
	}
}
