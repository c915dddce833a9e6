package einoadapter_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// line is one reply of a lineModel.
type line struct {
	text  string
	calls []schema.ToolCall
	err   error         // in place of the reply
	cut   error         // stream: behind the text
	delay time.Duration // stream: before each chunk
}

func say(text string) line { return line{text: text} }

func call(id, name, args string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: args}}
}

func do(calls ...schema.ToolCall) line { return line{calls: calls} }

// plan is a write of one item.
func plan(id, status string) schema.ToolCall {
	return call(id, core.DefaultToolName, `{"todos":[{"id":"1","content":"Ship it","status":"`+status+`"}]}`)
}

// lineModel replies with its lines in turn and keeps every request.
type lineModel struct {
	mu    sync.Mutex
	lines []line
	seen  [][]*schema.Message
}

func newLines(lines ...line) *lineModel { return &lineModel{lines: lines} }

func (m *lineModel) next(in []*schema.Message) (line, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen = append(m.seen, slices.Clone(in))
	if len(m.seen) > len(m.lines) {
		return line{}, fmt.Errorf("no line left for request %d", len(m.seen))
	}
	l := m.lines[len(m.seen)-1]
	return l, l.err
}

func (m *lineModel) requests() [][]*schema.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.seen)
}

func (m *lineModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *lineModel) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	l, err := m.next(in)
	if err == nil {
		err = l.cut
	}
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage(l.text, l.calls), nil
}

func (m *lineModel) Stream(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	l, err := m.next(in)
	if err != nil {
		return nil, err
	}
	out, w := schema.Pipe[*schema.Message](1)
	go func() {
		defer w.Close()
		send := func(m *schema.Message) bool { time.Sleep(l.delay); return w.Send(m, nil) }
		for _, word := range strings.SplitAfter(l.text, " ") {
			if word != "" && send(schema.AssistantMessage(word, nil)) {
				return
			}
		}
		if l.cut != nil {
			w.Send(nil, l.cut)
			return
		}
		for i, c := range l.calls {
			c.Index = &i
			if send(schema.AssistantMessage("", []schema.ToolCall{c})) {
				return
			}
		}
	}()
	return out, nil
}

// work is a tool of the host.
type work struct {
	name string
	run  func(ctx context.Context) (string, error) // nil: "done"
}

func (w work) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: w.name, Desc: "Does some work.", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})}, nil
}

func (w work) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if w.run == nil {
		return "done", nil
	}
	return w.run(ctx)
}

// rig is what a test varies of an agent.
type rig struct {
	planner  *core.Planner
	model    model.ToolCallingChatModel
	tools    []tool.BaseTool
	maxSteps int
	live     bool
	compile  []compose.GraphCompileOption
}

// agentGraph is a graph builder's agent: rigged as a graph of its own, or as a react agent inside a parent graph.
type agentGraph struct {
	name  string
	build func(t testing.TB, r rig) compose.Runnable[[]*schema.Message, *schema.Message]
}

func agentGraphs() []agentGraph { return []agentGraph{{"graph", buildGraph}, {"react", buildReact}} }

func buildGraph(t testing.TB, r rig) compose.Runnable[[]*schema.Message, *schema.Message] {
	ctx := context.Background()
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
	loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{
		Planner: r.planner, Model: r.model, Tools: compose.ToolsNodeConfig{Tools: r.tools}, MaxRunSteps: r.maxSteps, Live: r.live,
	})
	require.NoError(t, err)
	require.NoError(t, g.AddEdge(compose.START, einoadapter.DefaultModelKey))
	out, err := g.Compile(ctx, append(loop.CompileOptions(), r.compile...)...)
	require.NoError(t, err)
	return out
}

// exampleGraph is buildGraph for an Example.
func exampleGraph(p *core.Planner, m *lineModel) agentRunnable {
	return buildGraph(panics{}, rig{planner: p, model: m})
}

// panics is a testing.TB where there is no test.
type panics struct{ testing.TB }

func (panics) Helper()                           {}
func (panics) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (panics) FailNow()                          { panic("failed") }

func buildReact(t testing.TB, r rig) compose.Runnable[[]*schema.Message, *schema.Message] {
	ctx := context.Background()
	if r.maxSteps == 0 {
		r.maxSteps = 100
	}
	cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{Planner: r.planner, Live: r.live, Agent: react.AgentConfig{
		ToolCallingModel: r.model, ToolsConfig: compose.ToolsNodeConfig{Tools: r.tools}, MaxStep: r.maxSteps,
	}})
	require.NoError(t, err)
	agent, err := react.NewAgent(ctx, cfg)
	require.NoError(t, err)
	inner, opts := agent.ExportGraph()
	g := compose.NewGraph[[]*schema.Message, *schema.Message]()
	require.NoError(t, g.AddGraphNode("agent", inner, opts...))
	require.NoError(t, g.AddEdge(compose.START, "agent"))
	require.NoError(t, g.AddEdge("agent", compose.END))
	out, err := g.Compile(ctx, r.compile...)
	require.NoError(t, err)
	return out
}

type agentRunnable = compose.Runnable[[]*schema.Message, *schema.Message]

// way is one of the four ways to run a graph; the answer is whole in all of them.
type way struct {
	name string
	run  func(ctx context.Context, r agentRunnable, in []*schema.Message, opts ...compose.Option) (string, error)
}

func ways() []way {
	text := func(m *schema.Message, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return m.Content, nil
	}
	return []way{
		{"invoke", func(ctx context.Context, r agentRunnable, in []*schema.Message, opts ...compose.Option) (string, error) {
			return text(r.Invoke(ctx, in, opts...))
		}},
		{"stream", func(ctx context.Context, r agentRunnable, in []*schema.Message, opts ...compose.Option) (string, error) {
			out, err := r.Stream(ctx, in, opts...)
			return readText(out, err)
		}},
		{"collect", func(ctx context.Context, r agentRunnable, in []*schema.Message, opts ...compose.Option) (string, error) {
			return text(r.Collect(ctx, schema.StreamReaderFromArray([][]*schema.Message{in}), opts...))
		}},
		{"transform", func(ctx context.Context, r agentRunnable, in []*schema.Message, opts ...compose.Option) (string, error) {
			out, err := r.Transform(ctx, schema.StreamReaderFromArray([][]*schema.Message{in}), opts...)
			return readText(out, err)
		}},
	}
}

func readText(out *schema.StreamReader[*schema.Message], err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer out.Close()
	text := ""
	for {
		chunk, err := out.Recv()
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		text += chunk.Content
	}
}

// everyWay runs fn for the graph and the react agent in each of the four ways.
func everyWay(t *testing.T, fn func(t *testing.T, g agentGraph, w way)) {
	for _, g := range agentGraphs() {
		for _, w := range ways() {
			t.Run(g.name+"/"+w.name, func(t *testing.T) { fn(t, g, w) })
		}
	}
}

func newPlanner(t testing.TB, cfg core.Config) *core.Planner {
	p, err := core.New(cfg)
	require.NoError(t, err)
	return p
}

// openItems puts open items on a session's list.
func openItems(p *core.Planner, session string, contents ...string) error {
	_, err := p.Update(context.Background(), session, func(todos []core.Item) ([]core.Item, error) {
		for _, c := range contents {
			todos = append(todos, core.Item{Content: c})
		}
		return todos, nil
	})
	return err
}

func user(text string) []*schema.Message { return []*schema.Message{schema.UserMessage(text)} }

func inSession(id string) context.Context { return core.WithSession(context.Background(), id) }

// checkpoints is a compose.CheckPointStore: what a database would keep between two processes.
type checkpoints struct {
	mu sync.Mutex
	m  map[string][]byte
}

func (c *checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.m[id]
	return slices.Clone(b), ok, nil
}

func (c *checkpoints) Set(_ context.Context, id string, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil {
		c.m = map[string][]byte{}
	}
	c.m[id] = slices.Clone(b)
	return nil
}

// eventLog keeps a planner's events. Safe for concurrent use.
type eventLog struct {
	mu     sync.Mutex
	events []core.Event
}

func (l *eventLog) add(_ context.Context, e core.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *eventLog) all() []core.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

func (l *eventLog) of(kind core.EventKind) []core.Event {
	return slices.DeleteFunc(l.all(), func(e core.Event) bool { return e.Kind != kind })
}

// shape tells a request role by role.
func shape(req []*schema.Message) string {
	var parts []string
	for _, m := range req {
		p := string(m.Role)
		for _, c := range m.ToolCalls {
			p += ":" + c.ID
		}
		if m.ToolCallID != "" {
			p += ":" + m.ToolCallID
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, " ")
}

func tools(in ...work) []tool.BaseTool {
	var out []tool.BaseTool
	for _, w := range in {
		out = append(out, w)
	}
	return out
}

// answering is a model without a script: it plans, answers too early, ticks off and closes, by what it is sent.
type answering struct{}

func (m *answering) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (m *answering) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	switch said := len(in) - 1; said { // without the system message
	case 1:
		return schema.AssistantMessage("", []schema.ToolCall{plan("c1", "in_progress"), call("w1", "work", `{}`)}), nil
	case 4:
		input, _, _ := strings.Cut(in[1].Content, "\n")
		return schema.AssistantMessage("Answer for "+input, nil), nil
	case 6:
		return schema.AssistantMessage("", []schema.ToolCall{plan("c2", "completed")}), nil
	case 8:
		return schema.AssistantMessage("List updated.", nil), nil
	default:
		return nil, fmt.Errorf("a request of %d messages: %s", said, shape(in))
	}
}

func (m *answering) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	msg, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{msg}), nil
}
