package einoadapter

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// The accessors over [adk.MessageType] that the rest of the package is written against. Only this file and chunks.go know how
// the two message types differ.

// userMessage is a new user message that holds text.
func userMessage[M adk.MessageType](text string) M {
	var zero M
	if _, ok := any(zero).(*schema.Message); ok {
		return any(schema.UserMessage(text)).(M)
	}
	return any(schema.UserAgenticMessage(text)).(M)
}

// assistantMessage is a new assistant message that holds text.
func assistantMessage[M adk.MessageType](text string) M {
	var zero M
	if _, ok := any(zero).(*schema.Message); ok {
		return any(schema.AssistantMessage(text, nil)).(M)
	}
	return any(&schema.AgenticMessage{
		Role:          schema.AgenticRoleTypeAssistant,
		ContentBlocks: []*schema.ContentBlock{schema.NewContentBlock(&schema.AssistantGenText{Text: text})},
	}).(M)
}

// isNil reports whether m is a nil pointer.
func isNil[M adk.MessageType](m M) bool {
	var zero M
	return any(m) == any(zero)
}

// callsOf lists the tool calls of a message, in its order.
func callsOf[M adk.MessageType](m M) (calls []core.Call) {
	switch v := any(m).(type) {
	case *schema.Message:
		for _, c := range v.ToolCalls {
			calls = append(calls, core.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
	case *schema.AgenticMessage:
		for _, b := range v.ContentBlocks {
			if b != nil && b.FunctionToolCall != nil {
				c := b.FunctionToolCall
				calls = append(calls, core.Call{ID: c.CallID, Name: c.Name, Args: c.Arguments})
			}
		}
	}
	return calls
}

// isAssistant reports whether the model said m.
func isAssistant[M adk.MessageType](m M) bool {
	switch v := any(m).(type) {
	case *schema.Message:
		return v != nil && v.Role == schema.Assistant
	case *schema.AgenticMessage:
		return v != nil && v.Role == schema.AgenticRoleTypeAssistant
	}
	return false
}

// isFinal reports whether m is a message of the model that ends the loop: no call and no approval is pending.
func isFinal[M adk.MessageType](m M) bool {
	return isAssistant(m) && len(callsOf(m)) == 0 && !approvalPending(m)
}

// approvalPending reports whether the provider waits for the user to approve a call of its own.
func approvalPending[M adk.MessageType](m M) bool {
	if v, ok := any(m).(*schema.AgenticMessage); ok {
		for _, b := range v.ContentBlocks {
			if b != nil && b.MCPToolApprovalRequest != nil {
				return true
			}
		}
	}
	return false
}

// messageText is the text of a message; parts are joined as eino joins them.
func messageText[M adk.MessageType](m M) string {
	switch v := any(m).(type) {
	case *schema.Message:
		if v.Content != "" {
			return v.Content
		}
		var parts []string
		for _, p := range v.AssistantGenMultiContent {
			if p.Type == schema.ChatMessagePartTypeText {
				parts = append(parts, p.Text)
			}
		}
		return strings.Join(parts, "")
	case *schema.AgenticMessage:
		var parts []string
		for _, b := range v.ContentBlocks {
			switch {
			case b == nil:
			case b.AssistantGenText != nil:
				parts = append(parts, b.AssistantGenText.Text)
			case b.UserInputText != nil:
				parts = append(parts, b.UserInputText.Text)
			case b.FunctionToolResult != nil:
				for _, c := range b.FunctionToolResult.Content {
					if c != nil && c.Text != nil {
						parts = append(parts, c.Text.Text)
					}
				}
			}
		}
		return strings.Join(parts, "\n")
	}
	return ""
}

// withTail returns the request with text at the very end of its last message. Slice and message are copies, what was
// given stays as it is. A last message that is neither the user's nor a tool's is followed by a user message instead.
func withTail[M adk.MessageType](in []M, text string) []M {
	if text == "" {
		return in
	}
	out := append(make([]M, 0, len(in)+1), in...)
	if len(out) > 0 {
		if last, ok := appendText(out[len(out)-1], text); ok {
			out[len(out)-1] = last
			return out
		}
	}
	return append(out, userMessage[M](text))
}

func appendText[M adk.MessageType](m M, text string) (M, bool) {
	switch v := any(m).(type) {
	case *schema.Message:
		if v.Role != schema.User && v.Role != schema.Tool {
			return m, false
		}
		c := *v
		switch {
		case len(v.UserInputMultiContent) > 0:
			part := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
			c.UserInputMultiContent = append(v.UserInputMultiContent[:len(v.UserInputMultiContent):len(v.UserInputMultiContent)], part)
		case len(v.MultiContent) > 0:
			//lint:ignore SA1019 deprecated, and still sent by eino's components
			part := schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText, Text: text}
			c.MultiContent = append(v.MultiContent[:len(v.MultiContent):len(v.MultiContent)], part)
		default:
			c.Content = joinText(v.Content, text)
		}
		return any(&c).(M), true
	case *schema.AgenticMessage:
		if v.Role != schema.AgenticRoleTypeUser { // tool results have the user's role as well
			return m, false
		}
		c := *v
		block := schema.NewContentBlock(&schema.UserInputText{Text: text})
		c.ContentBlocks = append(v.ContentBlocks[:len(v.ContentBlocks):len(v.ContentBlocks)], block)
		return any(&c).(M), true
	}
	return m, false
}

func joinText(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n\n" + b
}

// lastTool is the tool call whose result is the last message of a request; zero if the last message is another.
func lastTool[M adk.MessageType](in []M) core.Call {
	if len(in) == 0 {
		return core.Call{}
	}
	switch v := any(in[len(in)-1]).(type) {
	case *schema.Message:
		if v.Role == schema.Tool {
			return core.Call{ID: v.ToolCallID, Name: v.ToolName}
		}
	case *schema.AgenticMessage:
		for _, b := range v.ContentBlocks {
			if b != nil && b.FunctionToolResult != nil {
				return core.Call{ID: b.FunctionToolResult.CallID, Name: b.FunctionToolResult.Name}
			}
		}
	}
	return core.Call{}
}

// finishReason is what the provider says of the end of its response, in its own words; "" if it says nothing.
func finishReason[M adk.MessageType](m M) string {
	switch v := any(m).(type) {
	case *schema.Message:
		if v.ResponseMeta != nil {
			return v.ResponseMeta.FinishReason
		}
	case *schema.AgenticMessage:
		meta := v.ResponseMeta
		switch {
		case meta == nil:
		case meta.OpenAIExtension != nil && meta.OpenAIExtension.IncompleteDetails != nil:
			return meta.OpenAIExtension.IncompleteDetails.Reason
		case meta.ClaudeExtension != nil:
			return meta.ClaudeExtension.StopReason
		case meta.GeminiExtension != nil:
			return meta.GeminiExtension.FinishReason
		}
	}
	return ""
}

// responseOf translates one response of the model for core.
func responseOf[M adk.MessageType](m M) core.Response {
	r := core.Response{Text: messageText(m), Calls: callsOf(m), Unparsed: approvalPending(m)}
	switch strings.ToLower(finishReason(m)) {
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		r.Truncated = true
	case "tool_calls", "tool_use", "function_call", "malformed_function_call":
		r.Unparsed = r.Unparsed || len(r.Calls) == 0
	}
	return r
}

// assistantEvent is the event that delivers a message of the model, or a stream of one if stream is not nil.
func assistantEvent[M adk.MessageType](m M, stream *schema.StreamReader[M]) *adk.TypedAgentEvent[M] {
	if msg, ok := any(m).(*schema.Message); ok {
		sr, _ := any(stream).(*schema.StreamReader[*schema.Message])
		return any(adk.EventFromMessage(msg, sr, schema.Assistant, "")).(*adk.TypedAgentEvent[M])
	}
	sr, _ := any(stream).(*schema.StreamReader[*schema.AgenticMessage])
	return any(adk.EventFromAgenticMessage(any(m).(*schema.AgenticMessage), sr, schema.AgenticRoleTypeAssistant)).(*adk.TypedAgentEvent[M])
}

// markKey is where a message that todoguard put into the history says so: marks are metadata, never text.
const markKey = "todoguard"

const (
	markCorrection = "correction" // asks the model once more
	markSpacer     = "spacer"     // keeps two answers apart in a history that was built from events
	markHeld       = "held"       // delivers a held answer
)

// extraOf returns a message's metadata, nil if it has none.
func extraOf[M adk.MessageType](m M) map[string]any {
	switch v := any(m).(type) {
	case *schema.Message:
		return v.Extra
	case *schema.AgenticMessage:
		return v.Extra
	}
	return nil
}

// marked puts a mark on a message that nobody else holds yet, and returns it.
func marked[M adk.MessageType](m M, mark string) M {
	extra := maps.Clone(extraOf(m))
	if extra == nil {
		extra = map[string]any{}
	}
	extra[markKey] = mark
	switch v := any(m).(type) {
	case *schema.Message:
		v.Extra = extra
	case *schema.AgenticMessage:
		v.Extra = extra
	}
	return m
}

// markOf returns the mark of a message, "" if it is not one of ours.
func markOf[M adk.MessageType](m M) string {
	mark, _ := extraOf(m)[markKey].(string)
	return mark
}

// userInput returns a fingerprint of what the user says with m; ok is false if m is no input of the user. In agentic
// histories tool results have the user's role too: they are none.
func userInput[M adk.MessageType](m M) (fingerprint string, ok bool) {
	switch v := any(m).(type) {
	case *schema.Message:
		if v.Role != schema.User {
			return "", false
		}
		if len(v.UserInputMultiContent) == 0 && len(v.MultiContent) == 0 { //nolint:staticcheck // see appendText
			return v.Content, true
		}
		return jsonText([]any{v.Content, v.UserInputMultiContent, v.MultiContent}), true //nolint:staticcheck
	case *schema.AgenticMessage:
		if v.Role != schema.AgenticRoleTypeUser {
			return "", false
		}
		var input []*schema.ContentBlock
		for _, b := range v.ContentBlocks {
			if b != nil && b.FunctionToolResult == nil && b.ToolSearchFunctionToolResult == nil {
				input = append(input, b)
			}
		}
		return jsonText(input), len(input) > 0
	}
	return "", false
}

// jsonText is v as JSON. Where v holds what JSON cannot (a host's metadata), it is its Go syntax.
func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%#v", v)
	}
	return string(b)
}
