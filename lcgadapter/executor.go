package lcgadapter

import (
	"context"
	"errors"
	"sync"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// Executor is an agents.Executor that lets the hook know its limit of iterations, reports the end of runs that end inside
// the executor (a tool's error, the limit, an answer that cannot be parsed), gives list events to its callbacks handler
// (see [EventHandler]) and returns intermediate steps as the model made them.
type Executor struct {
	*agents.Executor
	agent *Agent
}

var (
	_ chains.Chain           = (*Executor)(nil)
	_ callbacks.HandlerHaver = (*Executor)(nil)
)

// NewExecutor is agents.NewExecutor for a hooked agent, with the same options and defaults (5 iterations).
func NewExecutor(a *Agent, opts ...agents.Option) *Executor {
	return &Executor{Executor: agents.NewExecutor(a, opts...), agent: a}
}

// Call runs the agent. chains.Run and chains.Call call it.
func (e *Executor) Call(ctx context.Context, inputs map[string]any, options ...chains.ChainCallOption) (map[string]any, error) {
	p := e.agent.plugin
	if p.passive(ctx) {
		return e.Executor.Call(ctx, inputs, options...)
	}
	inner := *e.Executor // so that the handler sees clean actions; the caller's stays as it is
	if h := inner.CallbacksHandler; h != nil {
		inner.CallbacksHandler = cleanHandler{Handler: h, plugin: p}
	}
	life, over := context.WithCancel(ctx) // not the ctx of the tools: what they start may go on
	defer over()
	w := &watch{limit: e.MaxIterations, handler: e.CallbacksHandler, life: life}
	ctx = context.WithValue(ctx, watchKey{}, w)
	out, err := inner.Call(ctx, inputs, options...)
	if err != nil {
		p.ended(ctx, w, err)
	}
	const key = "intermediateSteps" // agents does not export it
	if steps, ok := out[key].([]schema.AgentStep); ok {
		out[key] = p.CleanSteps(steps)
	}
	return out, err
}

// ended tells the run that it ended inside the executor.
func (p *Plugin) ended(ctx context.Context, w *watch, err error) {
	state := w.open()
	if state == nil {
		return
	}
	run, resumeErr := p.planner.Resume(*state)
	if resumeErr != nil {
		return
	}
	o := core.Outcome{Err: err}
	if errors.Is(err, agents.ErrNotFinished) {
		o.Reason = core.EndMaxIterations
	}
	_, _ = run.Finish(ctx, o) // the run's own error is the one to report
}

type watchKey struct{}

// watch is what one Call of an [Executor] and the hook inside it know of each other. A nil watch is none.
type watch struct {
	limit   int
	handler callbacks.Handler
	life    context.Context // of the Call

	mu    sync.Mutex
	state *core.RunState // of the run that has not ended
}

func watchOf(ctx context.Context) *watch {
	w, _ := ctx.Value(watchKey{}).(*watch)
	return w
}

// saw notes where the run stands.
func (w *watch) saw(run *core.Run) {
	if w == nil {
		return
	}
	state := run.State()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = &state
}

// done notes that the run has ended and was reported.
func (w *watch) done() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = nil
}

// open returns the state of the run that has not ended, or nil.
func (w *watch) open() *core.RunState {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}
