package einoadapter

import (
	"context"

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
		return a.inner.Generate(ctx, in, opts...)
	}
	ctx = callbacks.OnStart(ctx, &model.CallbackInput{Messages: in})
	out, err := a.inner.Generate(ctx, in, opts...)
	if err != nil {
		callbacks.OnError(ctx, err)
		return nil, err
	}
	callbacks.OnEnd(ctx, &model.CallbackOutput{Message: out})
	return out, nil
}

func (a asker) stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	if components.IsCallbacksEnabled(a.inner) {
		return a.inner.Stream(ctx, in, opts...)
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
	return schema.StreamReaderWithConvert(seen, func(c *model.CallbackOutput) (*schema.Message, error) { return c.Message, nil }), nil
}
