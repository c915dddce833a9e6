package lcg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
)

// chatModel plays a script as a chat model with tools.
type chatModel struct {
	script *storytest.Script
	both   bool // a reply held text beside calls
}

func (m *chatModel) mixed() bool { return m.both }

// Call implements llms.Model.
func (m *chatModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// GenerateContent implements llms.Model.
func (m *chatModel) GenerateContent(ctx context.Context, msgs []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, f := range options {
		f(&o)
	}
	if len(o.Functions) > 0 || len(o.Tools) == 0 {
		return nil, fmt.Errorf("the request has %d functions and %d tools: want tools alone", len(o.Functions), len(o.Tools))
	}
	reply, err := m.script.Next(ctx, messages(msgs))
	if err != nil {
		return nil, err
	}
	m.both = m.both || reply.Text != "" && len(reply.Calls) > 0
	choice := &llms.ContentChoice{Content: reply.Text, StopReason: "stop"}
	for _, c := range reply.Calls {
		choice.StopReason = "tool_calls"
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{ID: c.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: c.Name, Arguments: c.Args}})
	}
	if o.StreamingFunc != nil {
		if err := streamText(ctx, o.StreamingFunc, reply.Text); err != nil {
			return nil, err
		}
		for _, c := range choice.ToolCalls { // as the openai client does
			delta, err := json.Marshal([]any{map[string]any{"id": c.ID, "type": c.Type, "function": map[string]any{"name": c.FunctionCall.Name, "arguments": c.FunctionCall.Arguments}}})
			if err != nil {
				return nil, err
			}
			if err := o.StreamingFunc(ctx, delta); err != nil {
				return nil, err
			}
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

// streamText sends a text in several chunks.
func streamText(ctx context.Context, to func(context.Context, []byte) error, text string) error {
	for text != "" {
		n := min(7, len(text))
		if err := to(ctx, []byte(text[:n])); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// messages translates a request into the terms of stories.
func messages(msgs []llms.MessageContent) []storytest.Message {
	roles := map[llms.ChatMessageType]string{
		llms.ChatMessageTypeSystem: "system", llms.ChatMessageTypeHuman: "user", llms.ChatMessageTypeAI: "assistant", llms.ChatMessageTypeTool: "tool",
	}
	var out []storytest.Message
	for _, msg := range msgs {
		m := storytest.Message{Role: roles[msg.Role]}
		for _, part := range msg.Parts {
			switch part := part.(type) {
			case llms.TextContent:
				m.Text += part.Text
			case llms.ToolCall:
				m.Calls = append(m.Calls, core.Call{ID: part.ID, Name: part.FunctionCall.Name, Args: part.FunctionCall.Arguments})
			case llms.ToolCallResponse:
				m.Text, m.CallID, m.Name = part.Content, part.ToolCallID, part.Name
			}
		}
		out = append(out, m)
	}
	return out
}

// format is how a text agent's prompt and output look.
type format struct {
	begin    string // what stands before the user's input
	end      string // what stands between the input and the scratchpad
	call     string // an output that makes a call: text, name, args
	answer   string // what stands before an answer
	before   string // what the agent puts before each of its outputs in the scratchpad
	thought  string // what the agent puts at the very end of a scratchpad
	finishes string // an output that answers
}

var (
	mrklFormat = format{
		begin: "Question: ", end: "\n", before: "\n", call: "Thought: %s\nAction: %s\nAction Input: %s",
		answer: "Final Answer:", finishes: "Thought: I know the final answer\nFinal Answer: %s",
	}
	conversationalFormat = format{
		begin: "New input: ", end: "\n\nThought:", thought: "\nThought:", call: " Do I need to use a tool? Yes. %s\nAction: %s\nAction Input: %s",
		answer: "AI:", finishes: " Do I need to use a tool? No\nAI: %s",
	}
)

// textModel plays a script as a model that completes a text.
type textModel struct {
	script *storytest.Script
	format format
	both   bool
	made   []madeCall // in order
}

type madeCall struct {
	call   core.Call
	output string
}

func newTextModel(s *storytest.Script, f format) *textModel {
	return &textModel{script: s, format: f}
}

func (m *textModel) mixed() bool { return m.both }

// Call implements llms.Model.
func (m *textModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// GenerateContent implements llms.Model.
func (m *textModel) GenerateContent(ctx context.Context, msgs []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, f := range options {
		f(&o)
	}
	if len(msgs) != 1 {
		return nil, errors.New("want one message")
	}
	req, err := m.read(messages(msgs)[0].Text)
	if err != nil {
		return nil, err
	}
	reply, err := m.script.Next(ctx, req)
	if err != nil {
		return nil, err
	}
	output := fmt.Sprintf(m.format.finishes, reply.Text)
	if len(reply.Calls) > 0 {
		m.both = m.both || reply.Text != ""
		c := reply.Calls[0]
		output = fmt.Sprintf(m.format.call, reply.Text, c.Name, c.Args)
		m.made = append(m.made, madeCall{c, strings.TrimSpace(output)}) // the chain trims it
	}
	if o.StreamingFunc != nil {
		if err := streamText(ctx, o.StreamingFunc, output); err != nil {
			return nil, err
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: output, StopReason: "stop"}}}, nil
}

// read takes a prompt apart: instructions, the user's input, and the calls that were made with their results.
func (m *textModel) read(prompt string) ([]storytest.Message, error) {
	f := m.format
	i := strings.LastIndex(prompt, "\n"+f.begin)
	if j := strings.Index(prompt, "\n"+f.begin+"the input question"); i < 0 || i == j {
		return nil, fmt.Errorf("the prompt has no input: %q", prompt)
	}
	head, rest := prompt[:i], prompt[i+1+len(f.begin):]
	out := []storytest.Message{{Role: "system", Text: head}, {Role: "user"}}
	for n, made := range m.made {
		before := f.before + made.output + "\nObservation: "
		if n == 0 {
			before = f.end + before
		}
		text, after, ok := strings.Cut(rest, before)
		if !ok {
			return nil, fmt.Errorf("the prompt does not hold the output %q: %q", made.output, rest)
		}
		out[len(out)-1].Text = strings.TrimSuffix(text, "\n")
		out = append(out, storytest.Message{Role: "assistant", Calls: []core.Call{made.call}},
			storytest.Message{Role: "tool", CallID: made.call.ID, Name: made.call.Name})
		rest = after
	}
	if len(m.made) == 0 {
		rest = strings.TrimSuffix(rest, f.end)
	}
	out[len(out)-1].Text = strings.TrimSuffix(strings.TrimSuffix(rest, f.thought), "\n")
	return out, nil
}
