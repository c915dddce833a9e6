package lcgadapter

import (
	"context"

	"github.com/tmc/langchaingo/tools"
)

// The list belongs to the root agent (docs/design.md, section 2). The tools that the hook gives to the executor mark the ctx
// of what runs inside them; an agent there with the same session is passive: no list, no reminder, no guard, and its
// model does not see the tool. A session of its own (core.WithSession in the tool, or WithSessionFunc) is how the host
// asks for a list.

type nestedKey struct{}

// passive reports whether ctx is inside a tool of a hooked agent of the same session.
func (p *Plugin) passive(ctx context.Context) bool {
	outer, ok := ctx.Value(nestedKey{}).(string)
	return ok && outer == p.session(ctx)
}

// outerTool is a tool of the agent that is not the plugin's.
type outerTool struct {
	tools.Tool
	plugin *Plugin
}

// Call implements tools.Tool.
func (t outerTool) Call(ctx context.Context, input string) (string, error) {
	session := t.plugin.session(ctx)
	ctx = context.WithValue(ctx, watchKey{}, (*watch)(nil))
	return t.Tool.Call(context.WithValue(ctx, nestedKey{}, session), input)
}
