package einoadapter

import (
	"context"
	"errors"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// asker calls a model with eino's callbacks round each call, as eino does itself for a model without its own. Models that
// wrap it report that callbacks are taken care of, so what handlers see is the request as the model gets it.
type asker struct {
	inner model.ToolCallingChatModel
}

func (a asker) bind(tools []*schema.ToolInfo) (asker, error) {
	inner, err := a.inner.WithTools(tools)
	return asker{inner}, err
}

// IsCallbacksEnabled implements components.Checker.
func (a asker) IsCallbacksEnabled() bool { return true }

// GetType implements components.Typer: handlers see the type of the model inside.
func (a asker) GetType() string {
	if t, ok := components.GetType(a.inner); ok {
		return t
	}
	return "TodoGuard"
}

func (a asker) generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if components.IsCallbacksEnabled(a.inner) {
		return notNil(a.inner.Generate(ctx, in, opts...))
	}
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in})
	out, err := notNil(a.inner.Generate(ctx, in, opts...))
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: out})
	return out, nil
}

func (a asker) stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	given := func(m *schema.Message) (*schema.Message, error) { return notNil(m, nil) }
	if components.IsCallbacksEnabled(a.inner) {
		out, err := a.inner.Stream(ctx, in, opts...)
		if err != nil {
			return nil, err
		}
		return schema.StreamReaderWithConvert(out, given), nil
	}
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in})
	out, err := a.inner.Stream(ctx, in, opts...)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	_, seen := callbacks.OnEndWithStreamOutput(ctx, schema.StreamReaderWithConvert(out, func(m *schema.Message) (*model.CallbackOutput, error) {
		return &model.CallbackOutput{Message: m}, nil
	}))
	return schema.StreamReaderWithConvert(seen, func(c *model.CallbackOutput) (*schema.Message, error) { return given(c.Message) }), nil
}

// notNil makes an error of a message, or a chunk of one, that is nil: the branch of a graph runs on its caller's goroutine,
// where a panic ends the process.
func notNil(m *schema.Message, err error) (*schema.Message, error) {
	if m == nil && err == nil {
		err = errors.New("einoadapter: the model gave a nil message and no error")
	}
	return m, err
}
