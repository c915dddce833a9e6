package lcgadapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// What becomes of the response of one turn: an error, calls or an answer.

// planFailed deals with an error of the wrapped agent. After a correction it costs no answer: the held one is delivered,
// unless ctx is done (docs/design.md, section 6).
func (t *turn) planFailed(ctx context.Context, g *gate, err error) (*schema.AgentFinish, error) {
	if ctxErr := ctx.Err(); ctxErr != nil {
		if !errors.Is(err, ctxErr) {
			err = fmt.Errorf("%w: %w", err, ctxErr)
		}
		return nil, t.fail(ctx, err)
	}
	if t.mark.Corrected && g.broken == nil {
		if finish, broken := t.deliverHeld(ctx, g, err); finish != nil {
			return finish, broken
		}
	}
	if !errors.Is(err, agents.ErrUnableToParseOutput) {
		return nil, t.fail(ctx, err)
	}
	text, cut := t.heard.get()
	if _, modelErr := t.run.AfterModel(ctx, core.Response{Text: text, Unparsed: true, Truncated: cut, LastTurn: t.last}); modelErr != nil {
		return nil, t.fail(ctx, modelErr)
	}
	t.watch.saw(t.run)
	return nil, err // with a ParserErrorHandler the executor goes on; without one it ends the run
}

// end ends the run and returns the answer to deliver. A store that fails at this point costs no answer: the end event was sent,
// and what stays behind in the store is a mark that the next run replaces.
func (t *turn) end(ctx context.Context, o core.Outcome) string {
	answer, _ := t.run.Finish(ctx, o)
	t.watch.done()
	return answer
}

// deliverHeld ends the run with the held answer; cause, if not nil, is why the correction came to nothing. A nil finish: there
// is no held answer. The error is the stream's.
func (t *turn) deliverHeld(ctx context.Context, g *gate, cause error) (*schema.AgentFinish, error) {
	answer := t.end(ctx, core.Outcome{Reason: core.EndAnswered, Err: cause})
	if answer == "" {
		return nil, nil
	}
	values := make(map[string]any, len(t.mark.Values))
	for k, v := range t.mark.Values {
		values[k] = v
	}
	log := t.agent.kind.answerPrefix() + answer
	return t.deliver(values, answer, log), g.say(ctx, answer)
}

// acted takes the calls of a response: their ids are made unique, core is told before any tool runs, and the run's state
// goes into them.
func (t *turn) acted(ctx context.Context, g *gate, steps []schema.AgentStep, made []schema.AgentAction) ([]schema.AgentAction, *schema.AgentFinish, error) {
	p := t.agent.plugin
	actions := slices.Clone(made)
	freshIDs(steps, actions)
	calls := make([]core.Call, 0, len(actions))
	var unmade []core.Call
	for i := range actions {
		a := &actions[i]
		if t.agent.kind.text() && p.planner.IsTool(a.Tool) {
			var rest string
			a.ToolInput, rest = firstValue(a.ToolInput)
			unmade = append(unmade, p.callsIn(rest)...)
		}
		calls = append(calls, core.Call{ID: a.ToolID, Name: a.Tool, Args: a.ToolInput})
	}
	text, cut := t.heard.get()
	if t.agent.kind.text() {
		text = "" // the call is in it
	}
	resp := core.Response{Text: text, Calls: append(calls[:len(calls):len(calls)], unmade...), Truncated: cut, LastTurn: t.last}
	if _, err := t.run.AfterModel(ctx, resp); err != nil {
		return nil, nil, t.fail(ctx, err)
	}
	if t.last && t.mark.Corrected { // nothing could be said behind these calls
		for _, c := range calls {
			if p.planner.IsTool(c.Name) {
				if _, err := t.run.CallTool(ctx, c); err != nil {
					return nil, nil, t.fail(ctx, err)
				}
			}
		}
		if finish, broken := t.deliverHeld(ctx, g, nil); finish != nil {
			return nil, finish, broken
		}
	}
	m := t.mark
	m.State, m.Actions, m.Shared = t.run.State(), len(actions), p.share(ctx, t.run, calls)
	for i := range actions {
		m.Index, m.Call = i, core.Call{}
		if p.planner.IsTool(actions[i].Tool) {
			m.Call = calls[i]
		} else if i > 0 {
			continue
		}
		p.stamp(&actions[i], m)
	}
	t.watch.saw(t.run)
	g.drop()
	return actions, nil, nil
}

// finished takes an answer: it is delivered, or held back while the model is called once more.
func (t *turn) finished(ctx context.Context, g *gate, finish *schema.AgentFinish) ([]schema.AgentAction, *schema.AgentFinish, error) {
	said, _ := finish.ReturnValues[t.agent.outputKey()].(string)
	text := said
	if t.agent.kind.text() {
		text = strings.TrimSpace(said)
	}
	_, cut := t.heard.get()
	v, err := t.run.AfterModel(ctx, core.Response{Text: text, Truncated: cut, LastTurn: t.last || g.sent})
	if err != nil {
		return nil, nil, t.fail(ctx, err)
	}
	if v.Action == core.Correct {
		g.drop()
		return []schema.AgentAction{t.correct(v, finish)}, nil, nil
	}
	answer := t.end(ctx, core.Outcome{Answer: text})
	if answer == text { // as the agent gave it, whatever it is
		out := t.deliver(finish.ReturnValues, said, finish.Log)
		if v, ok := finish.ReturnValues[t.agent.outputKey()]; ok {
			out.ReturnValues[t.agent.outputKey()] = v
		}
		return nil, out, g.flush(ctx, said)
	}
	return nil, t.deliver(finish.ReturnValues, answer, t.agent.kind.answerPrefix()+answer), g.say(ctx, answer)
}

// correct makes the call of the todo tool that asks the model once more. The model never sees the call.
func (t *turn) correct(v core.Verdict, finish *schema.AgentFinish) schema.AgentAction {
	p := t.agent.plugin
	m := t.mark
	m.State, m.Actions, m.Corrected, m.Held, m.Message = t.run.State(), 1, true, true, v.Message
	m.Values = map[string]string{}
	for k, v := range finish.ReturnValues {
		if s, ok := v.(string); ok && k != t.agent.outputKey() {
			m.Values[k] = s
		}
	}
	a := schema.AgentAction{Tool: p.tools[0].Name(), ToolID: callID(), Log: "An answer is held back while items are open."}
	p.stamp(&a, m)
	t.watch.saw(t.run)
	return a
}

// freshIDs gives calls without an id, or with one that the run has used, an id of their own: providers answer each call by it.
func freshIDs(steps []schema.AgentStep, actions []schema.AgentAction) {
	used := map[string]bool{"": true}
	for _, s := range steps {
		used[s.Action.ToolID] = true
	}
	for i := range actions {
		if used[actions[i].ToolID] {
			actions[i].ToolID = callID()
		}
		used[actions[i].ToolID] = true
	}
}
