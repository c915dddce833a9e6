// Package demo is what the Eino examples share: a model that follows a script, and a printer that draws a list as it changes.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Model is a chat model that gives its replies one after another, whatever it is asked. Safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	replies  []*schema.Message
	requests [][]*schema.Message
}

// Script returns a model with these replies; see [Say] and [Call].
func Script(replies ...*schema.Message) *Model {
	for i, r := range replies {
		for j := range r.ToolCalls {
			r.ToolCalls[j].ID = fmt.Sprintf("call_%d_%d", i+1, j+1)
		}
	}
	return &Model{replies: replies}
}

// Say is a reply of plain text.
func Say(text string) *schema.Message { return schema.AssistantMessage(text, nil) }

// Call is a reply that calls one tool.
func Call(tool string, args any) *schema.Message {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // the arguments are written in this repository
	}
	return schema.AssistantMessage("", []schema.ToolCall{{Type: "function", Function: schema.FunctionCall{Name: tool, Arguments: string(raw)}}})
}

// Todo is an item as a model writes it.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// Todos is a reply that writes the list, a pair of status and content an item: x done, > in progress, - cancelled, blank pending.
func Todos(items ...[2]string) *schema.Message {
	return Call("write_todos", map[string]any{"todos": List(items...)})
}

// List makes the items of [Todos].
func List(items ...[2]string) []Todo {
	status := map[string]string{"x": "completed", ">": "in_progress", "-": "cancelled", " ": "pending"}
	list := make([]Todo, len(items))
	for i, it := range items {
		list[i] = Todo{Content: it[1], Status: status[it[0]]}
	}
	return list
}

// Generate implements model.BaseChatModel.
func (m *Model) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(m.replies) == 0 {
		return nil, errors.New("the script has no further reply")
	}
	r := m.replies[0]
	m.replies = m.replies[1:]
	m.requests = append(m.requests, in)
	return r, nil
}

// Stream implements model.BaseChatModel: the reply in one chunk.
func (m *Model) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{r}), nil
}

// Requests returns what the model was asked so far.
func (m *Model) Requests() [][]*schema.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[:len(m.requests):len(m.requests)]
}

// Left is the number of replies that nobody has asked for.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.replies)
}
