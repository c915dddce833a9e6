package einoadapter

import (
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/cloudwego/eino/schema/claude"
	"github.com/cloudwego/eino/schema/gemini"
	"github.com/cloudwego/eino/schema/openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

type message = *schema.Message
type agentic = *schema.AgenticMessage

func finished(reason string) message {
	return &schema.Message{Role: schema.Assistant, Content: "So far", ResponseMeta: &schema.ResponseMeta{FinishReason: reason}}
}

func finishedAgentic(meta schema.AgenticResponseMeta) agentic {
	m := assistantMessage[agentic]("So far")
	m.ResponseMeta = &meta
	return m
}

// Every provider has its own words for a response that was cut off, and for a call that could not be read.
func TestResponseOfReadsTheFinishReason(t *testing.T) {
	for reason, want := range map[string]core.Response{
		"stop": {}, "": {}, "content_filter": {}, "end_turn": {},
		"length": {Truncated: true}, "max_tokens": {Truncated: true}, "MAX_TOKENS": {Truncated: true}, "max_output_tokens": {Truncated: true},
		"tool_calls": {Unparsed: true}, "tool_use": {Unparsed: true}, "MALFORMED_FUNCTION_CALL": {Unparsed: true},
	} {
		want.Text = "So far"
		assert.Equal(t, want, responseOf(finished(reason)), "message, %q", reason)
		assert.Equal(t, want, responseOf(finishedAgentic(schema.AgenticResponseMeta{ClaudeExtension: &claude.ResponseMetaExtension{StopReason: reason}})), "claude, %q", reason)
		assert.Equal(t, want, responseOf(finishedAgentic(schema.AgenticResponseMeta{GeminiExtension: &gemini.ResponseMetaExtension{FinishReason: reason}})), "gemini, %q", reason)
		assert.Equal(t, want, responseOf(finishedAgentic(schema.AgenticResponseMeta{
			OpenAIExtension: &openai.ResponseMetaExtension{IncompleteDetails: &openai.IncompleteDetails{Reason: reason}}})), "openai, %q", reason)
	}
	m := finished("tool_calls")
	m.ToolCalls = []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "search", Arguments: "{}"}}}
	got := responseOf(m)
	assert.False(t, got.Unparsed, "the call is there")
	assert.Equal(t, []core.Call{{ID: "c1", Name: "search", Args: "{}"}}, got.Calls)
}

// An approval that the provider waits for is no answer, though there is text and no call of ours.
func TestApprovalIsNoAnswer(t *testing.T) {
	m := assistantMessage[agentic]("May I?")
	m.ContentBlocks = append(m.ContentBlocks, schema.NewContentBlock(&schema.MCPToolApprovalRequest{ID: "a1", Name: "delete"}))
	assert.True(t, responseOf(m).Unparsed)
	assert.False(t, isFinal(m))
	assert.True(t, isFinal(assistantMessage[agentic]("Done.")))
	assert.False(t, isFinal(userMessage[agentic]("Hello.")))
}

// The tail goes on a copy: neither the slice nor a message nor its parts change, and two tails on one request do not meet.
func TestWithTailCopies(t *testing.T) {
	parts := make([]schema.MessageInputPart, 1, 8)
	parts[0] = schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: "part"}
	//lint:ignore SA1019 deprecated, and still sent by eino's components
	old := make([]schema.ChatMessagePart, 1, 8)
	//lint:ignore SA1019 as above
	old[0] = schema.ChatMessagePart{Type: schema.ChatMessagePartTypeText, Text: "part"}
	blocks := make([]*schema.ContentBlock, 1, 8)
	blocks[0] = schema.NewContentBlock(&schema.UserInputText{Text: "text"})
	for name, m := range map[string]message{
		"text":      schema.UserMessage("text"),
		"empty":     schema.ToolMessage("", "c1"),
		"result":    schema.ToolMessage("text", "c1"),
		"parts":     {Role: schema.User, UserInputMultiContent: parts},
		"old parts": {Role: schema.User, MultiContent: old},
	} {
		holdsTail(t, name, m)
	}
	holdsTail(t, "blocks", agentic(&schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: blocks}))
}

func holdsTail[M adk.MessageType](t *testing.T, name string, m M) {
	in := make([]M, 1, 8)
	in[0] = m
	before, err := json.Marshal(in)
	require.NoError(t, err)
	one, two := withTail(in, "one"), withTail(in, "two")
	require.Len(t, one, 1, name)
	for tail, out := range map[string][]M{"one": one, "two": two} {
		b, err := json.Marshal(out)
		require.NoError(t, err)
		assert.Contains(t, string(b), tail, name)
	}
	b, _ := json.Marshal(one)
	assert.NotContains(t, string(b), "two", name)
	after, _ := json.Marshal(in)
	assert.Equal(t, string(before), string(after), name)
}

// Where the last message is neither the user's nor a tool's, the tail is a user message of its own.
func TestWithTailAfterTheModel(t *testing.T) {
	out := withTail([]message{schema.SystemMessage("s")}, "tail")
	require.Len(t, out, 2)
	assert.Equal(t, schema.User, out[1].Role)
	assert.Len(t, withTail([]message(nil), "tail"), 1)
	assert.Len(t, withTail([]agentic{assistantMessage[agentic]("a")}, "tail"), 2)
	in := []message{schema.UserMessage("u")}
	assert.Same(t, in[0], withTail(in, "")[0], "nothing to add")
}

// A tool result has the user's role in agentic histories; it is no input, and an approval is.
func TestUserInput(t *testing.T) {
	result := schema.NewContentBlock(&schema.FunctionToolResult{CallID: "c1", Name: "search"})
	approval := schema.NewContentBlock(&schema.MCPToolApprovalResponse{ApprovalRequestID: "a1", Approve: true})
	for _, tc := range []struct {
		blocks []*schema.ContentBlock
		ok     bool
	}{
		{[]*schema.ContentBlock{result}, false},
		{[]*schema.ContentBlock{approval}, true},
		{[]*schema.ContentBlock{result, schema.NewContentBlock(&schema.UserInputText{Text: "and stop"})}, true},
	} {
		_, ok := userInput(agentic(&schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: tc.blocks}))
		assert.Equal(t, tc.ok, ok)
	}
	_, ok := userInput(schema.ToolMessage("r", "c1"))
	assert.False(t, ok)
	a, _ := userInput(message(&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "a"}}}))
	b, _ := userInput(message(&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "b"}}}))
	assert.NotEqual(t, a, b, "parts are told apart")
}

// A mark goes on a copy of the metadata: the map may be shared.
func TestMarksAreMetadata(t *testing.T) {
	shared := map[string]any{"k": "v"}
	m := userMessage[message]("text")
	m.Extra = shared
	assert.Equal(t, markCorrection, markOf(marked(m, markCorrection)))
	assert.Equal(t, map[string]any{"k": "v"}, shared)
	assert.Empty(t, markOf(schema.UserMessage("a text about todoguard corrections")))
}

// What a model is told of our tools is what core says, byte for byte in the order of its properties.
func TestToolInfoKeepsTheSchema(t *testing.T) {
	for _, cfg := range []core.Config{{}, {Updates: core.Merge}, {Tools: core.ToolsTasks}, {Dependencies: true}} {
		p, err := core.New(cfg)
		require.NoError(t, err)
		tools, err := newTools(p, nil)
		require.NoError(t, err)
		specs := p.Tools()
		require.Len(t, tools, len(specs))
		for i, spec := range specs {
			info, err := tools[i].Info(t.Context())
			require.NoError(t, err)
			assert.Equal(t, spec.Name, info.Name)
			assert.Equal(t, spec.Description, info.Desc)
			s, err := info.ToJSONSchema()
			require.NoError(t, err)
			b, err := json.Marshal(s)
			require.NoError(t, err)
			assert.JSONEq(t, string(spec.Schema), string(b))
			assert.Equal(t, len(spec.Schema), len(b), "nothing is added that costs tokens: %s", b)
		}
	}
}
