package einoadapter

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// NewCallback returns a handler that tells the planner's observers how a run ended where only eino's callbacks know it: an
// error, an interrupt, a cancelled context, the step limit, or a tool whose result is returned directly. Pass it to
// compose.WithCallbacks (graph, react) or adk.WithCallbacks, or register it globally.
//
// Everything else (turns, writes, refusals, corrections, reminders and the end of a run that was answered) the planner
// reports itself, in the order of the revisions and with or without this handler: it adds nothing to those and doubles none.
// A run that was interrupted is reported as paused; it may go on, and end, later.
//
// One handler serves any number of runs at once and knows no planner: a run reports to the planner that began it. Of a
// streamed answer it reads a copy of its own to the end, on a goroutine, so a consumer that stops reading holds up no event.
func NewCallback() callbacks.Handler {
	return callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackInput) context.Context {
			return enter(ctx, info)
		}).
		OnStartWithStreamInputFn(func(ctx context.Context, info *callbacks.RunInfo, in *schema.StreamReader[callbacks.CallbackInput]) context.Context {
			in.Close()
			return enter(ctx, info)
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			if s := endingScope(ctx, info); s != nil {
				s.finish(ctx, textOf(out), nil)
			}
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, info *callbacks.RunInfo, out *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			s := endingScope(ctx, info)
			if s == nil {
				out.Close()
				return ctx
			}
			go s.finishStream(ctx, out)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			if s := endingScope(ctx, info); s != nil {
				s.finish(ctx, "", err)
			}
			return ctx
		}).
		Build()
}

// runScope collects the runs of one root graph. What runs inside a tool is a root of its own.
type runScope struct {
	mu   sync.Mutex
	runs []*core.Run
}

type (
	scopeKey struct{}
	scopeAt  struct {
		scope *runScope
		root  *callbacks.RunInfo // of the graph that opened it
	}
)

func isGraph(info *callbacks.RunInfo) bool {
	if info == nil {
		return false
	}
	switch info.Component {
	case compose.ComponentOfGraph, compose.ComponentOfChain, compose.ComponentOfWorkflow:
		return true
	}
	return false
}

// enter opens a scope at a root graph and leaves it at a tool. A nested graph, and a second handler, find it open.
func enter(ctx context.Context, info *callbacks.RunInfo) context.Context {
	at, _ := ctx.Value(scopeKey{}).(scopeAt)
	switch {
	case info != nil && info.Component == components.ComponentOfTool:
		return context.WithValue(ctx, scopeKey{}, scopeAt{})
	case at.scope == nil && isGraph(info):
		return context.WithValue(ctx, scopeKey{}, scopeAt{&runScope{}, info})
	}
	return ctx
}

// endingScope is the scope that ends with the graph that info is of, or nil.
func endingScope(ctx context.Context, info *callbacks.RunInfo) *runScope {
	if at, _ := ctx.Value(scopeKey{}).(scopeAt); info != nil && at.root == info {
		return at.scope
	}
	return nil
}

// noteRun tells the handler, if there is one, of a run that began or was resumed under ctx.
func noteRun(ctx context.Context, run *core.Run) {
	at, _ := ctx.Value(scopeKey{}).(scopeAt)
	if at.scope == nil {
		return
	}
	at.scope.mu.Lock()
	defer at.scope.mu.Unlock()
	at.scope.runs = append(at.scope.runs, run)
}

// finish ends the runs that have not ended yet; for those that have, core does nothing.
func (s *runScope) finish(ctx context.Context, answer string, err error) {
	s.mu.Lock()
	runs := s.runs
	s.runs = nil
	s.mu.Unlock()
	for _, run := range runs {
		_, _ = run.Finish(ctx, core.Outcome{Answer: answer, Reason: endReason(err), Err: err}) // the end is reported whatever the store says
	}
}

// finishStream reads an answer to its end.
func (s *runScope) finishStream(ctx context.Context, out *schema.StreamReader[callbacks.CallbackOutput]) {
	defer out.Close()
	text := ""
	for {
		chunk, err := out.Recv()
		if errors.Is(err, io.EOF) {
			s.finish(ctx, text, nil)
			return
		}
		if err != nil {
			s.finish(ctx, "", err)
			return
		}
		text += textOf(chunk)
	}
}

func textOf(out callbacks.CallbackOutput) string {
	switch v := out.(type) {
	case *schema.Message:
		if v != nil {
			return v.Content
		}
	case string:
		return v
	}
	return ""
}

// endReason says what an error of a graph or an agent means for the run. "" leaves it to core.
func endReason(err error) core.EndReason {
	switch {
	case err == nil:
		return core.EndReturned
	case isInterrupt(err):
		return core.EndInterrupted
	case errors.Is(err, compose.ErrExceedMaxSteps), errors.Is(err, adk.ErrExceedMaxIterations):
		return core.EndMaxIterations
	}
	return ""
}

// isInterrupt reports whether err is no failure but a pause that a checkpoint keeps.
func isInterrupt(err error) bool {
	if _, ok := compose.ExtractInterruptInfo(err); ok {
		return true
	}
	_, ok := compose.IsInterruptRerunError(err)
	return ok || errors.Is(err, adk.ErrStreamCanceled)
}
