package lcgadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/llms"
)

// Model wraps an llms.Model. It sends each tool's real JSON schema as a tool (an OpenAIFunctionsAgent knows one string
// argument, in a field that several clients ignore), mends what clients cannot take in a history, adds the instruction of the
// plugin to the prompt, and gives the agent no response that it would panic on. As safe for concurrent use as the model
// that it wraps.
type Model struct {
	model  llms.Model
	plugin *Plugin
}

var (
	_ llms.Model          = (*Model)(nil)
	_ llms.ReasoningModel = (*Model)(nil)
)

// heard is what only the model wrapper sees of the last response of a turn.
type heard struct {
	mu        sync.Mutex // an agent of another kind may ask its model several times at once
	text      string
	truncated bool
}

func (h *heard) set(text string, truncated bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text, h.truncated = text, truncated
}

func (h *heard) get() (text string, truncated bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text, h.truncated
}

type heardKey struct{}

// Call implements llms.Model.
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// SupportsReasoning implements llms.ReasoningModel: what the wrapped model says; false if it says nothing.
func (m *Model) SupportsReasoning() bool {
	r, ok := m.model.(llms.ReasoningModel)
	return ok && r.SupportsReasoning()
}

// GenerateContent implements llms.Model. Messages and options are the caller's and stay as they are. Beside the errors
// of the wrapped model there are those for a response without any choice and, matching agents.ErrUnableToParseOutput, for
// one that holds nothing but calls without a name.
func (m *Model) GenerateContent(ctx context.Context, msgs []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, f := range options {
		f(&o)
	}
	passive := m.plugin.passive(ctx)
	msgs = mendHistory(msgs)
	if !passive {
		msgs = instruct(msgs, m.plugin.planner.Instruction(), len(o.Functions)+len(o.Tools) > 0)
	}
	options = append(slices.Clone(options), func(o *llms.CallOptions) { m.rewrite(o, passive) })
	resp, err := m.model.GenerateContent(ctx, msgs, options...)
	if err != nil {
		return nil, err
	}
	resp, err = mend(resp, max(o.N, o.CandidateCount) <= 1)
	if h, ok := ctx.Value(heardKey{}).(*heard); ok && resp != nil {
		c := resp.Choices[0]
		h.set(c.Content, cutOff(c.StopReason))
	}
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// rewrite runs as the last option, so it sees what all others set. Running it twice is running it once. It copies: the
// slices belong to the caller.
func (m *Model) rewrite(o *llms.CallOptions, passive bool) {
	if len(o.Functions) > 0 {
		tools := slices.Clone(o.Tools)
		for _, f := range o.Functions {
			t := m.plugin.toolNamed(f.Name)
			if t != nil && passive || hasFunction(tools, f.Name) {
				continue
			}
			if t != nil {
				f.Description, f.Parameters = t.spec.Description, t.schema
			} else {
				f.Parameters = plain(f.Parameters)
			}
			tools = append(tools, llms.Tool{Type: "function", Function: &f})
		}
		o.Tools, o.Functions = tools, nil
	}
	if to := o.StreamingFunc; to != nil && len(o.Tools) > 0 {
		o.StreamingFunc = func(ctx context.Context, chunk []byte) error {
			if callDelta(chunk) {
				return nil
			}
			return to(ctx, chunk)
		}
	}
}

func (p *Plugin) toolNamed(name string) *Tool {
	i := slices.IndexFunc(p.tools, func(t *Tool) bool { return t.Name() == name })
	if i < 0 {
		return nil
	}
	return p.tools[i]
}

func hasFunction(tools []llms.Tool, name string) bool {
	return slices.ContainsFunc(tools, func(t llms.Tool) bool { return t.Function != nil && t.Function.Name == name })
}

// callDelta reports whether a chunk is a piece of a tool call, which the openai client puts into the text stream as JSON.
func callDelta(chunk []byte) bool {
	type delta struct {
		Function *struct {
			Name      *string `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	}
	var calls []delta
	if len(chunk) == 0 || chunk[0] != '[' || json.Unmarshal(chunk, &calls) != nil || len(calls) == 0 {
		return false
	}
	return !slices.ContainsFunc(calls, func(d delta) bool {
		return d.Function == nil || d.Function.Name == nil && d.Function.Arguments == nil
	})
}

// plain turns a schema into maps and slices of any, all the way: googleai takes nothing else.
func plain(schema any) any {
	b, err := json.Marshal(schema)
	if err != nil {
		return schema
	}
	var out any
	if json.Unmarshal(b, &out) != nil {
		return schema
	}
	return out
}

// mend makes a response one that every agent can read: no nil choice, no call without a function, and all of it in the
// first choice where only one was asked for (anthropic gives a choice for each block).
func mend(resp *llms.ContentResponse, one bool) (*llms.ContentResponse, error) {
	var choices []*llms.ContentChoice
	if resp != nil {
		choices = slices.DeleteFunc(slices.Clone(resp.Choices), func(c *llms.ContentChoice) bool { return c == nil })
	}
	if len(choices) == 0 {
		return nil, errors.New("lcgadapter: the model gave no choices")
	}
	made := 0
	for i, c := range choices {
		made += len(c.ToolCalls)
		choices[i] = mendChoice(c)
	}
	if one && len(choices) > 1 {
		first := choices[0]
		for _, c := range choices[1:] {
			first.Content += c.Content
			first.ReasoningContent += c.ReasoningContent
			first.ToolCalls = append(first.ToolCalls, c.ToolCalls...)
			if first.FuncCall == nil {
				first.FuncCall = c.FuncCall
			}
		}
		choices = choices[:1]
	}
	out := *resp
	out.Choices = choices
	if c := choices[0]; made > 0 && len(c.ToolCalls) == 0 && c.FuncCall == nil && strings.TrimSpace(c.Content) == "" {
		return &out, fmt.Errorf("lcgadapter: the model made a call without a name: %w", agents.ErrUnableToParseOutput)
	}
	return &out, nil
}

// mendChoice copies a choice without calls that name no function.
func mendChoice(c *llms.ContentChoice) *llms.ContentChoice {
	out := *c
	out.ToolCalls = nil
	for _, call := range c.ToolCalls {
		if call.FunctionCall != nil && call.FunctionCall.Name != "" {
			out.ToolCalls = append(out.ToolCalls, call)
		}
	}
	if f := c.FuncCall; f != nil && f.Name == "" || len(c.ToolCalls) > 0 && len(out.ToolCalls) == 0 {
		out.FuncCall = nil
	}
	return &out
}

// cutOff reports whether a provider's reason for stopping is its limit of length.
func cutOff(reason string) bool {
	r := strings.ToLower(reason)
	return strings.Contains(r, "length") || strings.Contains(r, "max") && strings.Contains(r, "token")
}
