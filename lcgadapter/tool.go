package lcgadapter

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
)

// Tool is one of the plugin's tools (docs/design.md, section 3). It may be called by an agent that is not hooked: the list
// is then kept, but not shown, and nothing is guarded. Safe for concurrent use.
type Tool struct {
	plugin *Plugin
	spec   core.ToolSpec
	schema map[string]any // spec.Schema; maps and slices of any all the way, which googleai needs
}

var _ tools.Tool = (*Tool)(nil)

func newTool(p *Plugin, spec core.ToolSpec) (*Tool, error) {
	t := &Tool{plugin: p, spec: spec}
	if err := json.Unmarshal(spec.Schema, &t.schema); err != nil {
		return nil, fmt.Errorf("lcgadapter: schema of %q: %w", spec.Name, err)
	}
	return t, nil
}

// Name is the name that the model calls.
func (t *Tool) Name() string { return t.spec.Name }

// Description tells a text agent what the tool does and what its input looks like. Function agents get the schema as a
// schema and the description without it, through the [Model].
func (t *Tool) Description() string {
	return t.spec.Description + " The input is one JSON object of this schema: " + string(t.spec.Schema)
}

// notHere is what a nested agent is told: the list is its caller's (docs/design.md, section 2).
const notHere = "The todo list is not available here: it belongs to the agent that called you. Go on without it."

// Call runs the tool and returns the result for the model; a refusal is a result. A Go error means a done ctx, a store that
// failed (core.Config.OnStoreError) or a ctx without a session (core.ErrNoSession); LangChainGo ends the run on it.
func (t *Tool) Call(ctx context.Context, input string) (string, error) {
	p := t.plugin
	if m, ok := p.unseal(input); ok {
		if m.Held {
			return m.Message, nil
		}
		run, err := p.runOf(m)
		if err != nil {
			return "", err
		}
		result, err := run.CallTool(ctx, m.Call)
		watchOf(ctx).saw(run)
		return result, err
	}
	if p.passive(ctx) {
		return notHere, nil
	}
	run, err := p.begin(ctx)
	if err != nil {
		return "", err
	}
	args, _ := firstValue(input)
	return run.CallTool(ctx, core.Call{ID: callID(), Name: t.spec.Name, Args: args})
}

// callID is an id for a call that has none.
func callID() string { return "todo_" + token() }
