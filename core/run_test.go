package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// goOn lets a run go on without the list.
func goOn(context.Context, error) error { return nil }

func TestBeginNeedsASession(t *testing.T) {
	p, _ := newTest(t, Config{})
	_, err := p.Begin("", RunOptions{})
	require.ErrorIs(t, err, ErrNoSession)
	_, err = p.Resume(RunState{ID: "x"})
	require.ErrorIs(t, err, ErrNoSession)
	_, err = p.Get(t.Context(), "")
	require.ErrorIs(t, err, ErrNoSession)
	require.ErrorIs(t, p.Clear(t.Context(), ""), ErrNoSession)
	_, err = p.Update(t.Context(), "", func(i []Item) ([]Item, error) { return i, nil })
	require.ErrorIs(t, err, ErrNoSession)

	_, ok := SessionFrom(t.Context())
	require.False(t, ok)
	_, ok = SessionFrom(WithSession(t.Context(), ""))
	require.False(t, ok)
	id, ok := SessionFrom(WithSession(t.Context(), " odd id\n"))
	require.True(t, ok)
	require.Equal(t, " odd id\n", id, "used as it is")
}

func TestUnknownToolIsAConfigError(t *testing.T) {
	p, _ := newTest(t, Config{})
	_, err := begin(t, p).CallTool(t.Context(), Call{Name: "search"})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, `"search"`)
}

func TestIDs(t *testing.T) {
	n := 0
	p, _ := newTest(t, Config{NewID: func() string { n++; return "run-" + strconv.Itoa(n) }})
	require.Equal(t, "run-1", begin(t, p).ID())
	r := begin(t, p)
	require.Equal(t, "run-2", r.State().ID)
	turn(t, r, "1 in_progress A")
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, "run-2", s.RunID)
	q, _ := newTest(t, Config{})
	require.NotEqual(t, begin(t, q).ID(), begin(t, q).ID())
}

// seams are all calls that do I/O. Each is made on a session with an open list, in a run that has seen it.
func seams() map[string]func(*testing.T, *Planner, *Run) error {
	return map[string]func(*testing.T, *Planner, *Run) error{
		"BeforeModel": func(t *testing.T, _ *Planner, r *Run) error {
			_, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b1"})
			return err
		},
		"AfterModel": func(t *testing.T, _ *Planner, r *Run) error {
			v, err := r.AfterModel(t.Context(), Response{Text: "Done."})
			require.Equal(t, Verdict{}, v)
			return err
		},
		"CallTool": func(t *testing.T, _ *Planner, r *Run) error {
			text, err := r.WriteTodos(t.Context(), "c", args("1 completed A"))
			if err == nil {
				refused(t, parseResult(t, text), CodeNotSaved)
			}
			return err
		},
		"Finish": func(t *testing.T, _ *Planner, r *Run) error {
			got, err := r.Finish(t.Context(), Outcome{Answer: "Done."})
			require.Equal(t, "Done.", got, "a store that fails costs no answer")
			return err
		},
		"Update": func(t *testing.T, p *Planner, _ *Run) error {
			_, err := p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return nil, nil })
			return err
		},
		"Start": func(t *testing.T, p *Planner, _ *Run) error { _, err := p.Start(t.Context(), sess, "2"); return err },
		"Done": func(t *testing.T, p *Planner, _ *Run) error {
			_, _, err := p.Finish(t.Context(), sess, "1")
			return err
		},
		"Replan": func(t *testing.T, p *Planner, _ *Run) error {
			_, err := p.Replan(t.Context(), sess, "1", "B")
			return err
		},
		"Get": func(t *testing.T, p *Planner, _ *Run) error { _, err := p.Get(t.Context(), sess); return err },
	}
}

var storeErrors = []error{ErrUnavailable, ErrUnknown, ErrDenied, ErrFull, ErrCorrupt, errors.New("anything"), context.DeadlineExceeded}

// The store fails at each seam, at each call it makes, in each way: a typed error, nothing stored, no event of a change.
func TestStoreFailsAtEachSeam(t *testing.T) {
	for name, f := range seams() {
		for _, fail := range storeErrors {
			for _, where := range []string{"load", "save"} {
				t.Run(fmt.Sprintf("%s/%s/%v", name, where, fail), func(t *testing.T) {
					store := faulty()
					p, rec := newTest(t, Config{Store: store})
					seed(t, p, "1 in_progress A", "2 pending B")
					r := begin(t, p)
					before(t, r)
					doc := document(t, store)
					if where == "load" {
						store.set(func(int) error { return fail }, nil)
						if name == "AfterModel" || name == "CallTool" || name == "Finish" {
							r, _ = p.Resume(r.State()) // else the list is at hand
						}
					} else {
						store.set(nil, func(int, func() (Version, error)) (Version, error) { return "", fail })
						if name == "Finish" {
							r.rs.Corrections++ // something to save
							r.st.RunID = r.rs.ID
						}
					}
					n := len(rec.events(EventListChanged))
					err := f(t, p, r)
					loads, saves := store.counts()
					if where == "load" {
						require.Equal(t, 1, loads, "not retried")
						require.Zero(t, saves)
					} else if name != "Get" && name != "BeforeModel" && name != "Start" {
						require.Equal(t, 1, saves, "not retried: the outcome may be unknown")
					}
					if where == "load" || saves > 0 {
						require.ErrorIs(t, err, fail)
						require.ErrorContains(t, err, where+` "s"`)
					}
					store.set(nil, nil)
					require.Equal(t, doc, document(t, store))
					require.Len(t, rec.events(EventListChanged), n)
				})
			}
		}
	}
}

// OnStoreError is asked, and may replace the error.
func TestOnStoreErrorDecides(t *testing.T) {
	store := faulty()
	mine := errors.New("mine")
	var asked []error
	p, _ := newTest(t, Config{Store: store, OnStoreError: func(_ context.Context, err error) error {
		asked = append(asked, err)
		return fmt.Errorf("%w: %w", mine, err)
	}})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	store.set(func(int) error { return ErrUnavailable }, nil)
	_, err := r.BeforeModel(t.Context(), Prompt{})
	require.ErrorIs(t, err, mine)
	require.ErrorIs(t, err, ErrUnavailable)
	require.Len(t, asked, 1)
	require.ErrorIs(t, asked[0], ErrUnavailable)
}

// It is not asked about a cancelled run: cancelled stays cancelled.
func TestCancelledStaysCancelled(t *testing.T) {
	p, _ := newTest(t, Config{OnStoreError: func(context.Context, error) error { t.Error("asked"); return nil }})
	seed(t, p, "1 in_progress A")
	for _, f := range []func(context.Context, *Run) error{
		func(ctx context.Context, r *Run) error { _, err := r.BeforeModel(ctx, Prompt{}); return err },
		func(ctx context.Context, r *Run) error {
			_, err := r.WriteTodos(ctx, "c", args("1 completed A"))
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, f(ctx, begin(t, p)), context.Canceled)
	}
	// Finish works all the same, and says so.
	rec := &recorder{}
	defer p.Observe(rec.observe)()
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B")
	require.Equal(t, Correct, say(t, r, "Held.").Action)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := r.Finish(ctx, Outcome{Err: fmt.Errorf("model: %w", context.Canceled)})
	require.NoError(t, err)
	require.Equal(t, "Held.", got)
	e := rec.events(EventRunEnded)
	require.Len(t, e, 1)
	require.Equal(t, EndCancelled, e[0].Reason)
	require.ErrorIs(t, e[0].Err, context.Canceled)
	require.Len(t, e[0].Open, 2)
}

func TestEndReasons(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		o    Outcome
		want EndReason
	}{
		{Outcome{Answer: "x"}, EndAnswered},
		{Outcome{Err: context.Canceled}, EndCancelled},
		{Outcome{Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}, EndCancelled},
		{Outcome{Err: boom}, EndFailed},
		{Outcome{Err: boom, Reason: EndMaxIterations}, EndMaxIterations},
		{Outcome{Reason: EndReturned}, EndReturned},
	} {
		p, rec := newTest(t, Config{})
		_, err := begin(t, p).Finish(t.Context(), c.o)
		require.NoError(t, err)
		e := rec.events()
		require.Len(t, e, 1)
		require.Equal(t, EventRunEnded, e[0].Kind)
		require.Equal(t, c.want, e[0].Reason)
		require.Equal(t, c.o.Err, e[0].Err)
	}
}

// An interrupted run is paused, keeps its held answer, and ends once after it was resumed.
func TestInterruptedRunGoesOn(t *testing.T) {
	p, rec := newTest(t, Config{})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	require.Equal(t, Correct, say(t, r, "Held.").Action)
	_, err := r.Finish(t.Context(), Outcome{Reason: EndInterrupted})
	require.NoError(t, err)
	require.Empty(t, rec.events(EventRunEnded))
	require.Len(t, rec.events(EventRunPaused), 1)
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, "Held.", s.HeldAnswer)
	r, err = p.Resume(r.State())
	require.NoError(t, err)
	turn(t, r, "1 completed A")
	require.Equal(t, "Held.", finish(t, r, "Ok."))
	require.Len(t, rec.events(EventRunEnded), 1)
}

// OnStoreError lets the run go on: the model is told that nothing was saved, the guard is silent, nothing is overwritten.
func TestGoOnWithoutTheList(t *testing.T) {
	store := faulty()
	p, rec := newTest(t, Config{Store: store, OnStoreError: goOn})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	require.NotEmpty(t, before(t, r))
	doc := document(t, store)
	down := func() {
		store.set(func(int) error { return ErrUnavailable }, func(int, func() (Version, error)) (Version, error) { return "", ErrUnavailable })
	}
	down()
	require.Empty(t, before(t, r))
	res := refused(t, turn(t, r, "1 completed A"), CodeNotSaved)
	require.Nil(t, res.Summary, "the list is not known")
	require.NotContains(t, res.raw, `"todos"`)
	work(t, r)
	require.Equal(t, Accept, say(t, r, "Done.").Action)
	require.Equal(t, "Done.", finish(t, r, "Done."))
	require.Empty(t, rec.events(EventCorrected))
	require.Len(t, rec.events(EventListChanged), 1)
	require.Len(t, rec.events(EventRunEnded), 1)
	store.set(nil, nil)
	require.Equal(t, doc, document(t, store))
}

// The store comes back with a list that the model has not seen: its write is stale, not an overwrite.
func TestStoreComesBack(t *testing.T) {
	down := func(s *faultyStore) { s.set(func(int) error { return ErrUnavailable }, nil) }
	t.Run("list unseen", func(t *testing.T) {
		store := faulty()
		p, _ := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		down(store)
		require.Empty(t, before(t, r))
		store.set(nil, nil)
		after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
		res := refused(t, writeList(t, r, "1 in_progress Mine"), CodeStaleWrite)
		require.Equal(t, []string{"1 in_progress A"}, lines(res.Todos))
		require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
		accepted(t, writeList(t, r, "1 completed A")) // it has seen it now
	})
	t.Run("list unseen, of schema 0", func(t *testing.T) {
		store := faulty()
		p, rec := newTest(t, Config{Store: store, OnStoreError: goOn})
		_, err := store.Store.Save(t.Context(), sess, []byte(`{"todos":[{"id":"1","content":"A","status":"in_progress"}]}`), "") // its revision is 0
		require.NoError(t, err)
		r := begin(t, p)
		down(store)
		require.Empty(t, before(t, r))
		after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
		lost, err := r.WriteTodos(t.Context(), "c", args("1 in_progress Mine"))
		require.NoError(t, err)
		require.Contains(t, lost, "not_saved")
		require.Equal(t, "c", rec.events(EventWriteRefused)[0].CallID)
		store.set(nil, nil)
		refused(t, writeList(t, r, "1 in_progress Mine"), CodeStaleWrite)
		require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
	})
	t.Run("no list", func(t *testing.T) {
		store := faulty()
		p, _ := newTest(t, Config{Store: store, OnStoreError: goOn})
		r := begin(t, p)
		down(store)
		require.Empty(t, before(t, r))
		store.set(nil, nil)
		accepted(t, writeList(t, r, "1 in_progress Mine"))
	})
	t.Run("list seen before", func(t *testing.T) {
		store := faulty()
		p, _ := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		down(store)
		require.Empty(t, before(t, r))
		store.set(nil, nil)
		accepted(t, writeList(t, r, "1 completed A"))
	})
	t.Run("seen before, changed since", func(t *testing.T) {
		store := faulty()
		p, _ := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		down(store)
		require.Empty(t, before(t, r))
		store.set(nil, nil)
		seed(t, p, "1 in_progress A", "2 pending B")
		refused(t, writeList(t, r, "1 completed A"), CodeStaleWrite)
	})
	t.Run("the guard is on again", func(t *testing.T) {
		store := faulty()
		p, _ := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		down(store)
		require.Equal(t, Accept, say(t, r, "x").Action)
		store.set(nil, nil)
		require.Equal(t, Correct, say(t, r, "x").Action)
	})
	t.Run("the store fails at the correction", func(t *testing.T) {
		store := faulty()
		p, rec := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		store.set(nil, func(int, func() (Version, error)) (Version, error) { return "", ErrUnavailable })
		require.Equal(t, Accept, after(t, r, Response{Text: "Done."}).Action, "without its place in the store no answer is held back")
		require.Equal(t, "Done.", finish(t, r, "Done."))
		require.Empty(t, rec.events(EventCorrected))
	})
}

// An unknown outcome is never taken for stored, and never written a second time.
func TestUnknownOutcome(t *testing.T) {
	for _, stored := range []bool{false, true} {
		store := faulty()
		p, rec := newTest(t, Config{Store: store, OnStoreError: goOn})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
		store.set(nil, func(_ int, save func() (Version, error)) (Version, error) {
			if stored {
				_, err := save()
				require.NoError(t, err)
			}
			return "", ErrUnknown
		})
		refused(t, writeList(t, r, "1 completed A", "2 in_progress B"), CodeNotSaved)
		_, saves := store.counts()
		require.Equal(t, 1, saves)
		require.Len(t, rec.events(EventListChanged), 1)
		store.set(nil, nil)
		tail := before(t, r) // the model sees what came of it
		if stored {
			require.Contains(t, tail, "2 [in_progress] B")
		} else {
			require.Contains(t, tail, "1 [in_progress] A")
		}
	}
}

// A conflict over bookkeeping alone is retried: the list is as the model saw it. Checks run once for all of it.
func TestBookkeepingConflictIsRetried(t *testing.T) {
	store := faulty()
	var runs []string
	p, rec := newTest(t, Config{Store: store, Checks: ForAll(func(_ context.Context, it Item) CheckResult {
		runs = append(runs, it.ID)
		return CheckResult{Status: CheckFailed, Output: "no"}
	})})
	seed(t, p, "1 in_progress A", "2 pending B")
	r := begin(t, p)
	before(t, r)
	after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
	store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
		if n <= 3 { // another run counts its turns in between, three times
			st, v, err := p.load(t.Context(), sess)
			require.NoError(t, err)
			st.Stale, st.RunID = 40+n, "other"
			doc, err := st.encode()
			require.NoError(t, err)
			_, err = store.Store.Save(t.Context(), sess, doc, v)
			require.NoError(t, err)
		}
		return save()
	})
	res := accepted(t, writeList(t, r, "1 completed A", "2 in_progress B"))
	_, saves := store.counts()
	require.Equal(t, 4, saves)
	require.Equal(t, []string{"1"}, runs, "once per write, not once per retry")
	require.Equal(t, []string{"1 pending A", "2 in_progress B"}, lines(res.Todos))
	require.Equal(t, 1, res.Checks[0].Failures, "counted once")
	require.Equal(t, int64(2), res.Revision)
	require.Len(t, rec.events(EventListChanged), 2)
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, 1, s.Todos[0].Failures)
}

// A conflict over the list is a stale write: it is never retried blindly.
func TestListConflictIsStale(t *testing.T) {
	for _, bare := range []bool{false, true} {
		store := faulty()
		p, rec := newTest(t, Config{Store: store})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
		other, _ := newTest(t, Config{Store: store.Store})
		store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
			if n == 1 {
				seed(t, other, "1 in_progress A", "2 pending Host")
			}
			v, err := save()
			if err != nil && bare { // a store that does not bring the document with the conflict
				err = ErrConflict
			}
			return v, err
		})
		res := refused(t, writeList(t, r, "1 completed A"), CodeStaleWrite)
		require.Equal(t, []string{"1 in_progress A", "2 pending Host"}, lines(res.Todos))
		require.Equal(t, []string{"1 in_progress A", "2 pending Host"}, storedLines(t, p))
		require.Len(t, rec.events(EventListChanged), 1, "the seed's; the host's is another process")
		require.Len(t, rec.events(EventWriteRefused), 1)
	}
}

// The guard decides anew when another writer was first.
func TestConflictAtTheCorrection(t *testing.T) {
	store := faulty()
	p, rec := newTest(t, Config{Store: store})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	before(t, r)
	other, _ := newTest(t, Config{Store: store.Store})
	store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
		if n == 1 {
			seed(t, other, "1 completed A")
		}
		return save()
	})
	require.Equal(t, Accept, after(t, r, Response{Text: "Done."}).Action, "nothing is open any more")
	require.Empty(t, rec.events(EventCorrected))
	require.Equal(t, "Done.", finish(t, r, "Done."))
	require.Zero(t, r.State().Corrections)
}

// Many runs on one session, each from its own process: every accepted write is in the list, none is lost.
func TestConcurrentRunsLoseNothing(t *testing.T) {
	const runs, each = 16, 5
	store := NewMemoryStore()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var want []string
	for i := range runs {
		wg.Go(func() {
			p, err := New(Config{Store: store, Limits: Limits{Items: 200}})
			if err != nil {
				t.Error(err)
				return
			}
			r, _ := p.Begin(sess, RunOptions{})
			for n := range each {
				content := fmt.Sprintf("run %d write %d", i, n)
				for {
					if _, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b"}); err != nil {
						t.Error(err)
						return
					}
					s, err := p.Get(t.Context(), sess)
					if err != nil {
						t.Error(err)
						return
					}
					status := StatusPending
					if len(s.Todos) == 0 {
						status = StatusInProgress
					}
					items := append(s.Todos, Item{ID: fmt.Sprintf("%d-%d", i, n), Content: content, Status: status})
					text, err := r.WriteTodos(t.Context(), "c", argsOf(items))
					if err != nil {
						t.Error(err)
						return
					}
					res := parseResult(t, text)
					if res.Error == nil {
						mu.Lock()
						want = append(want, content)
						mu.Unlock()
						break
					}
					if res.code() != CodeStaleWrite {
						t.Errorf("%s", text)
						return
					}
				}
			}
			if _, err := r.Finish(t.Context(), Outcome{Answer: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	p, _ := newTest(t, Config{Store: store})
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	var got []string
	for _, it := range s.Todos {
		got = append(got, it.Content)
	}
	slices.Sort(got)
	slices.Sort(want)
	require.Equal(t, want, got)
	require.Len(t, got, runs*each)
	require.Equal(t, int64(runs*each), s.Revision)
}

// While the host's checks run no lock is held: the other seams of the same run work, and what they save is not lost.
func TestSeamsDuringAWrite(t *testing.T) {
	for name, during := range map[string]func(*testing.T, *Planner, *Run){
		"BeforeModel": func(t *testing.T, _ *Planner, r *Run) { before(t, r) },
		"AfterModel":  func(t *testing.T, _ *Planner, r *Run) { after(t, r, Response{Text: "Done."}) },
		"State":       func(t *testing.T, _ *Planner, r *Run) { r.State() },
		"Observe": func(t *testing.T, _ *Planner, r *Run) {
			r.Observe(Call{ID: "o", Name: DefaultToolName, Args: args("1 in_progress A")}, `{"todos":[],"summary":{},"revision":1}`)
		},
		"the host's bookkeeping": func(t *testing.T, p *Planner, r *Run) {
			other := begin(t, p)
			require.Equal(t, Correct, say(t, other, "Held by another run.").Action)
			before(t, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p *Planner
			var r *Run
			runs := 0
			p, _ = newTest(t, Config{Checks: ForAll(func(context.Context, Item) CheckResult {
				if runs++; runs == 1 {
					during(t, p, r)
				}
				return CheckResult{Status: CheckPassed}
			})})
			seed(t, p, "1 in_progress A", "2 pending B")
			r = begin(t, p)
			before(t, r)
			after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
			res := accepted(t, writeList(t, r, "1 completed A", "2 in_progress B"))
			require.Equal(t, int64(2), res.Revision)
			require.Equal(t, 1, runs)
			require.Equal(t, []string{"1 completed A", "2 in_progress B"}, storedLines(t, p))
		})
	}
	t.Run("a list change of the host shown meanwhile", func(t *testing.T) {
		var p *Planner
		var r *Run
		p, _ = newTest(t, Config{Checks: ForAll(func(context.Context, Item) CheckResult {
			seed(t, p, "1 in_progress A", "2 pending Host")
			before(t, r)
			return CheckResult{Status: CheckPassed}
		})})
		seed(t, p, "1 in_progress A")
		r = begin(t, p)
		before(t, r)
		refused(t, writeList(t, r, "1 completed A"), CodeStaleWrite)
		require.Equal(t, []string{"1 in_progress A", "2 pending Host"}, storedLines(t, p))
	})
}

// Another handle of the same run made the call; this one only hears of its result.
func TestObserve(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	before(t, r)
	c := Call{ID: "c1", Name: DefaultToolName, Args: args("1 in_progress A", "2 pending B")}
	after(t, r, Response{Calls: []Call{c}})
	tool, err := p.Resume(r.State())
	require.NoError(t, err)
	text, err := tool.CallTool(t.Context(), c)
	require.NoError(t, err)
	r.Observe(c, text)
	r.Observe(Call{ID: "s", Name: "search"}, `{"revision":99}`) // no tool of ours
	r.Observe(c, "no result of ours")
	want, got := tool.State(), r.State()
	want.ShownSum, got.ShownSum = 0, 0
	require.Equal(t, want, got)
	tail, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b1", LastTool: c})
	require.NoError(t, err)
	require.Empty(t, tail, "it has seen the result")
	accepted(t, writeList(t, r, "1 completed A", "2 in_progress B"))
	// A refusal shows the list, a result that nothing was saved does not.
	seed(t, p, "1 in_progress Z")
	text, err = tool.CallTool(t.Context(), Call{ID: "c2", Name: DefaultToolName, Args: args("1 completed A")})
	require.NoError(t, err)
	refused(t, parseResult(t, text), CodeStaleWrite)
	r.Observe(Call{ID: "c2", Name: DefaultToolName}, text)
	accepted(t, writeList(t, r, "1 completed Z"))
}

// A store that fails just before a response is judged does not let two whole-list writes of that response through later.
func TestParallelWritesAreSeenWithoutTheStore(t *testing.T) {
	store := faulty()
	p, _ := newTest(t, Config{Store: store, OnStoreError: func(context.Context, error) error { return nil }})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	before(t, r)
	again, err := p.Resume(r.State()) // as an adapter whose handle does not outlive a hook
	require.NoError(t, err)
	store.set(func(int) error { return ErrUnavailable }, nil)
	after(t, again, Response{Calls: []Call{{ID: "c1", Name: DefaultToolName}, {ID: "c2", Name: DefaultToolName}}})
	store.set(nil, nil)
	refused(t, writeList(t, again, "1 completed A"), CodeParallelWrite)
	require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
}
