package einoadapter

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// reactModel is the model of a react agent: one call of it is the model call with whatever corrections it takes.
type reactModel struct {
	planner     *core.Planner
	maxStep     int
	instruction string
	asker
}

// WithTools implements model.ToolCallingChatModel.
func (m *reactModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := m.bind(tools)
	if err != nil {
		return nil, err
	}
	c := *m
	c.asker = inner
	return &c, nil
}

// askFunc makes one model call and reads the response to its end.
type askFunc func(ctx context.Context, req []*schema.Message) (*schema.Message, error)

// Generate implements model.BaseChatModel.
func (m *reactModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	t, err := m.turn(ctx, in)
	if err != nil {
		return nil, err
	}
	generate := func(ctx context.Context, req []*schema.Message) (*schema.Message, error) {
		return m.generate(ctx, req, opts...)
	}
	req, err := t.request(ctx)
	if err != nil {
		return nil, err
	}
	return t.play(ctx, req, generate)
}

// Stream implements model.BaseChatModel.
func (m *reactModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	t, err := m.turn(ctx, in)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, req []*schema.Message) (*schema.Message, error) {
		out, err := m.stream(ctx, req, opts...)
		if err != nil {
			return nil, err
		}
		_, msg, err := readAll(out)
		return msg, err
	}
	req, err := t.request(ctx)
	if err != nil {
		return nil, err
	}
	if settled(t.run, t.box) {
		return t.pass(ctx, req, func(ctx context.Context, req []*schema.Message) (*schema.StreamReader[*schema.Message], error) {
			return m.stream(ctx, req, opts...)
		})
	}
	msg, err := t.play(ctx, req, read)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{msg}), nil
}

// reactTurn is one call of the agent's model node.
type reactTurn struct {
	m      *reactModel
	box    *runBox
	run    seams
	req    []*schema.Message // without the block
	before []*schema.Message // answers and corrections of this turn
	left   int               // steps that are left after this one
}

func (m *reactModel) turn(ctx context.Context, in []*schema.Message) (*reactTurn, error) {
	box := boxOf(ctx, in)
	run, _, err := box.handle(ctx, m.planner)
	if err != nil {
		return nil, err
	}
	box.update(func(d *runData) { d.Calls = false })
	t := &reactTurn{m: m, box: box, run: run, req: spaced(expand(in)), left: m.maxStep - box.step(1)}
	if m.instruction != "" {
		t.req = withInstruction(t.req, m.instruction)
	}
	return t, nil
}

// request is the turn's request with the block.
func (t *reactTurn) request(ctx context.Context) ([]*schema.Message, error) {
	return showList(ctx, t.run, t.box.boundaryNow(), t.req)
}

// play asks, and asks again as long as core wants a correction. The message it returns goes into the agent's state.
func (t *reactTurn) play(ctx context.Context, req []*schema.Message, call askFunc) (*schema.Message, error) {
	for {
		msg, err := call(ctx, req)
		if err != nil {
			if !deliverHeld(ctx, t.box, err) {
				return nil, err
			}
			return deliver(ctx, t.run, nil), nil
		}
		resp := responseOf(msg)
		resp.LastTurn = t.left < stepsTools
		v, err := t.run.AfterModel(ctx, resp)
		if err != nil {
			return nil, fmt.Errorf("einoadapter: %w", err)
		}
		if v.Action == core.Accept {
			return t.accept(ctx, msg, resp.Calls), nil
		}
		t.box.update(func(d *runData) { d.Given, d.Closing = true, true })
		pair := []*schema.Message{msg, correctionMessage(v.Message)}
		t.before = append(t.before, pair...)
		t.req = spaced(slices.Concat(t.req, pair))
		if req, err = t.request(ctx); err != nil {
			return nil, err
		}
	}
}

// accept ends the run with an answer, and gives a message with calls what later turns need.
func (t *reactTurn) accept(ctx context.Context, msg *schema.Message, calls []core.Call) *schema.Message {
	switch {
	case len(calls) == 0:
		return deliver(ctx, t.run, msg)
	case t.box.data().Given && t.left < stepsTools: // its tools would be the last that the graph does
		return deliver(ctx, t.run, nil)
	}
	t.box.toTools(t.m.planner, calls)
	return withExtra(msg, reactKey, &reactNote{Before: t.before, Run: t.box})
}

// pass hands a stream on as it comes: nothing is open, so an answer stands whatever it is.
func (t *reactTurn) pass(ctx context.Context, req []*schema.Message, stream func(context.Context, []*schema.Message) (*schema.StreamReader[*schema.Message], error)) (*schema.StreamReader[*schema.Message], error) {
	out, err := stream(ctx, req)
	if err != nil {
		return nil, err
	}
	return passOn(out, func(msg *schema.Message) (*schema.Message, error) {
		resp := responseOf(msg)
		resp.LastTurn = true // it is delivered already
		if _, err := t.run.AfterModel(ctx, resp); err != nil {
			return nil, fmt.Errorf("einoadapter: %w", err)
		}
		if len(resp.Calls) == 0 {
			deliver(ctx, t.run, msg)
			return nil, nil
		}
		t.box.toTools(t.m.planner, resp.Calls)
		return &schema.Message{Role: schema.Assistant, Extra: map[string]any{reactKey: &reactNote{Run: t.box}}}, nil
	}), nil
}
