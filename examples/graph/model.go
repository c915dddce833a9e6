package main

import (
	"context"
	"errors"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// scripted stands in for a model: it gives its replies in turn. So the example needs no network.
type scripted struct{ replies []*schema.Message }

func beforeTheQuestion() *scripted {
	return &scripted{[]*schema.Message{
		calls("c1", "write_todos", `{"todos":[{"id":"1","content":"Build the image","status":"in_progress"},{"id":"2","content":"Deploy it","status":"pending"}]}`),
		calls("c2", "build", `{}`),
		calls("c3", "write_todos", `{"todos":[{"id":"1","content":"Build the image","status":"completed"},{"id":"2","content":"Deploy it","status":"in_progress"}]}`),
		calls("c4", "deploy", `{"where":"production"}`),
	}}
}

func afterTheQuestion() *scripted {
	return &scripted{[]*schema.Message{
		schema.AssistantMessage("v1.4.0 is live: the image was built and deployed to production.", nil),
		calls("c5", "write_todos", `{"todos":[{"id":"1","content":"Build the image","status":"completed"},{"id":"2","content":"Deploy it","status":"completed"}]}`),
		schema.AssistantMessage("The list is up to date.", nil),
	}}
}

func calls(id, name, args string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: args}}})
}

func (m *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *scripted) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	if len(m.replies) == 0 {
		return nil, errors.New("the script is over")
	}
	next := m.replies[0]
	m.replies = m.replies[1:]
	return next, nil
}

func (m *scripted) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	msg, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{msg}), nil
}

// checkpoints is a compose.CheckPointStore that keeps bytes, as a table would.
type checkpoints map[string][]byte

func (c checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	doc, ok := c[id]
	return doc, ok, nil
}

func (c checkpoints) Set(_ context.Context, id string, doc []byte) error {
	c[id] = slices.Clone(doc)
	return nil
}
