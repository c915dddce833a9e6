package core

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func validWait(context.Context, []string, WaitInfo, *WaitBinding) (WaitValidation, error) {
	return WaitValidation{Status: WaitValid}, nil
}

// waits answers declarations and finalizations one after another, and keeps what it was asked.
type waits struct {
	t       testing.TB
	mu      sync.Mutex
	answers []func(context.Context) (WaitValidation, error)
	asked   []WaitInfo
	tasks   [][]string
	priors  []*WaitBinding
}

func (w *waits) validate(ctx context.Context, tasks []string, info WaitInfo, prior *WaitBinding) (WaitValidation, error) {
	w.mu.Lock()
	w.tasks, w.asked, w.priors = append(w.tasks, tasks), append(w.asked, info), append(w.priors, prior)
	n := len(w.asked)
	w.mu.Unlock()
	if n > len(w.answers) {
		w.t.Errorf("asked %d times", n)
		return WaitValidation{}, nil
	}
	return w.answers[n-1](ctx)
}

func say1(status WaitStatus, reason string) func(context.Context) (WaitValidation, error) {
	return func(context.Context) (WaitValidation, error) {
		return WaitValidation{Status: status, Reason: reason}, nil
	}
}

func newWait(t *testing.T, cfg Config, answers ...func(context.Context) (WaitValidation, error)) (*waits, *Run, *recorder) {
	w := &waits{t: t, answers: answers}
	cfg.ValidateWait = w.validate
	p, rec := newTest(t, cfg)
	return w, begin(t, p), rec
}

var oneOpen = []string{"1 in_progress Wait for the build", "2 pending Report"}

func declare(t *testing.T, r *Run, tasks ...string) result {
	t.Helper()
	return turnRaw(t, r, argsWait(tasks, oneOpen...))
}

func bound(t *testing.T, r *Run) *WaitBinding {
	t.Helper()
	s, err := r.p.Get(context.Background(), sess)
	require.NoError(t, err)
	return s.Wait
}

func TestWaitNoValidator(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	res := refused(t, declare(t, r, "t"), CodeWaitNotConfigured)
	require.Empty(t, res.Todos, "the list is unchanged as well")
	accepted(t, turnRaw(t, r, argsWait([]string{}, oneOpen...)))
}

func TestWaitDeclarationAccepted(t *testing.T) {
	w, r, rec := newWait(t, Config{}, say1(WaitValid, ""))
	res := accepted(t, declare(t, r, " task-a ", "task-b"))
	require.Equal(t, []string{"task-a", "task-b"}, res.Waiting)
	require.Equal(t, [][]string{{"task-a", "task-b"}}, w.tasks)
	require.Equal(t, oneOpen, lines(w.asked[0].Todos))
	w.asked[0].Todos = nil
	require.Equal(t, WaitInfo{Session: sess, RunID: r.ID(), Boundary: "b1", Revision: 1}, w.asked[0])
	require.Nil(t, w.priors[0])
	require.Equal(t, &WaitBinding{Tasks: []string{"task-a", "task-b"}, Revision: 1, RunID: r.ID(), Boundary: "b1"}, bound(t, r))
	require.Len(t, rec.events(EventListChanged), 1)
}

// Each answer that is no yes: refused, list unchanged, nothing bound.
func TestWaitDeclarationRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(context.Context) (WaitValidation, error)
		says   string
	}{
		"invalid":            {say1(WaitInvalid, "no such\ntask"), "(no such task)"},
		"invalid, no reason": {say1(WaitInvalid, ""), "no reason"},
		"cancelled first":    {say1(WaitCancelled, "stopped"), "(stopped)"},
		"an unknown status":  {say1("maybe", ""), "no reason"},
		"no status":          {say1("", ""), "no reason"},
		"error": {func(context.Context) (WaitValidation, error) {
			return WaitValidation{Status: WaitValid}, errors.New("down")
		}, "(down)"},
		"an error of a timeout": {func(context.Context) (WaitValidation, error) {
			return WaitValidation{Status: WaitValid}, context.DeadlineExceeded
		}, "deadline"},
		"panic": {func(context.Context) (WaitValidation, error) { panic("boom") }, "boom"},
		"time-out, heeding ctx": {func(ctx context.Context) (WaitValidation, error) {
			<-ctx.Done()
			return WaitValidation{Status: WaitValid}, nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, r, rec := newWait(t, Config{}, c.answer)
				turn(t, r, "1 in_progress Before")
				if strings.HasPrefix(name, "time-out") {
					c.says = "no answer within 10s"
				}
				res := refused(t, declare(t, r, "t"), CodeWaitInvalid)
				require.Contains(t, res.Error.Message, c.says)
				require.Equal(t, []string{"1 in_progress Before"}, lines(res.Todos))
				require.Equal(t, int64(1), res.Revision)
				require.Nil(t, bound(t, r))
				require.Len(t, rec.events(EventListChanged), 1)
				require.Equal(t, Correct, say(t, r, "x").Action)
			})
		})
	}
}

// A validator that ignores its ctx is left behind at the deadline.
func TestWaitTimeoutIgnoringCtx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hang := func(context.Context) (WaitValidation, error) {
			<-release
			return WaitValidation{Status: WaitValid}, nil
		}
		_, r, _ := newWait(t, Config{WaitTime: 3 * time.Second}, hang, say1(WaitValid, ""), hang)
		start := time.Now()
		res := refused(t, declare(t, r, "t"), CodeWaitInvalid)
		require.Contains(t, res.Error.Message, "within 3s")
		require.Equal(t, 3*time.Second, time.Since(start))
		accepted(t, declare(t, r, "t"))
		require.Equal(t, Correct, say(t, r, "x").Action, "at finalization it leaves the ordinary guard")
		require.Equal(t, 6*time.Second, time.Since(start))
	})
}

func TestWaitClosedList(t *testing.T) {
	w, r, _ := newWait(t, Config{})
	turn(t, r, "1 in_progress A")
	for _, ls := range [][]string{{"1 completed A"}, {"1 cancelled A"}} {
		res := refused(t, turnRaw(t, r, argsWait([]string{"t"}, ls...)), CodeWaitInvalid)
		require.Contains(t, res.Error.Message, "nothing to wait for")
	}
	require.Equal(t, []string{"1 in_progress A"}, storedLines(t, r.p))
	turn(t, r, "1 completed A")
	refused(t, turnRaw(t, r, argsWait([]string{"t"})), CodeWaitInvalid)
	require.Empty(t, w.asked, "the host is not asked")
}

func TestWaitBlankOrDoubledIDs(t *testing.T) {
	w, r, _ := newWait(t, Config{})
	for _, ids := range [][]string{{""}, {" "}, {"a", "\t"}, {"a", "a"}, {"a", " a "}, {"a", "b", "a"}} {
		refused(t, declare(t, r, ids...), CodeWaitInvalid)
	}
	require.Empty(t, w.asked)
	require.Empty(t, storedLines(t, r.p))
}

// The list comes first: a write that breaks a rule is refused as that, and the host is not asked.
func TestWaitNeverHelpsABadWrite(t *testing.T) {
	w, r, _ := newWait(t, Config{})
	refused(t, turnRaw(t, r, argsWait([]string{"t"}, "1 pending A")), CodeNotOneInProgress)
	refused(t, turnRaw(t, r, `{"todos":[{"content":1}],"wait_for_tasks":["t"]}`), CodeMalformed)
	require.Empty(t, w.asked)
}

func TestWaitOrdinaryWriteClears(t *testing.T) {
	for name, a := range map[string]string{
		"changed":                  args("1 in_progress Wait for the build"),
		"identical":                args(oneOpen...),
		"with an empty list of it": argsWait([]string{}, oneOpen...),
	} {
		t.Run(name, func(t *testing.T) {
			_, r, _ := newWait(t, Config{}, say1(WaitValid, ""))
			accepted(t, declare(t, r, "t"))
			require.NotNil(t, bound(t, r))
			accepted(t, turnRaw(t, r, a))
			require.Nil(t, bound(t, r))
			require.Equal(t, Correct, say(t, r, "x").Action)
		})
	}
	t.Run("a refused write does not", func(t *testing.T) {
		_, r, _ := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitValid, ""))
		accepted(t, declare(t, r, "t"))
		refused(t, turnRaw(t, r, `{`), CodeMalformed)
		work(t, r)
		require.NotNil(t, bound(t, r))
		require.Equal(t, Accept, say(t, r, "x").Action)
	})
	t.Run("the host's edit does", func(t *testing.T) {
		_, r, _ := newWait(t, Config{}, say1(WaitValid, ""))
		accepted(t, declare(t, r, "t"))
		seed(t, r.p, "1 in_progress Something else")
		require.Equal(t, Correct, say(t, r, "x").Action, "it was bound to another list")
	})
}

func TestWaitParallelWritesKeepTheOldBinding(t *testing.T) {
	_, r, _ := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitValid, ""))
	accepted(t, declare(t, r, "old"))
	was := bound(t, r)
	before(t, r)
	calls := []Call{{ID: "a", Name: DefaultToolName, Args: args("1 completed A")}, {ID: "b", Name: DefaultToolName, Args: argsWait([]string{"new"}, oneOpen...)}}
	after(t, r, Response{Calls: calls})
	for _, c := range calls {
		refused(t, call(t, r, c), CodeParallelWrite)
	}
	require.Equal(t, was, bound(t, r))
	require.Equal(t, Accept, say(t, r, "x").Action)
}

func TestWaitBoundaryChangedDuringValidation(t *testing.T) {
	var r *Run
	ask := func(context.Context) (WaitValidation, error) {
		r.NewInput("b2")
		return WaitValidation{Status: WaitValid}, nil
	}
	_, r, _ = newWait(t, Config{}, ask)
	res := refused(t, declare(t, r, "t"), CodeWaitInvalid)
	require.Contains(t, res.Error.Message, "New input came")
	require.Empty(t, storedLines(t, r.p))
	require.Nil(t, bound(t, r))
}

func TestWaitBoundaryChangedDuringTheChecksOfTheSameWrite(t *testing.T) {
	var r *Run
	_, r, _ = newWait(t, Config{Checks: ForAll(func(context.Context, Item) CheckResult {
		r.NewInput("b2")
		return CheckResult{Status: CheckPassed}
	})}, say1(WaitValid, ""))
	turn(t, r, "1 in_progress A", "2 pending B")
	refused(t, turnRaw(t, r, argsWait([]string{"t"}, "1 completed A", "2 in_progress B")), CodeWaitInvalid)
	require.Nil(t, bound(t, r))
}

func TestWaitBoundaryChangedDuringFinalValidation(t *testing.T) {
	var r *Run
	_, r, _ = newWait(t, Config{}, say1(WaitValid, ""), func(context.Context) (WaitValidation, error) {
		r.NewInput("b2")
		return WaitValidation{Status: WaitValid}, nil
	})
	accepted(t, declare(t, r, "t"))
	require.Equal(t, Correct, say(t, r, "x").Action)
}

// Boundary changed between declaration and finalization.
func TestWaitDiesWithNewInput(t *testing.T) {
	for name, input := range map[string]func(*testing.T, *Run) *Run{
		"a user message, told":            func(_ *testing.T, r *Run) *Run { r.NewInput("b2"); return r },
		"a user message, seen at the end": func(_ *testing.T, r *Run) *Run { return r },
		"a new run":                       func(t *testing.T, r *Run) *Run { finish(t, r, "x"); return begin(t, r.p) },
		"a resume after an interrupt": func(t *testing.T, r *Run) *Run {
			_, err := r.Finish(t.Context(), Outcome{Reason: EndInterrupted})
			require.NoError(t, err)
			again, err := r.p.Resume(r.State())
			require.NoError(t, err)
			again.NewInput("b2")
			return again
		},
		"a boundary that cannot be proven": func(_ *testing.T, r *Run) *Run { r.NewInput(""); return r },
	} {
		t.Run(name, func(t *testing.T) {
			w, r, _ := newWait(t, Config{}, say1(WaitValid, ""))
			accepted(t, declare(t, r, "t"))
			r = input(t, r)
			if strings.HasPrefix(name, "a user message, seen") {
				v, err := r.AfterModel(t.Context(), Response{Text: "x", Boundary: "b2"})
				require.NoError(t, err)
				require.Equal(t, Correct, v.Action)
			} else {
				boundary := r.State().Boundary
				if name == "a new run" {
					boundary = "b1" // even if an adapter used the same token again
				}
				_, err := r.BeforeModel(t.Context(), Prompt{Boundary: boundary})
				require.NoError(t, err)
				require.Nil(t, bound(t, r), "it is taken out, so that nothing can revive it")
				require.Equal(t, Correct, after(t, r, Response{Text: "x"}).Action)
			}
			require.Len(t, w.asked, 1, "a wait that does not hold is not asked about")
		})
	}
	t.Run("no boundary: no declaration", func(t *testing.T) {
		w, r, _ := newWait(t, Config{})
		_, err := r.BeforeModel(t.Context(), Prompt{})
		require.NoError(t, err)
		refused(t, writeRaw(t, r, argsWait([]string{"t"}, oneOpen...)), CodeWaitInvalid)
		require.Empty(t, w.asked)
	})
	t.Run("a summary alone does not change it", func(t *testing.T) {
		_, r, _ := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitValid, ""))
		accepted(t, declare(t, r, "t"))
		work(t, r) // the history may be another one: the boundary is the same
		require.Equal(t, Accept, say(t, r, "x").Action)
	})
}

// A valid wait ends the run, whatever else is open, without using the correction budget; the end event says what is open.
func TestWaitValidEndsTheRun(t *testing.T) {
	w, r, _ := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitValid, "still\nrunning"), say1(WaitInvalid, ""))
	accepted(t, declare(t, r, "t"))
	require.Equal(t, Accept, say(t, r, "It runs.").Action)
	require.True(t, w.asked[1].Final)
	require.Equal(t, bound(t, r), w.priors[1])
	require.Zero(t, r.State().Corrections)
	s, err := r.p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, &WaitOutcome{Status: WaitValid, Reason: "still running"}, s.WaitOutcome)
	require.Equal(t, oneOpen, lines(s.Todos), "the items as they are")
	// Where the framework goes on all the same and the wait is over, the budget is whole.
	require.Equal(t, Correct, say(t, r, "It runs.").Action)
	require.Equal(t, 1, r.State().Corrections)

	_, r, rec := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitValid, ""))
	accepted(t, declare(t, r, "t"))
	say(t, r, "It runs.")
	require.Equal(t, "It runs.", finish(t, r, "It runs."))
	e := rec.events(EventRunEnded)[0]
	require.Equal(t, EndWaiting, e.Reason)
	require.Equal(t, oneOpen, lines(e.Open))
	require.Empty(t, rec.events(EventCorrected))
}

func TestWaitCancelledAtTheEnd(t *testing.T) {
	_, r, rec := newWait(t, Config{}, say1(WaitValid, ""), say1(WaitCancelled, "the user\nstopped it"))
	accepted(t, declare(t, r, "t"))
	require.Equal(t, Accept, say(t, r, "Stopped.").Action)
	require.Equal(t, "Stopped.", finish(t, r, "Stopped."))
	s, err := r.p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, &WaitOutcome{Status: WaitCancelled, Reason: "the user stopped it"}, s.WaitOutcome)
	require.Equal(t, EndWaiting, rec.events(EventRunEnded)[0].Reason)
}

// Anything else leaves the ordinary guard, and records nothing.
func TestWaitNotConfirmedAtTheEnd(t *testing.T) {
	for name, answer := range map[string]func(context.Context) (WaitValidation, error){
		"cancelled without a reason": say1(WaitCancelled, ""),
		"cancelled, a blank reason":  say1(WaitCancelled, " \n"),
		"invalid":                    say1(WaitInvalid, "over"),
		"unknown":                    say1("maybe", "x"),
		"error": func(context.Context) (WaitValidation, error) {
			return WaitValidation{Status: WaitValid}, errors.New("x")
		},
		"panic": func(context.Context) (WaitValidation, error) { panic("x") },
	} {
		t.Run(name, func(t *testing.T) {
			_, r, _ := newWait(t, Config{}, say1(WaitValid, ""), answer)
			accepted(t, declare(t, r, "t"))
			require.Equal(t, Correct, say(t, r, "x").Action)
			s, err := r.p.Get(t.Context(), sess)
			require.NoError(t, err)
			require.Nil(t, s.WaitOutcome)
			require.False(t, r.State().Waiting)
		})
	}
}

// It is asked about at the final answer alone.
func TestWaitIsAskedAtTheEndOnly(t *testing.T) {
	w, r, _ := newWait(t, Config{}, say1(WaitValid, ""))
	accepted(t, declare(t, r, "t"))
	work(t, r)
	before(t, r)
	after(t, r, Response{Text: "cut", Truncated: true})
	after(t, r, Response{Unparsed: true, Text: "x"})
	after(t, r, Response{})
	require.Len(t, w.asked, 1)
}

// A ctx that is cancelled while the host is asked stays cancelled, at both places, whatever the host says.
func TestWaitCtxCancelledDuringValidation(t *testing.T) {
	for name, answer := range map[string]WaitValidation{"valid": {Status: WaitValid}, "invalid": {Status: WaitInvalid}} {
		t.Run("declaration, "+name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_, r, rec := newWait(t, Config{OnStoreError: goOn}, func(context.Context) (WaitValidation, error) { cancel(); return answer, nil })
			before(t, r)
			after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
			_, err := r.WriteTodos(ctx, "c", argsWait([]string{"t"}, oneOpen...))
			require.ErrorIs(t, err, context.Canceled)
			require.Empty(t, storedLines(t, r.p))
			require.Empty(t, rec.events(EventListChanged, EventWriteRefused))
		})
		t.Run("finalization, "+name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			_, r, rec := newWait(t, Config{OnStoreError: goOn}, say1(WaitValid, ""), func(context.Context) (WaitValidation, error) { cancel(); return answer, nil })
			accepted(t, declare(t, r, "t"))
			before(t, r)
			v, err := r.AfterModel(ctx, Response{Text: "x"})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, Verdict{}, v)
			require.Empty(t, rec.events(EventCorrected))
			s, err := r.p.Get(t.Context(), sess)
			require.NoError(t, err)
			require.Nil(t, s.WaitOutcome)
		})
	}
}

// The binding is in the store before the tool result comes back, and a save that failed is never reported as accepted.
func TestWaitIsStoredFirst(t *testing.T) {
	for _, ls := range [][]string{oneOpen, {"1 in_progress A"}} { // with a change of the list, and without
		store := faulty()
		w := &waits{t: t, answers: []func(context.Context) (WaitValidation, error){say1(WaitValid, ""), say1(WaitValid, ""), say1(WaitValid, "")}}
		p, rec := newTest(t, Config{Store: store, ValidateWait: w.validate, OnStoreError: goOn})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		before(t, r)
		after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
		doc, n := document(t, store), len(rec.events(EventListChanged))
		store.set(nil, func(int, func() (Version, error)) (Version, error) { return "", ErrUnavailable })
		refused(t, writeRaw(t, r, argsWait([]string{"t"}, ls...)), CodeNotSaved)
		store.set(nil, nil)
		require.Equal(t, doc, document(t, store))
		require.Len(t, rec.events(EventListChanged), n)
		before(t, r)
		accepted(t, writeRaw(t, r, argsWait([]string{"t"}, ls...)))
		_, saves := store.counts()
		require.Equal(t, 1, saves)
		require.NotNil(t, bound(t, r))
		// A crash here loses nothing: the run, resumed in another process, ends on it.
		q, _ := newTest(t, Config{Store: store, ValidateWait: w.validate})
		again, err := q.Resume(r.State())
		require.NoError(t, err)
		require.Equal(t, Accept, say(t, again, "x").Action)
	}
}

func TestWaitEvidence(t *testing.T) {
	evidence := func(s string) func(context.Context) (WaitValidation, error) {
		return func(context.Context) (WaitValidation, error) {
			return WaitValidation{Status: WaitValid, Evidence: json.RawMessage(s)}, nil
		}
	}
	for _, s := range []string{`{"b" : 1,  "a":[1.0, 2e3, "\u00e9", "<&>", "\ud800"]}`, " null ", `"x"`, `12345678901234567890.50`, "{\n\t\"k\": \"\u2028\"\n}"} {
		t.Run("byte for byte "+s, func(t *testing.T) {
			w, r, _ := newWait(t, Config{}, evidence(s), say1(WaitValid, ""))
			accepted(t, declare(t, r, "t"))
			again, err := r.p.Resume(r.State()) // nothing in memory
			require.NoError(t, err)
			require.Equal(t, Accept, say(t, again, "x").Action)
			require.Equal(t, s, string(w.priors[1].Evidence))
		})
	}
	for _, s := range []string{"", "{", "nope", "{} {}", "\"\xff\""} {
		t.Run("no JSON "+s, func(t *testing.T) {
			_, r, _ := newWait(t, Config{OnStoreError: goOn}, evidence(s))
			before(t, r)
			_, err := r.WriteTodos(t.Context(), "c", argsWait([]string{"t"}, oneOpen...))
			require.ErrorIs(t, err, ErrConfig)
			require.ErrorContains(t, err, "ValidateWait")
			require.ErrorContains(t, err, "want JSON")
			require.Empty(t, storedLines(t, r.p))
		})
	}
	t.Run("limit", func(t *testing.T) {
		fits, over := `"`+strings.Repeat("x", 8)+`"`, `"`+strings.Repeat("x", 9)+`"`
		_, r, _ := newWait(t, Config{WaitEvidence: 10}, evidence(fits), evidence(over))
		accepted(t, declare(t, r, "t"))
		before(t, r)
		_, err := r.WriteTodos(t.Context(), "c", argsWait([]string{"t"}, oneOpen...))
		require.ErrorIs(t, err, ErrConfig)
		require.ErrorContains(t, err, "11 bytes, want at most 10")
	})
	t.Run("the host gets copies", func(t *testing.T) {
		_, r, _ := newWait(t, Config{}, evidence(`1`), say1(WaitValid, ""))
		accepted(t, declare(t, r, "t", "u"))
		b := bound(t, r)
		b.Tasks[0] = "changed"
		require.Equal(t, "t", bound(t, r).Tasks[0])
	})
	t.Run("the host's bytes stay the host's", func(t *testing.T) {
		proof := []byte(`{"g":1}`)
		w, r, _ := newWait(t, Config{}, evidence(string(proof)), say1(WaitValid, ""))
		validate := w.validate
		r.p.cfg.ValidateWait = func(ctx context.Context, ids []string, info WaitInfo, prior *WaitBinding) (WaitValidation, error) {
			v, err := validate(ctx, ids, info, prior)
			if prior != nil {
				require.JSONEq(t, `{"g":1}`, string(prior.Evidence))
				prior.Evidence[5] = '3' // of its own copy
				return v, err
			}
			v.Evidence = proof
			return v, err
		}
		accepted(t, declare(t, r, "t"))
		proof[5] = '2' // as a pooled buffer is
		require.Equal(t, Accept, say(t, r, "x").Action)
		require.JSONEq(t, `{"g":1}`, string(bound(t, r).Evidence))
	})
}

// A conflict over bookkeeping does not ask the host twice.
func TestWaitIsAskedOncePerWrite(t *testing.T) {
	store := faulty()
	w := &waits{t: t, answers: []func(context.Context) (WaitValidation, error){say1(WaitValid, "")}}
	p, _ := newTest(t, Config{Store: store, ValidateWait: w.validate})
	other, _ := newTest(t, Config{Store: store.Store})
	seed(t, p, oneOpen...)
	r := begin(t, p)
	before(t, r)
	after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
	store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
		if n == 1 {
			require.Equal(t, Correct, say(t, begin(t, other), "x").Action)
		}
		return save()
	})
	accepted(t, writeRaw(t, r, argsWait([]string{"t"}, oneOpen...)))
	require.Len(t, w.asked, 1)
	require.NotNil(t, bound(t, r))
}

// What a check sends back is open: a wait may be declared with the item that was to be the last.
func TestWaitWithChecks(t *testing.T) {
	w, r, _ := newWait(t, Config{Checks: ForAll(func(context.Context, Item) CheckResult { return CheckResult{Status: CheckPassed} })}, say1(WaitValid, ""))
	turn(t, r, "1 in_progress A", "2 pending B")
	accepted(t, turnRaw(t, r, argsWait([]string{"t"}, "1 completed A", "2 in_progress B")))
	require.Equal(t, int64(2), w.asked[0].Revision)
	require.Equal(t, int64(2), bound(t, r).Revision)
}
