package einoadapter

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// loopModel is the model node of a loop. It keeps the history in the graph's state and shows the open items; what a
// response means is the branch's business (docs/design.md, section 6).
type loopModel struct {
	l *Loop
	asker
}

// WithTools implements model.ToolCallingChatModel.
func (m *loopModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := m.bind(tools)
	if err != nil {
		return nil, err
	}
	return &loopModel{m.l, inner}, nil
}

// Generate implements model.BaseChatModel.
func (m *loopModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	box, req, err := m.before(ctx, in)
	if err != nil {
		return nil, err
	}
	msg, err := m.generate(ctx, req, opts...)
	if err != nil {
		if !deliverHeld(ctx, box, err) {
			return nil, err
		}
		msg = schema.AssistantMessage("", nil)
	}
	return msg, m.answered(ctx)
}

// Stream implements model.BaseChatModel.
func (m *loopModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	box, req, err := m.before(ctx, in)
	if err != nil {
		return nil, err
	}
	out, err := m.stream(ctx, req, opts...)
	if err != nil {
		if !deliverHeld(ctx, box, err) {
			return nil, err
		}
		out = schema.StreamReaderFromArray([]*schema.Message{schema.AssistantMessage("", nil)})
	}
	return out, m.answered(ctx)
}

// before makes the request: the history, the input and the block.
func (m *loopModel) before(ctx context.Context, in []*schema.Message) (*runBox, []*schema.Message, error) {
	var box *runBox
	var req []*schema.Message
	err := withGraphState(ctx, func(s *GraphState) {
		if len(in) == 0 { // the node runs again after an interrupt, and eino has no input for it
			in = s.Asked
		}
		s.Asked = in
		req = slices.Concat(s.Messages, in)
		box = s.box()
	})
	if err != nil {
		return nil, nil, err
	}
	run, fresh, err := box.handle(ctx, m.l.planner)
	if err != nil {
		return nil, nil, err
	}
	if !fresh && slices.ContainsFunc(in, isInput) {
		box.newInput()
	}
	box.step(1)
	box.update(func(d *runData) { d.Calls = false })
	req, err = showList(ctx, run, box.boundaryNow(), m.l.instruct(spaced(req)))
	return box, req, err
}

// answered moves the input into the history: the call has come back.
func (m *loopModel) answered(ctx context.Context) error {
	return withGraphState(ctx, func(s *GraphState) {
		s.Messages = slices.Concat(s.Messages, s.Asked)
		s.Asked = nil
	})
}

// deliverHeld decides on a model call that failed: while nothing but bookkeeping followed an answer, the answer stands.
func deliverHeld(ctx context.Context, box *runBox, err error) bool {
	if ctx.Err() != nil || isInterrupt(err) || !box.data().Closing {
		return false
	}
	box.update(func(d *runData) { d.Deliver = true })
	return true
}

// showList adds what core wants the model to see to a copy of the request's last message.
func showList(ctx context.Context, run seams, boundary string, req []*schema.Message) ([]*schema.Message, error) {
	tail, err := run.BeforeModel(ctx, core.Prompt{Boundary: boundary, LastTool: lastTool(req)})
	if err != nil {
		return nil, fmt.Errorf("einoadapter: %w", err)
	}
	return withTail(req, tail), nil
}
