package lcgadapter

import (
	"context"
	"maps"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
)

// Agent is the hook: an agents.Agent round another one. It shows the list at the tail of each request, holds back an answer
// while items are open and decides which answer is delivered (docs/design.md, section 6). It has no mutable fields: any
// number of runs may use one Agent at once. Make one with [Wrap] or [Plugin.Wrap], run it with [NewExecutor].
//
// With an executor of agents.NewExecutor it works as well; [WithMaxIterations] then tells it the limit, and a run that ends
// inside the executor (a tool's error, an answer that cannot be parsed, the limit) has no end event, and the actions that its
// handlers see carry the run's state.
type Agent struct {
	plugin  *Plugin
	inner   agents.Agent
	kind    kind
	handler callbacks.Handler // of a text agent, which gets its stream; nil: none
}

var _ agents.Agent = (*Agent)(nil)

// kind is how an agent talks to its model.
type kind int

const (
	other kind = iota
	functions
	mrkl
	conversational
)

func (k kind) text() bool { return k == mrkl || k == conversational }

// Plugin is the plugin that the agent is hooked by.
func (a *Agent) Plugin() *Plugin { return a.plugin }

// GetInputKeys implements agents.Agent.
func (a *Agent) GetInputKeys() []string { return a.inner.GetInputKeys() }

// GetOutputKeys implements agents.Agent.
func (a *Agent) GetOutputKeys() []string { return a.inner.GetOutputKeys() }

// GetTools implements agents.Agent. Tools that are not the plugin's come wrapped, so that an agent inside one knows that it is
// nested.
func (a *Agent) GetTools() []tools.Tool {
	have := a.inner.GetTools()
	out := make([]tools.Tool, len(have))
	for i, t := range have {
		if out[i] = t; t != nil && !a.plugin.owns(t) {
			out[i] = outerTool{Tool: t, plugin: a.plugin}
		}
	}
	return out
}

// Plan implements agents.Agent: it is one turn of the model. Errors are those of the wrapped agent, a done ctx, a store that
// failed, and core.ErrNoSession.
func (a *Agent) Plan(ctx context.Context, steps []schema.AgentStep, inputs map[string]string, options ...chains.ChainCallOption) ([]schema.AgentAction, *schema.AgentFinish, error) {
	if a.plugin.passive(ctx) {
		return a.inner.Plan(ctx, steps, inputs, options...)
	}
	t, err := a.turn(ctx, steps)
	if err != nil {
		return nil, nil, err
	}
	req := a.request(steps, inputs)
	tail, err := t.run.BeforeModel(ctx, core.Prompt{Boundary: t.mark.Boundary, LastTool: req.last})
	if err != nil {
		return nil, nil, t.fail(ctx, err)
	}
	a.addTail(&req, tail)
	g, options := a.gate(t, options)
	actions, finish, err := a.inner.Plan(context.WithValue(ctx, heardKey{}, &t.heard), req.steps, req.inputs, options...)
	switch {
	case err != nil:
		if act := a.emptyCall(err); act != nil && ctx.Err() == nil {
			return t.acted(ctx, g, steps, []schema.AgentAction{*act})
		}
		finish, err = t.planFailed(ctx, g, err)
		return nil, finish, err
	case finish != nil:
		if act := a.rescue(finish); act != nil {
			return t.acted(ctx, g, steps, []schema.AgentAction{*act})
		}
		return t.finished(ctx, g, finish)
	case len(actions) == 0:
		return nil, nil, t.fail(ctx, agents.ErrAgentNoReturn)
	}
	return t.acted(ctx, g, steps, actions)
}

// turn is one Plan call.
type turn struct {
	agent *Agent
	run   *core.Run
	mark  mark  // what the actions of this turn will carry, but for State
	last  bool  // no further model call is possible in this run
	heard heard // what the model wrapper saw
	watch *watch
}

// turn resumes the run from the steps, or begins one.
func (a *Agent) turn(ctx context.Context, steps []schema.AgentStep) (*turn, error) {
	p := a.plugin
	t := &turn{agent: a, watch: watchOf(ctx)}
	if at, m, ok := p.lastMark(steps); ok {
		run, err := p.planner.Resume(m.State)
		if err != nil {
			return nil, err
		}
		end := min(at+m.Actions, len(steps))
		for _, s := range steps[at:end] {
			if _, m, ok := p.read(s.Action); ok && !m.Held && m.Call.Name != "" {
				run.Observe(m.Call, s.Observation)
			}
		}
		t.run = run
		t.mark = mark{Session: m.Session, Boundary: m.Boundary, Corrected: m.Corrected, Values: m.Values,
			Turn: m.Turn + 1 + len(steps) - end} // steps behind the turn are answers that could not be parsed
	} else {
		var err error
		if state := t.watch.open(); state != nil { // so far only answers that could not be parsed
			t.run, err = p.planner.Resume(*state)
		} else {
			t.run, err = p.begin(ctx)
		}
		if err != nil {
			return nil, err
		}
		t.mark = mark{Session: p.session(ctx), Boundary: token(), Turn: 1 + len(steps)}
	}
	t.last = a.lastTurn(t)
	t.watch.saw(t.run)
	return t, nil
}

// lastTurn reports whether the executor makes no further model call. An executor that says nothing is taken to have the
// default limit, until it is seen to go beyond.
func (a *Agent) lastTurn(t *turn) bool {
	const executorDefault = 5
	switch {
	case t.watch != nil:
		return t.mark.Turn >= t.watch.limit
	case a.plugin.settings.maxIterations > 0:
		return t.mark.Turn >= a.plugin.settings.maxIterations
	}
	return t.mark.Turn == executorDefault
}

// fail ends the run with an error.
func (t *turn) fail(ctx context.Context, err error) error {
	_, _ = t.run.Finish(ctx, core.Outcome{Err: err}) // err is the one to report
	t.watch.done()
	return err
}

// outputKey is where the agent puts its answer, or "".
func (a *Agent) outputKey() string {
	if keys := a.inner.GetOutputKeys(); len(keys) > 0 {
		return keys[0]
	}
	return ""
}

// deliver makes the finish that gives answer to the caller, in a fresh map: the executor writes into it.
func (t *turn) deliver(values map[string]any, answer, log string) *schema.AgentFinish {
	out := make(map[string]any, len(values)+1)
	maps.Copy(out, values)
	out[t.agent.outputKey()] = answer
	return &schema.AgentFinish{ReturnValues: out, Log: log}
}
