package einoadapter

import (
	"context"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
)

// AfterModelRewriteState judges the model's response before any of its tools runs, and asks the model once more where core
// says so (docs/design.md, section 6). It is the place for that because it stands outside retry, failover and event sender: a
// second call inside the model chain would share their state with the first, and hang or repeat it.
func (m *middleware[M]) AfterModelRewriteState(ctx context.Context, st *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	e, t := m.mine(ctx), turnOf[M](ctx)
	if e == nil || t == nil || len(st.Messages) == 0 {
		return ctx, st, nil
	}
	run, saved, err := e.begin(ctx)
	if err != nil {
		return ctx, st, e.fail(ctx, err)
	}
	last := st.Messages[len(st.Messages)-1]
	lastTurn := t.call == nil || m.iterationsLeft(ctx, saved) < 1
	var history []M // what the model was asked last, without the block
	if t.call != nil {
		history = t.call.in
	}
	var asked []M // the answers of this turn that were held back, each with its correction
	next := *st
	for {
		resp := responseOf(last)
		resp.LastTurn = lastTurn
		verdict, err := run.AfterModel(ctx, resp)
		if err != nil {
			return ctx, st, e.fail(ctx, err)
		}
		if verdict.Action != core.Correct {
			return ctx, &next, nil
		}
		correction := marked(userMessage[M](verdict.Message), markCorrection)
		adk.EnsureMessageID(correction)
		asked = append(asked, last, correction)
		keepAsked(ctx, asked)
		history = spaced(append(history[:len(history):len(history)], last, correction))
		answer, err := m.correct(ctx, run, e, t.call, history, mc)
		if isFatal(ctx, err) {
			return ctx, st, e.fail(ctx, err) // what was asked stays: a resume asks the correction, not the question
		}
		dropAsked(ctx)
		if err != nil { // best effort: the first answer stands, and the run ends with it
			e.letHeldStand()
			return ctx, &next, nil
		}
		next.Messages = append(next.Messages[:len(next.Messages):len(next.Messages)], correction, answer)
		last = answer
	}
}

// iterationsLeft is how many more turns eino grants the run: a correction that leads to a tool call needs one.
func (m *middleware[M]) iterationsLeft(ctx context.Context, saved *savedRun) int {
	left := m.cfg.MaxIterations - saved.calls()
	//lint:ignore SA1019 no other place tells
	_ = compose.ProcessState(ctx, func(_ context.Context, s *adk.State) error {
		left = s.RemainingIterations
		return nil
	}) // an agentic agent's state has a type without a name: the count stands
	return left
}

const askedKey = "todoguard_correction"

// keepAsked keeps the answers and corrections of a turn while the model is asked: a run that is cancelled meanwhile and resumed
// later finds them there. Where a message cannot be saved, neither can a checkpoint, and there is no later.
func keepAsked[M adk.MessageType](ctx context.Context, asked []M) {
	_ = adk.SetRunLocalValue(ctx, askedKey, slices.Clone(asked))
}

// takeAsked returns what keepAsked kept and forgets it; nil if there is nothing.
func takeAsked[M adk.MessageType](ctx context.Context) []M {
	v, _, _ := adk.GetRunLocalValue(ctx, askedKey)
	asked, _ := v.([]M)
	if asked != nil {
		dropAsked(ctx)
	}
	return asked
}

func dropAsked(ctx context.Context) {
	_ = adk.DeleteRunLocalValue(ctx, askedKey) // fails only outside a run
}
