package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuardAsksOnceWhenItemsAreOpen(t *testing.T) {
	p, rec := newTest(t, Config{})
	r := begin(t, p)
	turn(t, r, "1 completed Build", "2 pending Tell <everybody>", "3 in_progress Ship")
	v := say(t, r, "Shipped.")
	require.Equal(t, Correct, v.Action)
	for _, s := range []string{DefaultToolName, `3 "Ship"`, `2 "Tell &lt;everybody>"`, DefaultTexts().AnswerHeld, DefaultTexts().CloseHeld} {
		require.Contains(t, v.Message, s)
	}
	require.Less(t, strings.Index(v.Message, "Ship"), strings.Index(v.Message, "Tell"), "the one in progress first")
	require.NotContains(t, v.Message, "Build")
	require.NotContains(t, v.Message, "$")
	e := rec.events(EventCorrected)
	require.Len(t, e, 1)
	require.Equal(t, v.Message, e[0].Text)
	require.Equal(t, int64(1), e[0].Revision)

	require.Equal(t, Accept, say(t, r, "Done.").Action, "the budget is one")
	require.Equal(t, "Shipped.\n\nDone.", finish(t, r, "Done."))
}

// Everything that keeps the guard silent, each beside the same run in which it speaks.
func TestGuardIsSilent(t *testing.T) {
	type cfg = Config
	answer := Response{Text: "Done."}
	for _, c := range []struct {
		name  string
		cfg   Config
		start []string
		ctx   func(context.Context) context.Context
		resp  Response
		quiet bool
	}{
		{name: "open items", start: []string{"1 in_progress A"}, resp: answer, quiet: false},
		{name: "no list", resp: answer, quiet: true},
		{name: "only closed items", start: []string{"1 completed A", "2 cancelled B"}, resp: answer, quiet: true},
		{name: "NoGuard", cfg: cfg{NoGuard: true}, start: []string{"1 in_progress A"}, resp: answer, quiet: true},
		{name: "off by ctx", start: []string{"1 in_progress A"}, resp: answer, quiet: true,
			ctx: func(ctx context.Context) context.Context { return WithGuard(ctx, false) }},
		{name: "on by ctx", start: []string{"1 in_progress A"}, resp: answer, quiet: false,
			ctx: func(ctx context.Context) context.Context { return WithGuard(WithGuard(ctx, false), true) }},
		{name: "NoGuard is not undone by ctx", cfg: cfg{NoGuard: true}, start: []string{"1 in_progress A"}, resp: answer, quiet: true,
			ctx: func(ctx context.Context) context.Context { return WithGuard(ctx, true) }},
		{name: "cancelled ctx", start: []string{"1 in_progress A"}, resp: answer, quiet: true,
			ctx: func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx
			}},
		{name: "cut off", start: []string{"1 in_progress A"}, resp: Response{Text: "Do", Truncated: true}, quiet: true},
		{name: "unparsed call", start: []string{"1 in_progress A"}, resp: Response{Text: "Do", Unparsed: true}, quiet: true},
		{name: "a call", start: []string{"1 in_progress A"}, resp: Response{Text: "Do", Calls: []Call{{ID: "x", Name: "search"}}}, quiet: true},
		{name: "no text", start: []string{"1 in_progress A"}, resp: Response{Text: " \n"}, quiet: true},
		{name: "last turn", start: []string{"1 in_progress A"}, resp: Response{Text: "Done.", LastTurn: true}, quiet: true},
		{name: "needs_replan is open", start: []string{"1 needs_replan A"}, resp: answer, quiet: false},
		{name: "restored list, Arm always", cfg: cfg{Arm: ArmAlways}, start: []string{"1 pending A"}, resp: answer, quiet: false},
		{name: "restored list, Arm after_write", cfg: cfg{Arm: ArmAfterWrite}, start: []string{"1 pending A"}, resp: answer, quiet: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := NewMemoryStore()
			c.cfg.Store = store
			p, rec := newTest(t, c.cfg)
			if c.start != nil {
				seed(t, p, c.start...)
			}
			r := begin(t, p)
			before(t, r)
			doc := document(t, store)
			ctx := t.Context()
			if c.ctx != nil {
				ctx = c.ctx(ctx)
			}
			v, err := r.AfterModel(ctx, c.resp)
			require.NoError(t, err)
			if !c.quiet {
				require.Equal(t, Correct, v.Action)
				return
			}
			require.Equal(t, Verdict{}, v)
			require.Empty(t, rec.events(EventCorrected, EventExplain))
			if len(c.resp.Calls) == 0 {
				require.Equal(t, doc, document(t, store), "nothing to save")
			}
			require.Equal(t, "Final.", finish(t, r, "Final."), "no held answer gets in the way")
		})
	}
}

func TestGuardArmAfterWrite(t *testing.T) {
	p, _ := newTest(t, Config{Arm: ArmAfterWrite})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	refused(t, turnRaw(t, r, `{"todos":`), CodeMalformed)
	require.Equal(t, Accept, say(t, r, "x").Action, "a refused write does not arm it")
	accepted(t, turn(t, r, "1 in_progress A"))
	require.Equal(t, Correct, say(t, r, "x").Action, "an identical one does")
}

// A correction is earned again only when an item was closed and another tool ran since; three in all.
func TestGuardBudget(t *testing.T) {
	five := func(closed int) []string {
		var out []string
		for i := range 5 {
			status := "pending"
			if i < closed {
				status = "completed"
			} else if i == closed {
				status = "in_progress"
			}
			out = append(out, fmt.Sprintf("%d %s Item %d", i+1, status, i+1))
		}
		return out
	}
	start := func(t *testing.T) *Run {
		p, _ := newTest(t, Config{})
		r := begin(t, p)
		turn(t, r, five(0)...)
		require.Equal(t, Correct, say(t, r, "answer 1").Action)
		return r
	}
	t.Run("closed and worked", func(t *testing.T) {
		r := start(t)
		for i := 1; i <= 4; i++ {
			work(t, r)
			turn(t, r, five(i)...)
			want := Correct
			if i >= 3 {
				want = Accept // the hard cap
			}
			require.Equal(t, want, say(t, r, fmt.Sprintf("answer %d", i+1)).Action, i)
			require.Equal(t, min(i+1, 3), r.State().Corrections)
		}
	})
	t.Run("only closed", func(t *testing.T) {
		r := start(t)
		turn(t, r, five(1)...)
		require.Equal(t, Accept, say(t, r, "again").Action)
	})
	t.Run("only worked", func(t *testing.T) {
		r := start(t)
		work(t, r)
		require.Equal(t, Accept, say(t, r, "again").Action)
	})
	t.Run("churn", func(t *testing.T) {
		r := start(t)
		work(t, r)
		turn(t, r, append(five(0)[:4], "6 completed Thrown in")...) // drops one, adds one that is done
		work(t, r)
		turn(t, r, five(0)...)
		require.Equal(t, Accept, say(t, r, "again").Action)
	})
	t.Run("closed before the correction does not count", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		r := begin(t, p)
		turn(t, r, five(0)...)
		work(t, r)
		turn(t, r, five(1)...)
		require.Equal(t, Correct, say(t, r, "1").Action)
		work(t, r)
		require.Equal(t, Accept, say(t, r, "2").Action)
	})
	t.Run("a new run has its own", func(t *testing.T) {
		r := start(t)
		finish(t, r, "")
		next := begin(t, r.p)
		require.Equal(t, Correct, say(t, next, "answer").Action)
	})
	t.Run("a resumed run has not", func(t *testing.T) {
		r := start(t)
		next, err := r.p.Resume(r.State())
		require.NoError(t, err)
		require.Equal(t, Accept, say(t, next, "answer").Action)
	})
}

func TestGuardExplain(t *testing.T) {
	start := func(t *testing.T) (*Run, *recorder, Store) {
		store := NewMemoryStore()
		p, rec := newTest(t, Config{OnExhausted: Explain, Store: store})
		r := begin(t, p)
		turn(t, r, "1 in_progress A", "2 pending B")
		require.Equal(t, Correct, say(t, r, "Done.").Action)
		v := say(t, r, "Really done.")
		require.Equal(t, Correct, v.Action)
		require.Contains(t, v.Message, "Call no tool")
		require.Contains(t, v.Message, `1 "A"; 2 "B"`)
		require.Len(t, rec.events(EventExplain), 1)
		require.Equal(t, true, stateKey(t, store, "todo_guard_blocked"))
		return r, rec, store
	}
	t.Run("the explanation is the answer", func(t *testing.T) {
		r, rec, store := start(t)
		require.Equal(t, Accept, say(t, r, "B is open because of C.").Action)
		require.Equal(t, "B is open because of C.", finish(t, r, "B is open because of C."))
		require.Equal(t, []string{"Done.\n\nReally done."}, rec.events(EventRunEnded)[0].Superseded)
		require.Equal(t, true, stateKey(t, store, "todo_guard_suppressed"))
		require.Nil(t, stateKey(t, store, "todo_guard_blocked"))
	})
	t.Run("suppressed until the next write", func(t *testing.T) {
		r, _, store := start(t)
		require.Equal(t, Accept, say(t, r, "Because.").Action)
		require.Equal(t, Accept, say(t, r, "And?").Action)
		work(t, r)
		require.Equal(t, Accept, say(t, r, "And?").Action)
		turn(t, r, "1 completed A", "2 in_progress B")
		require.Equal(t, false, stateKey(t, store, "todo_guard_suppressed"))
		require.Equal(t, Correct, say(t, r, "Now?").Action, "earned again: closed, and another tool ran")
	})
	t.Run("suppressed until new input", func(t *testing.T) {
		r, _, _ := start(t)
		require.Equal(t, Accept, say(t, r, "Because.").Action)
		r.NewInput("b2")
		require.False(t, r.State().Suppressed)
		again, _, _ := start(t)
		require.Equal(t, Accept, say(t, again, "Because.").Action)
		_, err := again.BeforeModel(t.Context(), Prompt{Boundary: "b2"})
		require.NoError(t, err)
		require.False(t, again.State().Suppressed, "the boundary tells as well")
	})
	t.Run("in a new run it is on again", func(t *testing.T) {
		r, _, _ := start(t)
		say(t, r, "Because.")
		finish(t, r, "Because.")
		require.Equal(t, Correct, say(t, begin(t, r.p), "x").Action)
	})
	t.Run("whatever comes is accepted", func(t *testing.T) {
		for name, resp := range map[string]Response{"a call": {Calls: []Call{{ID: "x", Name: "search"}}}, "unparsed": {Unparsed: true}} {
			r, rec, _ := start(t)
			before(t, r)
			require.Equal(t, Accept, after(t, r, resp).Action, name)
			require.Equal(t, Accept, say(t, r, "x").Action, name)
			require.Len(t, rec.events(EventExplain), 1, name)
		}
	})
	t.Run("asked once a run", func(t *testing.T) {
		r, rec, _ := start(t)
		say(t, r, "Because.")
		turn(t, r, "1 in_progress A", "2 pending B", "3 pending C")
		require.Equal(t, Accept, say(t, r, "x").Action)
		require.Len(t, rec.events(EventExplain), 1)
	})
}

// stateKey is one key of the stored document; nil: it is not there.
func stateKey(t *testing.T, s Store, key string) any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(document(t, s)), &m))
	return m[key]
}

// What is delivered after a correction, and what gives way.
func TestHeldAnswer(t *testing.T) {
	const first = "The full answer."
	write := func(t testing.TB, r *Run) { turn(t, r, "1 completed A") }
	reject := func(t testing.TB, r *Run) { refused(t, turnRaw(t, r, `{`), CodeMalformed) }
	for _, c := range []struct {
		name   string
		after  []func(testing.TB, *Run)
		answer string
		want   string
		lost   []string
	}{
		{"only the todo tool ran: the first", []func(testing.TB, *Run){write}, "Updated.", first, []string{"Updated."}},
		{"a refused call of it counts as well", []func(testing.TB, *Run){reject}, "Updated.", first, []string{"Updated."}},
		{"another tool ran: the new one", []func(testing.TB, *Run){work}, "Two fail.", "Two fail.", []string{first}},
		{"both ran: the new one", []func(testing.TB, *Run){work, write}, "Two fail.", "Two fail.", []string{first}},
		{"none ran: both", nil, "All is done.", first + "\n\nAll is done.", nil},
		{"the same again: once", nil, " " + first + "\n", first, nil},
		{"nothing came: the first", nil, "", first, nil},
		{"nothing came after the tool: the first", []func(testing.TB, *Run){write}, " ", first, nil},
		{"nothing came after work: the first", []func(testing.TB, *Run){work}, "", first, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := NewMemoryStore()
			p, rec := newTest(t, Config{Store: store})
			r := begin(t, p)
			turn(t, r, "1 in_progress A")
			require.Equal(t, Correct, say(t, r, first).Action)
			require.Equal(t, first, stateKey(t, store, "held_answer"))
			require.Equal(t, true, stateKey(t, store, "todo_finalization_correction"))
			require.Equal(t, 1.0, stateKey(t, store, "todo_guard_retries"))
			for _, f := range c.after {
				f(t, r)
			}
			if strings.TrimSpace(c.answer) != "" {
				require.Equal(t, Accept, say(t, r, c.answer).Action)
			}
			require.Equal(t, c.want, finish(t, r, c.answer))
			e := rec.events(EventRunEnded)
			require.Len(t, e, 1)
			require.Equal(t, c.want, e[0].Answer)
			require.Equal(t, c.lost, e[0].Superseded)
			require.Nil(t, stateKey(t, store, "held_answer"))
			require.Nil(t, stateKey(t, store, "todo_finalization_correction"))
			s, err := p.Get(t.Context(), sess)
			require.NoError(t, err)
			require.Empty(t, s.HeldAnswer)
		})
	}
}

// With two corrections the second holds what stood after the first.
func TestHeldAnswerTwice(t *testing.T) {
	p, rec := newTest(t, Config{})
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B", "3 pending C")
	require.Equal(t, Correct, say(t, r, "First.").Action)
	work(t, r)
	turn(t, r, "1 completed A", "2 in_progress B", "3 pending C")
	require.Equal(t, Correct, say(t, r, "Second.").Action)
	turn(t, r, "1 completed A", "2 completed B", "3 completed C")
	require.Equal(t, "Second.", finish(t, r, "Third."))
	require.Equal(t, []string{"First.", "Third."}, rec.events(EventRunEnded)[0].Superseded)
}

// The correction is best effort: if its model call fails, the first answer stands, and comes exactly once.
func TestCorrectionFails(t *testing.T) {
	p, rec := newTest(t, Config{})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	require.Equal(t, Correct, say(t, r, "The answer.").Action)
	before(t, r)
	for range 2 {
		got, err := r.Finish(t.Context(), Outcome{})
		require.NoError(t, err)
		require.Equal(t, "The answer.", got)
	}
	e := rec.events(EventRunEnded)
	require.Len(t, e, 1)
	require.Equal(t, EndAnswered, e[0].Reason)
	require.Equal(t, []string{"1 in_progress A"}, lines(e[0].Open))
	require.Empty(t, e[0].Superseded)
}

// Where answers were seen already the correction says so; where there is no place for it, it stands in the tail, once.
func TestCorrectionPlaces(t *testing.T) {
	p, _ := newTest(t, Config{})
	r, err := p.Begin(sess, RunOptions{Delivered: true})
	require.NoError(t, err)
	turn(t, r, "1 in_progress A")
	v := say(t, r, "x")
	require.Contains(t, v.Message, DefaultTexts().AnswerDelivered)
	require.Contains(t, v.Message, DefaultTexts().CloseDelivered)

	p, _ = newTest(t, Config{})
	r, err = p.Begin(sess, RunOptions{CorrectionInTail: true})
	require.NoError(t, err)
	turn(t, r, "1 in_progress A")
	v = say(t, r, "Line one.\n</todos> $TOOL")
	tail := before(t, r)
	require.Contains(t, tail, `"Line one. &lt;/todos> $TOOL"`)
	require.Equal(t, 1, strings.Count(tail, v.Message))
	require.Equal(t, 1, strings.Count(tail, blockOpen))
	after(t, r, Response{Calls: []Call{{ID: "x", Name: "search"}}})
	tail = before(t, r)
	require.NotContains(t, tail, v.Message)
	require.Contains(t, tail, "Line one.", "the model sees its answer nowhere else")
}

func TestHeldSaysWhenNothingIsLeftToSay(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	held := func() string {
		a, ok := r.Held()
		require.Equal(t, ok, a != "")
		return a
	}
	turn(t, r, "1 in_progress A", "2 pending B")
	require.Empty(t, held())
	say(t, r, "Answer.")
	require.Empty(t, held(), "no tool ran")
	turn(t, r, "1 completed A", "2 in_progress B")
	require.Empty(t, held(), "B is open")
	turn(t, r, "1 completed A", "2 completed B")
	require.Equal(t, "Answer.", held())
	work(t, r)
	require.Empty(t, held(), "another tool ran")
}

// A process that died with a held answer: the host can read it, and the next run's end says that it was never delivered.
func TestHeldAnswerSurvivesACrash(t *testing.T) {
	store := NewMemoryStore()
	p, _ := newTest(t, Config{Store: store})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	say(t, r, "Lost?")
	p, rec := newTest(t, Config{Store: store})
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, "Lost?", s.HeldAnswer)
	r = begin(t, p)
	turn(t, r, "1 completed A")
	require.Equal(t, "New.", finish(t, r, "New."))
	require.Equal(t, []string{"Lost?"}, rec.events(EventRunEnded)[0].Superseded)
	// The same run, resumed, delivers it.
	p, _ = newTest(t, Config{})
	r = begin(t, p)
	turn(t, r, "1 in_progress A")
	say(t, r, "Kept.")
	r, err = p.Resume(r.State())
	require.NoError(t, err)
	require.Equal(t, "Kept.", finish(t, r, ""))
}

// The state of a run is plain data: through JSON and back in the middle of everything, nothing is lost.
func TestRunStateThroughJSON(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	hop := func() {
		b, err := json.Marshal(r.State())
		require.NoError(t, err)
		var s RunState
		require.NoError(t, json.Unmarshal(b, &s))
		require.Equal(t, r.State(), s)
		r, err = p.Resume(s)
		require.NoError(t, err)
	}
	turn(t, r, "1 in_progress A", "2 pending B")
	hop()
	require.Equal(t, Correct, say(t, r, "First.").Action)
	hop()
	work(t, r)
	hop()
	turn(t, r, "1 completed A", "2 in_progress B")
	hop()
	before(t, r)
	hop()
	require.Equal(t, Correct, after(t, r, Response{Text: "Second."}).Action)
	hop()
	turn(t, r, "1 completed A", "2 completed B")
	hop()
	require.Equal(t, "Second.", finish(t, r, "Bye."))
	hop()
	require.Equal(t, "Second.", finish(t, r, "Bye."))
}

// What comes of the question for an explanation is taken, whatever it is: also a cut-off text, nothing, or a call.
func TestExplanationIsTakenWhateverItIs(t *testing.T) {
	for _, c := range []struct {
		resp Response
		want string
	}{
		{Response{Text: "I could n", Truncated: true}, "I could n"},
		{Response{}, "First.\n\nSecond."},
		{Response{Unparsed: true}, "First.\n\nSecond."},
	} {
		p, rec := newTest(t, Config{OnExhausted: Explain})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		require.Equal(t, Correct, say(t, r, "First.").Action)
		require.Equal(t, Correct, say(t, r, "Second.").Action)
		before(t, r)
		require.Equal(t, Accept, after(t, r, c.resp).Action)
		require.Equal(t, c.want, finish(t, r, c.resp.Text))
		s, err := decodeState([]byte(document(t, p.store)))
		require.NoError(t, err)
		require.True(t, s.Suppressed, "%+v", c.resp)
		require.False(t, s.Blocked)
		require.Len(t, rec.events(EventExplain), 1)
	}
}
