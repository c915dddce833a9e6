package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// scripted stands for a model. It remembers nothing: like a real one it decides by what the request shows it, which is what
// makes the second process go on where the first one stopped.
type scripted struct{ calls int }

type item struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

func (m *scripted) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	m.calls++
	last := in[len(in)-1]
	open, shown := openItems(last)
	switch {
	case m.calls == 1 && !shown:
		fmt.Println("model: no list yet, so I plan")
		return m.write([]item{{"1", "users", "in_progress"}, {"2", "orders", "pending"}, {"3", "invoices", "pending"}})
	case m.calls == 1:
		fmt.Println("model: I am shown what is open:")
		for _, it := range open {
			fmt.Printf("model:   %s [%s] %s\n", it.ID, it.Status, it.Content)
		}
		return m.call("migrate", map[string]string{"table": open[0].Content})
	case last.Role == schema.Tool && last.ToolName == "migrate":
		open[0].Status = "completed"
		if len(open) > 1 {
			open[1].Status = "in_progress"
		}
		return m.write(open)
	case len(open) > 0:
		return m.call("migrate", map[string]string{"table": open[0].Content})
	}
	return schema.AssistantMessage("All three tables are migrated.", nil), nil
}

func (m *scripted) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	msg, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{msg}), nil
}

func (m *scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *scripted) write(items []item) (*schema.Message, error) {
	return m.call("write_todos", map[string]any{"todos": items})
}

func (m *scripted) call(name string, args any) (*schema.Message, error) {
	b, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("call-%d", m.calls)
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(b)}}}), nil
}

var line = regexp.MustCompile(`(?m)^(\S+) \[(\w+)\] (.*)$`)

// openItems reads the open items out of a message: from the block at its end, or from the result of the last write.
func openItems(msg *schema.Message) (open []item, shown bool) {
	if _, block, ok := strings.Cut(msg.Content, "<todos>\n"); ok {
		for _, f := range line.FindAllStringSubmatch(block, -1) {
			open = append(open, item{f[1], f[3], f[2]})
		}
		return open, true
	}
	var result struct {
		Todos []item `json:"todos"`
	}
	if msg.ToolName != "write_todos" || json.Unmarshal([]byte(msg.Content), &result) != nil {
		return nil, false
	}
	for _, it := range result.Todos {
		if it.Status == "in_progress" {
			open = append([]item{it}, open...)
		} else if it.Status == "pending" {
			open = append(open, it)
		}
	}
	return open, true
}
