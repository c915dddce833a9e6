package lcgadapter_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"

	"github.com/todoguard/todoguard/internal/stricttest"
	"github.com/todoguard/todoguard/lcgadapter"
)

func plugin(t testing.TB, opts ...lcgadapter.Option) *lcgadapter.Plugin {
	t.Helper()
	p, err := lcgadapter.New(opts...)
	require.NoError(t, err)
	return p
}

var human = []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "You help."), llms.TextParts(llms.ChatMessageTypeHuman, "go")}

// Trap: an OpenAIFunctionsAgent publishes one string __arg1, in a field that most clients ignore.
func TestFunctionsBecomeToolsWithTheRealSchema(t *testing.T) {
	model := script(say("ok"))
	p := plugin(t)
	functions := []llms.FunctionDefinition{
		{Name: "write_todos", Description: "long", Parameters: map[string]any{"type": "object"}},
		{Name: "search", Parameters: map[string]any{"type": "object", "properties": map[string]map[string]string{"__arg1": {"type": "string"}}, "required": []string{"__arg1"}}},
		{Name: "mine", Parameters: map[string]any{"type": "object"}},
	}
	mine := []llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "mine", Description: "as given"}}}
	_, err := p.Model(model).GenerateContent(session(t), human, llms.WithFunctions(functions), llms.WithTools(mine))
	require.NoError(t, err)
	got := model.requests[0].opts
	require.Empty(t, got.Functions)
	require.Len(t, got.Tools, 3, "a name in both is not doubled")
	require.Equal(t, "as given", got.Tools[0].Function.Description)
	require.Equal(t, p.Planner().Tools()[0].Description, got.Tools[1].Function.Description, "without the schema in words")
	todos := got.Tools[1].Function.Parameters.(map[string]any)["properties"].(map[string]any)["todos"].(map[string]any)
	require.Equal(t, "array", todos["type"])
	require.IsType(t, map[string]any{}, got.Tools[2].Function.Parameters.(map[string]any)["properties"].(map[string]any)["__arg1"], "googleai takes nothing else")

	require.Equal(t, "long", functions[0].Description, "the caller's functions are left alone")
	require.Len(t, mine, 1)
}

// It has no effect on a call without functions, but for the instruction.
func TestACallWithoutFunctionsGetsNoTools(t *testing.T) {
	model := script(say("ok"), say("ok"))
	p := plugin(t)
	_, err := p.Model(model).GenerateContent(session(t), human)
	require.NoError(t, err)
	require.Empty(t, model.requests[0].opts.Tools)
	got, err := p.Model(model).Call(session(t), "Complete this.")
	require.NoError(t, err)
	require.Equal(t, "ok", got)
	require.Len(t, model.requests[1].msgs, 1)
	require.Equal(t, p.Planner().Instruction()+"\n\nComplete this.\n", model.requests[1].text())
}

// The instruction stands in the system message, once, and the caller's messages are left alone.
func TestTheInstructionIsAddedToACopy(t *testing.T) {
	model := script(say("ok"), say("ok"))
	p := plugin(t)
	for range 2 {
		_, err := p.Model(model).GenerateContent(session(t), human, llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "x"}}}))
		require.NoError(t, err)
	}
	want := "You help.\n\n" + p.Planner().Instruction() + "\ngo\n"
	require.Equal(t, want, model.requests[0].text())
	require.Equal(t, want, model.requests[1].text())
	require.Equal(t, "You help.", human[0].Parts[0].(llms.TextContent).Text)
}

// A chat without a system message gets one.
func TestTheInstructionLeadsAChatWithoutASystemMessage(t *testing.T) {
	model := script(say("ok"))
	msgs := human[1:]
	_, err := plugin(t).Model(model).GenerateContent(session(t), msgs, llms.WithFunctions([]llms.FunctionDefinition{{Name: "x"}}))
	require.NoError(t, err)
	require.Len(t, model.requests[0].msgs, 2)
	require.Equal(t, llms.ChatMessageTypeSystem, model.requests[0].msgs[0].Role)
	require.Len(t, msgs, 1)
}

// Trap: Arguments in the replayed history are the unwrapped value of __arg1, and results have no name.
func TestHistoryIsMended(t *testing.T) {
	toolCall := func(id, name, args string) llms.ToolCall {
		return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: args}}
	}
	msgs := append(append([]llms.MessageContent(nil), human...),
		llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{toolCall("1", "a", "plain"), toolCall("2", "b", `{"x":1}`), toolCall("3", "c", ""), toolCall("4", "d", "null"), llms.ToolCall{ID: "5"}}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "2", Content: "r2"}}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "1", Content: "r1"}}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "3", Name: "own", Content: "r3"}}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "?", Content: "r?"}}},
	)
	model := script(say("ok"))
	_, err := plugin(t).Model(model).GenerateContent(session(t), msgs)
	require.NoError(t, err)
	got := model.requests[0].msgs
	var args []string
	for _, p := range got[2].Parts {
		if c := p.(llms.ToolCall); c.FunctionCall != nil {
			args = append(args, c.FunctionCall.Arguments)
		}
	}
	require.Equal(t, []string{`{"__arg1":"plain"}`, `{"x":1}`, `{}`, `{"__arg1":"null"}`}, args)
	var names []string
	for _, m := range got[3:] {
		names = append(names, m.Parts[0].(llms.ToolCallResponse).Name)
	}
	require.Equal(t, []string{"b", "a", "own", ""}, names)
	require.Equal(t, "plain", msgs[2].Parts[0].(llms.ToolCall).FunctionCall.Arguments, "the caller's messages are left alone")
}

// Trap: nil choices and nil function calls panic in the agents; anthropic gives a choice for each block.
func TestResponsesAreMended(t *testing.T) {
	fn := &llms.FunctionCall{Name: "search", Arguments: "{}"}
	for name, c := range map[string]struct {
		resp    *llms.ContentResponse
		n       int
		want    []llms.ContentChoice
		wantErr error
	}{
		"nil":               {resp: nil},
		"no choices":        {resp: &llms.ContentResponse{}},
		"nil choice":        {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{nil}}},
		"nil beside one":    {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{nil, {Content: "x"}}}, want: []llms.ContentChoice{{Content: "x"}}},
		"nil call":          {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "1"}}}}}, wantErr: agents.ErrUnableToParseOutput},
		"nil call and text": {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "x", ToolCalls: []llms.ToolCall{{ID: "1"}}}}}, want: []llms.ContentChoice{{Content: "x"}}},
		"nil call beside one": {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "1"}, {ID: "2", FunctionCall: fn}}}}},
			want: []llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "2", FunctionCall: fn}}}}},
		"blocks": {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "a"}, {ToolCalls: []llms.ToolCall{{ID: "2", FunctionCall: fn}}}, {Content: "b"}}},
			want: []llms.ContentChoice{{Content: "ab", ToolCalls: []llms.ToolCall{{ID: "2", FunctionCall: fn}}}}},
		"candidates that were asked for": {n: 2, resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "a"}, {Content: "b"}}},
			want: []llms.ContentChoice{{Content: "a"}, {Content: "b"}}},
		"legacy call":          {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{FuncCall: fn}}}, want: []llms.ContentChoice{{FuncCall: fn}}},
		"nameless legacy call": {resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "x", FuncCall: &llms.FunctionCall{}}}}, want: []llms.ContentChoice{{Content: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := plugin(t).Model(script(step{resp: c.resp})).GenerateContent(session(t), human, llms.WithN(c.n))
			if c.want == nil {
				require.Error(t, err)
				require.Nil(t, got)
				if c.wantErr != nil {
					require.ErrorIs(t, err, c.wantErr)
				}
				return
			}
			require.NoError(t, err)
			require.Len(t, got.Choices, len(c.want))
			for i := range c.want {
				require.Equal(t, c.want[i], *got.Choices[i])
			}
		})
	}
}

// Trap: what would panic in an agent ends in an error, or goes on.
func TestAgentsDoNotPanicOnNil(t *testing.T) {
	for name, resp := range map[string]*llms.ContentResponse{
		"nil":        nil,
		"nil choice": {Choices: []*llms.ContentChoice{nil}},
		"nil call":   {Choices: []*llms.ContentChoice{{ToolCalls: []llms.ToolCall{{ID: "x"}}}}},
	} {
		for _, kind := range []string{"functions", "mrkl", "conversational"} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				p := plugin(t)
				a, err := p.Wrap(agentOf(kind, script(step{resp: resp}), p.Tools()))
				require.NoError(t, err)
				_, err = chains.Run(session(t), lcgadapter.NewExecutor(a), "go")
				require.Error(t, err)
			})
		}
	}
}

// An answer that was cut off by length is not corrected, whatever the provider calls it.
func TestACutOffAnswerIsNotCorrected(t *testing.T) {
	for _, reason := range []string{"length", "max_tokens", "FinishReasonMaxTokens", "MAX_TOKENS", "model_length"} {
		cut := say("HALF AN")
		cut.resp.Choices[0].StopReason = reason
		answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, script(calls("c1", "write_todos", twoOpen), cut))), "go")
		require.NoError(t, err)
		require.Equal(t, "HALF AN", answer, reason)
	}
	for _, p := range providers {
		srv := p.start(t, call("c1", "write_todos", twoOpen), stricttest.Reply{Text: "HALF AN", Truncated: true})
		answer, err := chains.Run(session(t), lcgadapter.NewExecutor(wrapped(t, p.model(t, srv))), "go")
		require.NoError(t, err, p.name)
		require.Equal(t, "HALF AN", answer, p.name)
		srv.Check(t)
	}
}

// The tool accepts what agents and models make of its arguments.
func TestTheToolAcceptsArg1(t *testing.T) {
	for name, input := range map[string]string{
		"bare":             twoDone,
		"string in __arg1": `{"__arg1":` + quote(twoDone) + `}`,
		"object in __arg1": `{"__arg1":` + twoDone + `}`,
		"junk behind it":   twoDone + "\nObservation: saved",
	} {
		t.Run(name, func(t *testing.T) {
			p := plugin(t)
			result, err := p.Tools()[0].Call(session(t), input)
			require.NoError(t, err)
			require.Contains(t, result, `"completed":2`)
		})
	}
}

// The wrapper says what the wrapped model says of reasoning, and passes its errors on.
func TestModelPassesOn(t *testing.T) {
	p := plugin(t)
	require.False(t, p.Model(script()).SupportsReasoning())
	require.True(t, p.Model(reasoning{}).SupportsReasoning())
	boom := errors.New("boom")
	_, err := p.Model(script(step{err: boom})).GenerateContent(session(t), human)
	require.ErrorIs(t, err, boom)
}

type reasoning struct{ *scripted }

func (reasoning) SupportsReasoning() bool { return true }

func (r reasoning) Call(ctx context.Context, p string, o ...llms.CallOption) (string, error) {
	return r.scripted.Call(ctx, p, o...)
}
