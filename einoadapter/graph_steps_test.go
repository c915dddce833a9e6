package einoadapter_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

// The four-call script: plan, answer, write, closing text.
func guardScript() *lineModel {
	return newLines(do(plan("c1", "in_progress")), say("Shipped: v1.4.0 is out."), do(plan("c2", "completed")), say("List updated."))
}

// GraphConfig.MaxRunSteps and React document what each thing costs. Below the number of steps that the whole script needs,
// a correction is not made or ends early, and what was answered is delivered.
func TestGraphStepsAtTheEdge(t *testing.T) {
	type want struct {
		requests int
		exceeded bool // before there was an answer
	}
	tables := map[string]map[int]want{
		"graph": { // model tools model | todo_guard model tools model todo_finish
			2: {1, true},
			3: {2, false},                                              // no step for todo_finish: straight to the end
			4: {2, false}, 5: {2, false}, 6: {2, false}, 7: {2, false}, // no room for a correction with a write
			8: {4, false}, 9: {4, false},
		},
		"react": { // model tools model | tools model
			2: {1, true},
			3: {2, false}, 4: {2, false},
			5: {4, false}, 6: {4, false},
		},
	}
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		for steps, want := range tables[g.name] {
			t.Run(fmt.Sprint(steps), func(t *testing.T) {
				m := guardScript()
				r := g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m, maxSteps: steps})
				answer, err := w.run(inSession("s"), r, user("Ship it."))
				require.Len(t, m.requests(), want.requests)
				if want.exceeded {
					require.ErrorIs(t, err, compose.ErrExceedMaxSteps)
					return
				}
				require.NoError(t, err)
				require.Equal(t, "Shipped: v1.4.0 is out.", answer)
			})
		}
	})
}

// A model that works on for ever after its answer reaches the limit at any number of steps: the answer is there each time.
func TestGraphNeverLosesAnAnswerThatWasGiven(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		corrected := 0
		for steps := 3; steps < 24; steps++ {
			lines := []line{do(plan("c1", "in_progress")), say("The answer.")}
			for i := range 20 {
				lines = append(lines, do(call(fmt.Sprint("w", i), "work", `{}`)))
			}
			m := newLines(lines...)
			r := g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m, tools: tools(work{name: "work"}), maxSteps: steps})
			answer, err := w.run(inSession("s"), r, user("Ship it."))
			require.NoError(t, err, "%d steps", steps)
			require.Equal(t, "The answer.", answer, "%d steps", steps)
			if len(m.requests()) > 2 {
				corrected++
			}
		}
		require.Greater(t, corrected, 10, "with room for it the correction was made")
	})
}

// The correction is best effort: if its model call fails, the first answer stands; also when the bookkeeping after it fails.
func TestGraphAnswerStandsWhenTheCorrectionFails(t *testing.T) {
	boom := errors.New("503")
	for name, lines := range map[string][]line{
		"at the call":         {do(plan("c1", "in_progress")), say("The answer."), {err: boom}},
		"in the stream":       {do(plan("c1", "in_progress")), say("The answer."), {text: "Upd", cut: boom}},
		"at the closing text": {do(plan("c1", "in_progress")), say("The answer."), do(plan("c2", "completed")), {text: "Li", cut: boom}},
	} {
		everyWay(t, func(t *testing.T, g agentGraph, w way) {
			t.Run(name, func(t *testing.T) {
				log := &eventLog{}
				p := newPlanner(t, core.Config{OnEvent: log.add})
				m := newLines(lines...)
				answer, err := w.run(inSession("s"), g.build(t, rig{planner: p, model: m}), user("Ship it."))
				require.NoError(t, err)
				require.Equal(t, "The answer.", answer)
				require.Len(t, m.requests(), len(lines))
				require.Len(t, log.of(core.EventRunEnded), 1)
				require.Equal(t, core.EndAnswered, log.of(core.EventRunEnded)[0].Reason)
			})
		})
	}
}

// Real work that fails after the correction is a failure: the answer is out of date.
func TestGraphErrorOfRealWorkIsReturned(t *testing.T) {
	boom := errors.New("503")
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		m := newLines(do(plan("c1", "in_progress")), say("The answer."), do(call("w", "work", `{}`)), line{err: boom})
		r := g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m, tools: tools(work{name: "work"})})
		_, err := w.run(inSession("s"), r, user("Ship it."))
		require.ErrorIs(t, err, boom)
	})
}

func TestGraphWithoutASession(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		m := newLines(say("hi"))
		_, err := w.run(t.Context(), g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m}), user("Hello."))
		require.ErrorIs(t, err, core.ErrNoSession)
		require.Empty(t, m.requests())
	})
}
