package einoadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// What one more thing costs, in steps of the graph.
const (
	stepsFinish     = 1 // todo_finish
	stepsTools      = 2 // tools, model
	stepsCorrection = 2 // todo_guard, model
)

// Branch follows the model node: to the tools, to todo_guard or to todo_finish, and straight to Next with an answer that came
// on the last step. This is where a response is judged, before any of its tools runs.
func (l *Loop) Branch() *compose.GraphBranch {
	ends := map[string]bool{l.cfg.ToolsKey: true, GuardKey: true, FinishKey: true, l.cfg.Next: true}
	return compose.NewStreamGraphBranch(l.decide, ends)
}

func (l *Loop) decide(ctx context.Context, in *schema.StreamReader[*schema.Message]) (string, error) {
	defer in.Close()
	box, run, err := l.current(ctx)
	if err != nil {
		return "", err
	}
	if box.data().Deliver { // the model call failed after an answer
		return FinishKey, nil
	}
	live := l.cfg.Live && l.left(box) >= stepsFinish && settled(run, box)
	var chunks []*schema.Message
	for {
		chunk, err := in.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if deliverHeld(ctx, box, err) {
				return FinishKey, nil
			}
			return "", err
		}
		chunks = append(chunks, chunk)
		if live && chunk.Content != "" && !slices.ContainsFunc(chunks, callsTools) {
			box.update(func(d *runData) { d.Passing = true })
			return FinishKey, nil
		}
	}
	msg, err := whole(chunks)
	if err != nil {
		return "", err
	}
	return l.judge(ctx, box, run, msg)
}

// judge asks core about a whole response and says which node is next.
func (l *Loop) judge(ctx context.Context, box *runBox, run seams, msg *schema.Message) (string, error) {
	left := l.left(box)
	resp := responseOf(msg)
	resp.LastTurn = left < stepsCorrection+stepsTools+stepsFinish
	v, err := run.AfterModel(ctx, resp)
	if err != nil {
		return "", fmt.Errorf("einoadapter: %w", err)
	}
	if v.Action == core.Correct {
		box.update(func(d *runData) { d.Correction, d.Given, d.Closing = v.Message, true, true })
		return GuardKey, nil
	}
	if len(resp.Calls) == 0 {
		next := FinishKey
		if left < stepsFinish { // nothing is held this late: the message is the answer
			next = l.cfg.Next
			deliver(ctx, run, msg)
			if err := forget(ctx, box, 0); err != nil {
				return "", err
			}
		}
		return next, keep(ctx, msg)
	}
	if box.data().Given && left < stepsTools+stepsFinish { // its tools would be the last that the graph does
		box.update(func(d *runData) { d.Deliver = true })
		return FinishKey, nil
	}
	box.toTools(l.planner, resp.Calls)
	return l.cfg.ToolsKey, keep(ctx, msg)
}

// Guard is the node todo_guard: it turns an answer that came too early into the answer and the correction, for the model.
func (l *Loop) Guard() *compose.Lambda {
	return compose.InvokableLambda(func(ctx context.Context, answer *schema.Message) ([]*schema.Message, error) {
		box, _, err := l.current(ctx)
		if err != nil {
			return nil, err
		}
		box.step(1)
		return []*schema.Message{answer, correctionMessage(box.data().Correction)}, nil
	}, compose.WithLambdaType("TodoGuard"))
}

// Finish is the node todo_finish: it ends the run and delivers the answer, which may be one that was held back.
func (l *Loop) Finish() *compose.Lambda {
	return compose.TransformableLambda(func(ctx context.Context, in *schema.StreamReader[*schema.Message]) (*schema.StreamReader[*schema.Message], error) {
		box, run, err := l.current(ctx)
		if err != nil {
			in.Close()
			return nil, err
		}
		if err := forget(ctx, box, stepsFinish); err != nil {
			in.Close()
			return nil, err
		}
		d := box.data()
		if d.Passing {
			return passOn(in, func(msg *schema.Message) (*schema.Message, error) {
				resp := responseOf(msg)
				resp.LastTurn = true // it is delivered already
				if _, err := run.AfterModel(ctx, resp); err != nil {
					return nil, fmt.Errorf("einoadapter: %w", err)
				}
				deliver(ctx, run, msg)
				return nil, keep(ctx, msg)
			}), nil
		}
		var chunks []*schema.Message
		var msg *schema.Message
		if d.Deliver {
			in.Close()
		} else if chunks, msg, err = readAll(in); err != nil {
			return nil, err
		}
		out := deliver(ctx, run, msg)
		if out != msg {
			chunks = []*schema.Message{out}
		}
		return schema.StreamReaderFromArray(chunks), nil
	}, compose.WithLambdaType("TodoFinish"))
}

// deliver ends a run with its last message, or with what is held where there is none. A store that fails at this point costs
// no answer: the end event was sent, and what stays behind in the store is a mark that the next run replaces.
func deliver(ctx context.Context, run seams, last *schema.Message) *schema.Message {
	o := core.Outcome{}
	if last != nil {
		o.Answer = messageText(last)
	}
	answer, _ := run.Finish(ctx, o)
	return withAnswer(last, answer)
}

// ToolMiddleware marks what runs inside a tool: an agent there has no list of its own, unless the tool gives it a session of
// its own with [core.WithSession]. The loop's own tools node has it.
func (l *Loop) ToolMiddleware() compose.ToolMiddleware {
	return toolMiddleware(func(ctx context.Context) (context.Context, error) {
		box, _, err := l.current(ctx)
		if err != nil {
			return nil, err
		}
		return box.inside(ctx), nil
	})
}

// callTool is a call of one of the planner's tools.
func (l *Loop) callTool(ctx context.Context, c core.Call) (string, error) {
	_, run, err := l.current(ctx)
	if err != nil {
		return "", err
	}
	return run.CallTool(ctx, c)
}

// current is the run of the graph that ctx belongs to, resumed if it was restored from a checkpoint.
func (l *Loop) current(ctx context.Context) (*runBox, seams, error) {
	var box *runBox
	err := withGraphState(ctx, func(s *GraphState) { box = s.box() })
	if err != nil {
		return nil, nil, err
	}
	run, _, err := box.handle(ctx, l.planner)
	return box, run, err
}

// forget takes a run that is over, with so many steps to come, out of the state: what comes later in the graph is another
// run, under the same limit.
func forget(ctx context.Context, box *runBox, steps int) error {
	return withGraphState(ctx, func(s *GraphState) { s.Run, s.steps = nil, box.step(steps) })
}

// left is how many steps the loop may still take.
func (l *Loop) left(box *runBox) int { return l.cfg.MaxRunSteps - l.cfg.OtherSteps - box.step(0) }

// keep adds a response to the history.
func keep(ctx context.Context, msg *schema.Message) error {
	return withGraphState(ctx, func(s *GraphState) { s.Messages = slices.Concat(s.Messages, []*schema.Message{msg}) })
}

// settled reports whether an answer would be delivered as it is: nothing is open and none is held.
func settled(run seams, box *runBox) bool { return !box.data().Given && !run.MayHold() }

func onlyOurs(p *core.Planner, calls []core.Call) bool {
	return !slices.ContainsFunc(calls, func(c core.Call) bool { return !p.IsTool(c.Name) })
}

func callsTools(m *schema.Message) bool { return len(m.ToolCalls) > 0 }
