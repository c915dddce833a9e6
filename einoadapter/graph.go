package einoadapter

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// The keys of the loop's nodes. Those of the model and of the tools can be changed in the config.
const (
	DefaultModelKey = "model"
	DefaultToolsKey = "tools"
	GuardKey        = "todo_guard"
	FinishKey       = "todo_finish"
)

// DefaultMaxRunSteps is the step limit of a graph unless GraphConfig.MaxRunSteps says otherwise.
const DefaultMaxRunSteps = 100

// GraphConfig configures the loop of a compose.Graph. It is read once.
type GraphConfig struct {
	Planner *core.Planner              // required
	Model   model.ToolCallingChatModel // required; the loop binds the tools to it
	Tools   compose.ToolsNodeConfig    // the agent's other tools and how they run; the planner's are added
	Next    string                     // the node behind the loop, a *schema.Message in, which is in the graph already; "": compose.END

	ModelKey string // "": DefaultModelKey; the graph's edges lead here
	ToolsKey string // "": DefaultToolsKey

	// MaxRunSteps is the graph's step limit: [Loop.CompileOptions] passes it on, and a limit that is given to eino in
	// another way is to be the same. 0: DefaultMaxRunSteps. Each visit of a node is a step: an answer at once takes 2
	// (model, todo_finish), a round of tools 2 (tools, model), a correction 2 (todo_guard, model). A correction is made
	// only where 5 steps are left, so that a write fits in. Where the limit is reached after it, the run ends with the answer
	// that was given, in place of compose.ErrExceedMaxSteps. A resumed run counts from zero, as eino does.
	MaxRunSteps int
	// OtherSteps is how many of these the graph's other nodes take in all, on the way into the loop, out of it and back; 0: none.
	OtherSteps int

	// Live passes a streamed answer on from its first chunk of text, while nothing is open and no answer is held. It is for
	// models that send their calls before any text: of a response that starts with text the calls would not be run. Without it
	// a response is read to its end first: an answer and text before a call look alike until then.
	Live bool
	// NoInstruction leaves the planner's instruction out of the request's system message.
	NoInstruction bool

	ModelOptions []compose.GraphAddNodeOpt // of the model node; nil: none
	ToolsOptions []compose.GraphAddNodeOpt // of the tools node; nil: none
}

// Loop is the model loop of a graph with a todo list in it: the model and its tools, todo_guard, which asks once more when an
// answer came too early, and todo_finish, which delivers the answer (docs/design.md, sections 1 and 6). [AddLoop] wires it. Who
// wires by hand adds the parts under the keys above:
//
//	ModelKey  -> Branch: ToolsKey | todo_guard | todo_finish | Next
//	ToolsKey  -> ModelKey
//	todo_guard -> ModelKey
//	todo_finish -> Next
//
// The run lives in the graph's local state, which embeds [GraphState]; no state handler is needed, and the nodes' own are the
// user's. The session id comes from [core.WithSession]; without one the model node fails with core.ErrNoSession. Every
// invocation of the graph is a run of its own; a resume continues the run, with a new input boundary. A Loop is safe for
// concurrent use.
type Loop struct {
	planner *core.Planner
	cfg     GraphConfig
	model   *loopModel
	tools   *compose.ToolsNode
}

// NewLoop makes the parts of a loop. An error names the field that is missing or wrong, or is a tool's.
func NewLoop(ctx context.Context, cfg *GraphConfig) (*Loop, error) {
	if cfg == nil {
		return nil, errors.New("einoadapter: the GraphConfig is nil")
	}
	l := &Loop{planner: cfg.Planner, cfg: *cfg}
	switch {
	case cfg.Planner == nil:
		return nil, errors.New("einoadapter: GraphConfig.Planner is nil, want one from core.New")
	case cfg.Model == nil:
		return nil, errors.New("einoadapter: GraphConfig.Model is nil, want a model.ToolCallingChatModel")
	case cfg.MaxRunSteps < 0, cfg.OtherSteps < 0:
		return nil, fmt.Errorf("einoadapter: GraphConfig.MaxRunSteps is %d and OtherSteps %d, want 0 or more", cfg.MaxRunSteps, cfg.OtherSteps)
	}
	setDefault(&l.cfg.ModelKey, DefaultModelKey)
	setDefault(&l.cfg.ToolsKey, DefaultToolsKey)
	setDefault(&l.cfg.Next, compose.END)
	setDefault(&l.cfg.MaxRunSteps, DefaultMaxRunSteps)

	tools, err := withPlannerTools(ctx, cfg.Planner, cfg.Tools, l.callTool, l.ToolMiddleware())
	if err != nil {
		return nil, err
	}
	infos := make([]*schema.ToolInfo, len(tools.Tools))
	for i, t := range tools.Tools {
		if infos[i], err = t.Info(ctx); err != nil {
			return nil, fmt.Errorf("einoadapter: tool %d: %w", i, err)
		}
	}
	if l.tools, err = compose.NewToolNode(ctx, &tools); err != nil {
		return nil, err
	}
	inner, err := asker{cfg.Model}.bind(infos)
	if err != nil {
		return nil, fmt.Errorf("einoadapter: bind the tools: %w", err)
	}
	l.model = &loopModel{l, inner}
	return l, nil
}

// AddLoop adds the nodes and edges of a loop to a graph whose local state embeds [GraphState]. What is left to do is an edge
// to the model node, and compiling with [Loop.CompileOptions].
func AddLoop[I, O any](ctx context.Context, g *compose.Graph[I, O], cfg *GraphConfig) (*Loop, error) {
	l, err := NewLoop(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c := &l.cfg
	steps := []func() error{
		func() error { return g.AddChatModelNode(c.ModelKey, l.Model(), c.ModelOptions...) },
		func() error { return g.AddToolsNode(c.ToolsKey, l.ToolsNode(), c.ToolsOptions...) },
		func() error { return g.AddLambdaNode(GuardKey, l.Guard(), compose.WithNodeName(GuardKey)) },
		func() error { return g.AddLambdaNode(FinishKey, l.Finish(), compose.WithNodeName(FinishKey)) },
		func() error { return g.AddBranch(c.ModelKey, l.Branch()) },
		func() error { return g.AddEdge(c.ToolsKey, c.ModelKey) },
		func() error { return g.AddEdge(GuardKey, c.ModelKey) },
		func() error { return g.AddEdge(FinishKey, c.Next) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("einoadapter: add the loop: %w", err)
		}
	}
	return l, nil
}

// CompileOptions are what the graph is to be compiled with: the step limit that the loop reckons with.
func (l *Loop) CompileOptions() []compose.GraphCompileOption {
	return []compose.GraphCompileOption{compose.WithMaxRunSteps(l.cfg.MaxRunSteps)}
}

// Model is the model node, with the tools bound. It takes new messages and keeps the history itself.
func (l *Loop) Model() model.ToolCallingChatModel { return l.model }

// ToolsNode is the tools node, with [Loop.ToolMiddleware] in it.
func (l *Loop) ToolsNode() *compose.ToolsNode { return l.tools }

func (l *Loop) instruct(req []*schema.Message) []*schema.Message {
	if l.cfg.NoInstruction {
		return req
	}
	return withInstruction(req, l.planner.Instruction())
}

// withPlannerTools adds the planner's tools, which call, and a middleware, outermost, to a copy of a tools node's config.
func withPlannerTools(ctx context.Context, p *core.Planner, c compose.ToolsNodeConfig, call callFunc, mw compose.ToolMiddleware) (compose.ToolsNodeConfig, error) {
	for i, t := range c.Tools {
		info, err := t.Info(ctx)
		if err != nil {
			return c, fmt.Errorf("einoadapter: tool %d: %w", i, err)
		}
		if p.IsTool(info.Name) {
			return c, fmt.Errorf("einoadapter: tool %d is called %q, which is the planner's own: rename one of them (core.Config.ToolName)", i, info.Name)
		}
	}
	own, err := newTools(p, call)
	if err != nil {
		return c, err
	}
	c.Tools = slices.Concat(own, c.Tools)
	c.ToolCallMiddlewares = slices.Concat([]compose.ToolMiddleware{mw}, c.ToolCallMiddlewares)
	return c, nil
}

func setDefault[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}
