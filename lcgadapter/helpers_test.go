package lcgadapter_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
	"go.uber.org/goleak"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// The googleai client opens a gRPC connection for a cache that it does not use here, and never closes it.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("google.golang.org/grpc.(*addrConn).resetTransportAndUnlock"),
		goleak.IgnoreAnyFunction("google.golang.org/grpc/internal/grpcsync.(*CallbackSerializer).run"))
}

const (
	twoOpen = `{"todos":[{"id":"1","content":"Read","status":"in_progress"},{"id":"2","content":"Write","status":"pending"}]}`
	oneDone = `{"todos":[{"id":"1","content":"Read","status":"completed"},{"id":"2","content":"Write","status":"in_progress"}]}`
	twoDone = `{"todos":[{"id":"1","content":"Read","status":"completed"},{"id":"2","content":"Write","status":"completed"}]}`
)

// session is a ctx with the session "s".
func session(t testing.TB) context.Context { return core.WithSession(t.Context(), "s") }

// tool is a tools.Tool from a function.
type tool struct {
	name string
	call func(ctx context.Context, input string) (string, error)
}

func (t tool) Name() string                                           { return t.name }
func (t tool) Description() string                                    { return "Does " + t.name + "." }
func (t tool) Call(ctx context.Context, input string) (string, error) { return t.call(ctx, input) }

func search() tools.Tool {
	return tool{"search", func(_ context.Context, in string) (string, error) { return "found " + in, nil }}
}

// request is one request as the model got it.
type request struct {
	msgs []llms.MessageContent
	opts llms.CallOptions
}

// text is all text of the request.
func (r request) text() string {
	var s string
	for _, m := range r.msgs {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llms.TextContent:
				s += p.Text + "\n"
			case llms.ToolCallResponse:
				s += p.Content + "\n"
			}
		}
	}
	return s
}

// scripted is a model that gives responses in turn. Safe for concurrent use where answer is set.
type scripted struct {
	mu       sync.Mutex
	steps    []step
	answer   func(ctx context.Context, n int, r request) (*llms.ContentResponse, error) // in place of steps
	requests []request
}

type step struct {
	resp *llms.ContentResponse
	err  error
}

func (s *scripted) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}

func (s *scripted) GenerateContent(ctx context.Context, msgs []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r := request{msgs: msgs}
	for _, f := range options {
		f(&r.opts)
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	n := len(s.requests)
	s.mu.Unlock()
	var st step
	if s.answer != nil {
		st.resp, st.err = s.answer(ctx, n, r)
	} else if n <= len(s.steps) {
		st = s.steps[n-1]
	} else {
		panic("the script is over")
	}
	if f := r.opts.StreamingFunc; f != nil && st.resp != nil && len(st.resp.Choices) > 0 && st.resp.Choices[0] != nil {
		for text := st.resp.Choices[0].Content; text != ""; {
			k := min(5, len(text))
			if err := f(ctx, []byte(text[:k])); err != nil {
				return nil, err
			}
			text = text[k:]
		}
	}
	return st.resp, st.err
}

// say is a response of text.
func say(text string) step {
	return step{resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: text, StopReason: "stop"}}}}
}

// calls is a response of tool calls: id, name and arguments of each.
func calls(parts ...string) step {
	c := &llms.ContentChoice{StopReason: "tool_calls"}
	for i := 0; i+2 < len(parts); i += 3 {
		c.ToolCalls = append(c.ToolCalls, llms.ToolCall{ID: parts[i], Type: "function", FunctionCall: &llms.FunctionCall{Name: parts[i+1], Arguments: parts[i+2]}})
	}
	return step{resp: &llms.ContentResponse{Choices: []*llms.ContentChoice{c}}}
}

func script(steps ...step) *scripted { return &scripted{steps: steps} }

// wrapped is a hooked functions agent with the tool search.
func wrapped(t testing.TB, m llms.Model, opts ...lcgadapter.Option) *lcgadapter.Agent {
	t.Helper()
	a, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(m, []tools.Tool{search()}), opts...)
	require.NoError(t, err)
	return a
}
