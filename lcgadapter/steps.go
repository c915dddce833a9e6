package lcgadapter

import (
	"maps"
	"slices"

	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// lastMark finds the head of the last turn that this hook made, and where its actions begin.
func (p *Plugin) lastMark(steps []schema.AgentStep) (at int, m mark, ok bool) {
	for i := len(steps) - 1; i >= 0; i-- {
		if _, m, ok := p.read(steps[i].Action); ok && m.Index == 0 {
			return i, m, true
		}
	}
	return 0, mark{}, false
}

// request is what the wrapped agent is asked with: copies, as the model should see them.
type request struct {
	steps  []schema.AgentStep
	inputs map[string]string
	last   core.Call // the tool call whose result ends the request
}

// request translates the executor's steps: no seals, no calls that the model did not make, and no steps that its kind of
// agent cannot send. The executor's steps and inputs stay as they are.
func (a *Agent) request(steps []schema.AgentStep, inputs map[string]string) request {
	r := request{steps: make([]schema.AgentStep, 0, len(steps)), inputs: inputs}
	for _, s := range steps {
		act, m, _ := a.plugin.read(s.Action)
		switch {
		case m.Held:
			continue
		case act.Tool == "" && act.ToolInput == "" && !a.kind.text():
			// What a ParserErrorHandler leaves. As a tool call it would have neither name nor id.
			a.addTail(&r, s.Observation)
			continue
		}
		if n := len(r.steps); n > 0 && !a.kind.text() && act.Log == r.steps[n-1].Action.Log {
			act.Log += " " // equal logs would merge two turns into one message
		}
		r.steps = append(r.steps, schema.AgentStep{Action: act, Observation: s.Observation})
		r.last = core.Call{ID: act.ToolID, Name: act.Tool, Args: act.ToolInput}
	}
	return r
}

// addTail puts a text at the very end of the request: behind the last observation, or behind the user's input while
// there is none.
func (a *Agent) addTail(r *request, text string) {
	if text == "" {
		return
	}
	if n := len(r.steps); n > 0 {
		r.steps[n-1].Observation += "\n\n" + text
		return
	}
	key := a.inputKey(r.inputs)
	if key == "" {
		return
	}
	r.inputs = maps.Clone(r.inputs) // the executor gives one map to every Plan of the run, and memory its own
	r.inputs[key] += "\n\n" + text
}

// inputKey is the input that holds the user's text, or "".
func (a *Agent) inputKey(inputs map[string]string) string {
	keys := []string{a.plugin.settings.inputKey, "input"}
	if mine := a.inner.GetInputKeys(); len(mine) == 1 {
		keys = append(keys, mine[0])
	}
	i := slices.IndexFunc(keys, func(k string) bool { _, ok := inputs[k]; return ok && k != "" })
	if i < 0 {
		return ""
	}
	return keys[i]
}
