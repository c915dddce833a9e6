package einoadk

import (
	"context"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
)

// Model is a model for either message type that plays what Next gives. It streams text word by word and each call as a chunk.
type Model[M adk.MessageType] struct {
	Next func(ctx context.Context, request []storytest.Message) (storytest.Reply, error)
}

// Generate implements model.BaseModel.
func (m *Model[M]) Generate(ctx context.Context, in []M, _ ...model.Option) (M, error) {
	chunks, err := m.reply(ctx, in)
	if err != nil {
		var none M
		return none, err
	}
	return whole(chunks)
}

// Stream implements model.BaseModel.
func (m *Model[M]) Stream(ctx context.Context, in []M, _ ...model.Option) (*schema.StreamReader[M], error) {
	chunks, err := m.reply(ctx, in)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray(chunks), nil
}

func (m *Model[M]) reply(ctx context.Context, in []M) ([]M, error) {
	var request []storytest.Message
	for _, msg := range in {
		n, err := Plain(msg)
		if err != nil {
			return nil, err
		}
		request = append(request, n)
	}
	reply, err := m.Next(ctx, request)
	if err != nil {
		return nil, err
	}
	return Chunks[M](reply), nil
}

// Chunks is a reply as a stream of messages.
func Chunks[M adk.MessageType](r storytest.Reply) []M {
	var out []M
	words := strings.SplitAfter(r.Text, " ")
	if r.Text == "" && len(r.Calls) > 0 {
		words = nil
	}
	var none M
	if _, ok := any(none).(*schema.Message); ok {
		for _, w := range words {
			out = append(out, any(&schema.Message{Role: schema.Assistant, Content: w}).(M))
		}
		for i, c := range r.Calls {
			call := schema.ToolCall{Index: &i, ID: c.ID, Type: "function", Function: schema.FunctionCall{Name: c.Name, Arguments: c.Args}}
			out = append(out, any(&schema.Message{Role: schema.Assistant, ToolCalls: []schema.ToolCall{call}}).(M))
		}
		return out
	}
	add := func(b *schema.ContentBlock) {
		out = append(out, any(&schema.AgenticMessage{Role: schema.AgenticRoleTypeAssistant, ContentBlocks: []*schema.ContentBlock{b}}).(M))
	}
	for _, w := range words {
		add(schema.NewContentBlockChunk(&schema.AssistantGenText{Text: w}, &schema.StreamingMeta{Index: 0}))
	}
	for i, c := range r.Calls {
		add(schema.NewContentBlockChunk(&schema.FunctionToolCall{CallID: c.ID, Name: c.Name, Arguments: c.Args}, &schema.StreamingMeta{Index: i + 1}))
	}
	return out
}

func whole[M adk.MessageType](chunks []M) (M, error) {
	switch c := any(chunks).(type) {
	case []*schema.Message:
		m, err := schema.ConcatMessages(c)
		return any(m).(M), err
	default:
		m, err := schema.ConcatAgenticMessages(any(chunks).([]*schema.AgenticMessage))
		return any(m).(M), err
	}
}

// Plain is a message in no framework's terms.
func Plain[M adk.MessageType](msg M) (storytest.Message, error) {
	switch m := any(msg).(type) {
	case *schema.Message:
		out := storytest.Message{Role: string(m.Role), Text: m.Content, CallID: m.ToolCallID, Name: m.ToolName}
		for _, p := range m.UserInputMultiContent {
			out.Text += p.Text
		}
		for _, c := range m.ToolCalls {
			out.Calls = append(out.Calls, core.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		return out, nil
	case *schema.AgenticMessage:
		return agentic(m)
	}
	return storytest.Message{}, fmt.Errorf("a message of type %T", msg)
}

// agentic reads a message of blocks. A tool result has the user's role there, and what follows it in the same message is at
// its end.
func agentic(m *schema.AgenticMessage) (storytest.Message, error) {
	out := storytest.Message{Role: string(m.Role)}
	var texts []string
	for _, b := range m.ContentBlocks {
		switch {
		case b.UserInputText != nil:
			texts = append(texts, b.UserInputText.Text)
		case b.AssistantGenText != nil:
			texts = append(texts, b.AssistantGenText.Text)
		case b.FunctionToolCall != nil:
			out.Calls = append(out.Calls, core.Call{ID: b.FunctionToolCall.CallID, Name: b.FunctionToolCall.Name, Args: b.FunctionToolCall.Arguments})
		case b.FunctionToolResult != nil:
			out.Role, out.CallID, out.Name = "tool", b.FunctionToolResult.CallID, b.FunctionToolResult.Name
			for _, c := range b.FunctionToolResult.Content {
				texts = append(texts, c.Text.Text)
			}
		default:
			return out, fmt.Errorf("a block of type %q", b.Type)
		}
	}
	out.Text = strings.Join(texts, "\n\n")
	return out, nil
}
