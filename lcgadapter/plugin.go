package lcgadapter

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
)

// Plugin is one configuration of the todo list for LangChainGo. It holds no list and nothing of a run: one Plugin serves
// any number of agents and runs at once. Make one with [New].
type Plugin struct {
	planner  *core.Planner
	settings settings
	tools    []*Tool
	key      []byte // authenticates what the hook writes into actions
	shared   sharedRuns
}

// New makes a Plugin. The zero configuration works: write_todos on a list in memory. An error names the field that is
// wrong.
func New(opts ...Option) (*Plugin, error) {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	planner, err := core.New(s.cfg)
	if err != nil {
		return nil, fmt.Errorf("lcgadapter: %w", err)
	}
	p := &Plugin{planner: planner, settings: s, key: make([]byte, 32)}
	_, _ = rand.Read(p.key) // never fails since Go 1.24
	for _, spec := range planner.Tools() {
		t, err := newTool(p, spec)
		if err != nil {
			return nil, err
		}
		p.tools = append(p.tools, t)
	}
	planner.Observe(routeEvent)
	return p, nil
}

// Planner is the host's way to the lists: Get, Update, Replan, Clear, Watch.
func (p *Plugin) Planner() *core.Planner { return p.planner }

// Tools returns what a text agent must be made with: write_todos, or the four task tools. The slice is the caller's.
func (p *Plugin) Tools() []tools.Tool {
	out := make([]tools.Tool, len(p.tools))
	for i, t := range p.tools {
		out[i] = t
	}
	return out
}

// Model wraps a model for an agent that [Plugin.Wrap] cannot see into. Wrap does it by itself for the agents of LangChainGo.
func (p *Plugin) Model(m llms.Model) *Model { return &Model{model: m, plugin: p} }

// session is the session id of ctx, or "".
func (p *Plugin) session(ctx context.Context) string {
	if f := p.settings.session; f != nil {
		return f(ctx)
	}
	id, _ := core.SessionFrom(ctx)
	return id
}

// begin starts a run on the session of ctx.
func (p *Plugin) begin(ctx context.Context) (*core.Run, error) {
	run, err := p.planner.Begin(p.session(ctx), core.RunOptions{CorrectionInTail: true})
	if err != nil {
		return nil, fmt.Errorf("lcgadapter: %w (core.WithSession puts the id into ctx)", err)
	}
	return run, nil
}

// owns reports whether t is a tool of this plugin.
func (p *Plugin) owns(t tools.Tool) bool {
	mine, ok := t.(*Tool)
	return ok && slices.Contains(p.tools, mine)
}

// token is a fresh unguessable id.
func token() string {
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails since Go 1.24
	return base64.RawURLEncoding.EncodeToString(b[:])
}
