package lcgadapter

import (
	"context"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// EventHandler is a callbacks.Handler that gets the events of the list beside those of the executor: list changes after
// their commit, refusals, corrections, reminders and the end of the run. Give it to [NewExecutor] with
// agents.WithCallbacksHandler, alone or in a callbacks.CombiningHandler; it gets the events of the runs of that executor.
// (core.Config.OnEvent gets those of all runs, and the host's own edits.)
type EventHandler interface {
	callbacks.Handler
	HandleTodoEvent(ctx context.Context, e core.Event)
}

// Handler makes an [EventHandler] that calls f and passes everything else on to next. A nil next or f gets nothing.
func Handler(next callbacks.Handler, f func(ctx context.Context, e core.Event)) EventHandler {
	if next == nil {
		next = callbacks.SimpleHandler{}
	}
	return funcHandler{Handler: next, f: f}
}

type funcHandler struct {
	callbacks.Handler
	f func(context.Context, core.Event)
}

// HandleTodoEvent implements EventHandler.
func (h funcHandler) HandleTodoEvent(ctx context.Context, e core.Event) {
	if h.f != nil {
		h.f(ctx, e)
	}
	tell(ctx, h.Handler, e)
}

// routeEvent gives an event to the handler of the executor whose run caused it.
func routeEvent(ctx context.Context, e core.Event) {
	if w := watchOf(ctx); w != nil {
		tell(ctx, w.handler, e)
	}
}

func tell(ctx context.Context, h callbacks.Handler, e core.Event) {
	switch h := h.(type) {
	case EventHandler:
		h.HandleTodoEvent(ctx, e)
	case callbacks.CombiningHandler:
		for _, one := range h.Callbacks {
			tell(ctx, one, e)
		}
	case *callbacks.CombiningHandler:
		for _, one := range h.Callbacks {
			tell(ctx, one, e)
		}
	}
}

// cleanHandler shows actions as the model made them, and none that it did not make.
type cleanHandler struct {
	callbacks.Handler
	plugin *Plugin
}

// HandleAgentAction implements callbacks.Handler.
func (h cleanHandler) HandleAgentAction(ctx context.Context, a schema.AgentAction) {
	a, m, _ := h.plugin.read(a)
	if !m.Held {
		h.Handler.HandleAgentAction(ctx, a)
	}
}
