package lcgadapter

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// mark is what the hook writes into the actions of a turn and reads back from the steps.
type mark struct {
	State     core.RunState     `json:"state"` // of the run, before the tools of this turn
	Session   string            `json:"session"`
	Boundary  string            `json:"boundary"`
	Turn      int               `json:"turn"`                // number of the Plan call in its run, from 1
	Index     int               `json:"index"`               // of the action in its turn
	Actions   int               `json:"actions"`             // of the turn
	Corrected bool              `json:"corrected,omitempty"` // an answer was held back in this run
	Values    map[string]string `json:"values,omitempty"`    // what the agent returned beside that answer

	Shared  string    `json:"shared,omitempty"`  // several todo calls in this turn: where they find one run
	Call    core.Call `json:"call,omitzero"`     // a todo call, as the model made it
	Held    bool      `json:"held,omitempty"`    // the hook's own call: an answer is held back
	Message string    `json:"message,omitempty"` // Held: what the model is told
}

// sealPrefix begins every seal. No JSON begins so.
const sealPrefix = "todoguard:"

// seal makes the text form of a mark, which only this plugin can make.
func (p *Plugin) seal(m mark) string {
	b, err := json.Marshal(m)
	if err != nil {
		panic("lcgadapter: " + err.Error()) // plain data: cannot happen
	}
	return sealPrefix + base64.RawURLEncoding.EncodeToString(b) + "." + base64.RawURLEncoding.EncodeToString(p.mac(b))
}

// unseal reads a seal of this plugin. Anything else, also one that a model made up, is none.
func (p *Plugin) unseal(s string) (mark, bool) {
	var m mark
	body, ok := strings.CutPrefix(s, sealPrefix)
	if !ok {
		return m, false
	}
	data, sum, ok := strings.Cut(body, ".")
	if !ok {
		return m, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(data)
	if err != nil {
		return m, false
	}
	got, err := base64.RawURLEncoding.Strict().DecodeString(sum)
	if err != nil || !hmac.Equal(got, p.mac(b)) {
		return m, false
	}
	return m, json.Unmarshal(b, &m) == nil
}

func (p *Plugin) mac(b []byte) []byte {
	h := hmac.New(sha256.New, p.key)
	h.Write(b)
	return h.Sum(nil)[:16]
}

// stamp puts the mark into an action: into the input of a todo call, else behind the log.
func (p *Plugin) stamp(a *schema.AgentAction, m mark) {
	if p.planner.IsTool(a.Tool) {
		a.ToolInput = p.seal(m)
		return
	}
	a.Log += "\n" + p.seal(m)
}

// read takes the mark out of an action and returns the action as the model made it.
func (p *Plugin) read(a schema.AgentAction) (schema.AgentAction, mark, bool) {
	if p.planner.IsTool(a.Tool) {
		m, ok := p.unseal(a.ToolInput)
		if ok {
			a.ToolInput = m.Call.Args
		}
		return a, m, ok
	}
	i := strings.LastIndex(a.Log, "\n"+sealPrefix)
	if i < 0 {
		return a, mark{}, false
	}
	m, ok := p.unseal(a.Log[i+1:])
	if ok {
		a.Log = a.Log[:i]
	}
	return a, m, ok
}

// CleanSteps returns a copy of intermediate steps as the model made them: without seals, and without the calls by which
// the hook held an answer back. The executor of [NewExecutor] does it by itself.
func (p *Plugin) CleanSteps(steps []schema.AgentStep) []schema.AgentStep {
	out := make([]schema.AgentStep, 0, len(steps))
	for _, s := range steps {
		a, m, _ := p.read(s.Action)
		if !m.Held {
			out = append(out, schema.AgentStep{Action: a, Observation: s.Observation})
		}
	}
	return out
}
