package einograph

import (
	"context"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
)

// scripted is an eino model that a story plays.
type scripted struct{ script *storytest.Script }

func (m scripted) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m scripted) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	reply, err := m.script.Next(ctx, request(in))
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage(reply.Text, calls(reply.Calls)), nil
}

// Stream sends the text word by word, then each call in two pieces.
func (m scripted) Stream(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	reply, err := m.script.Next(ctx, request(in))
	if err != nil {
		return nil, err
	}
	var chunks []*schema.Message
	for _, word := range strings.SplitAfter(reply.Text, " ") {
		if word != "" {
			chunks = append(chunks, schema.AssistantMessage(word, nil))
		}
	}
	for i, c := range calls(reply.Calls) {
		c.Index = &i
		cut := len(c.Function.Arguments) / 2
		rest := schema.ToolCall{Index: &i, Function: schema.FunctionCall{Arguments: c.Function.Arguments[cut:]}}
		c.Function.Arguments = c.Function.Arguments[:cut]
		chunks = append(chunks, schema.AssistantMessage("", []schema.ToolCall{c}), schema.AssistantMessage("", []schema.ToolCall{rest}))
	}
	return schema.StreamReaderFromArray(chunks), nil
}

// request is what the model got, in the stories' terms.
func request(in []*schema.Message) []storytest.Message {
	out := make([]storytest.Message, len(in))
	for i, m := range in {
		out[i] = storytest.Message{Role: string(m.Role), Text: m.Content, CallID: m.ToolCallID, Name: m.ToolName}
		for _, p := range m.UserInputMultiContent {
			out[i].Text += p.Text
		}
		for _, c := range m.ToolCalls {
			out[i].Calls = append(out[i].Calls, core.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
	}
	return out
}

func calls(in []core.Call) []schema.ToolCall {
	var out []schema.ToolCall
	for _, c := range in {
		out = append(out, schema.ToolCall{ID: c.ID, Type: "function", Function: schema.FunctionCall{Name: c.Name, Arguments: c.Args}})
	}
	return out
}

// fixed is a story's tool: it takes any object and has one result.
type fixed storytest.Tool

func (f fixed) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: f.Name, Desc: "A tool of the story."}, nil
}

func (f fixed) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return f.Result, nil
}

func tools(in []storytest.Tool) []tool.BaseTool {
	var out []tool.BaseTool
	for _, t := range in {
		out = append(out, fixed(t))
	}
	return out
}
