package einoadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/einoadapter"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
)

const (
	question = "Do the work."
	answer   = "All done, the answer is 42."
	closing  = "List updated."
)

// turn is one reply of an actor.
type turn struct {
	text  string
	calls []core.Call
	err   error         // in place of the reply
	cut   error         // behind the reply's chunks
	began chan struct{} // closed when the request is there
	wait  chan struct{} // the rest of the reply, from the second chunk on, waits for it
}

func (r turn) waiting() turn {
	r.began, r.wait = make(chan struct{}), make(chan struct{})
	return r
}

func says(text string) turn { return turn{text: text} }

func calls(cs ...core.Call) turn { return turn{calls: cs} }

func write(id, status string) core.Call {
	return core.Call{ID: id, Name: core.DefaultToolName, Args: `{"todos":[{"id":"1","content":"Ship it","status":"` + status + `"}]}`}
}

func use(id, name string) core.Call { return core.Call{ID: id, Name: name, Args: "{}"} }

// corrected is the usual script: plan, answer too early, tick off when asked, close.
func corrected() []turn {
	return []turn{calls(write("c1", "in_progress")), says(answer), calls(write("c2", "completed")), says(closing)}
}

// actor is a model that plays turns. It keeps the requests, and holds each to at most one list block.
type actor[M adk.MessageType] struct {
	mu    sync.Mutex
	turns []turn
	seen  [][]storytest.Message
	tools [][]string
}

func acts[M adk.MessageType](t testing.TB, turns ...turn) *actor[M] {
	a := &actor[M]{turns: turns}
	t.Cleanup(func() {
		for i, req := range a.requests() {
			n := 0
			for _, m := range req {
				n += strings.Count(m.Text, "<todos>")
			}
			if n > 1 {
				t.Errorf("request %d holds %d list blocks:\n%s", i+1, n, told(req))
			}
		}
	})
	return a
}

func (a *actor[M]) next(ctx context.Context, in []M, opts []model.Option) (turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return turn{}, err
	}
	var req []storytest.Message
	for _, m := range in {
		plain, err := einoadk.Plain(m)
		if err != nil {
			return turn{}, err
		}
		req = append(req, plain)
	}
	a.seen = append(a.seen, req)
	var names []string
	for _, info := range model.GetCommonOptions(&model.Options{}, opts...).Tools {
		names = append(names, info.Name)
	}
	a.tools = append(a.tools, names)
	if len(a.seen) > len(a.turns) {
		return turn{}, fmt.Errorf("no turn left for request %d:\n%s", len(a.seen), told(req))
	}
	r := a.turns[len(a.seen)-1]
	if r.began != nil {
		close(r.began)
	}
	return r, r.err
}

func (a *actor[M]) requests() [][]storytest.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.seen)
}

func (a *actor[M]) toolsOf(request int) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tools[request]
}

func (a *actor[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (out M, err error) {
	r, err := a.next(ctx, in, opts)
	if err != nil {
		return out, err
	}
	if err := r.hold(ctx); err != nil {
		return out, err
	}
	if r.cut != nil {
		return out, r.cut
	}
	return joined(einoadk.Chunks[M](storytest.Reply{Text: r.text, Calls: r.calls}))
}

func (r turn) hold(ctx context.Context) error {
	if r.wait == nil {
		return nil
	}
	select {
	case <-r.wait:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *actor[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	r, err := a.next(ctx, in, opts)
	if err != nil {
		return nil, err
	}
	out, w := schema.Pipe[M](1)
	go func() {
		defer w.Close()
		var none M
		for i, chunk := range einoadk.Chunks[M](storytest.Reply{Text: r.text, Calls: r.calls}) {
			if i == 1 {
				if err := r.hold(ctx); err != nil {
					w.Send(none, err)
					return
				}
			}
			if w.Send(chunk, nil) {
				return
			}
		}
		if r.cut != nil {
			w.Send(none, r.cut)
		}
	}()
	return out, nil
}

func joined[M adk.MessageType](chunks []M) (out M, err error) {
	switch c := any(chunks).(type) {
	case []*schema.Message:
		m, err := schema.ConcatMessages(c)
		return any(m).(M), err
	default:
		m, err := schema.ConcatAgenticMessages(any(chunks).([]*schema.AgenticMessage))
		return any(m).(M), err
	}
}

// told tells a request, a line a message.
func told(req []storytest.Message) string {
	var b strings.Builder
	for _, m := range req {
		fmt.Fprintf(&b, "%s%s %q", m.Role, m.CallID, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Args)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// roles tells a request by its roles, calls and call ids.
func roles(req []storytest.Message) string {
	var parts []string
	for _, m := range req {
		p := m.Role
		for _, c := range m.Calls {
			p += "+" + c.ID
		}
		if m.CallID != "" {
			p += ":" + m.CallID
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, " ")
}

// cast is an agent under test.
type cast[M adk.MessageType] struct {
	cfg    adk.TypedChatModelAgentConfig[M]
	todo   einoadapter.Config
	events eventLog
	store  *checkpoints // nil: no checkpoints
	stream bool
	agent  adk.TypedAgent[M] // "": made of cfg at the first run
}

func newCast[M adk.MessageType](stream bool, m model.BaseModel[M], ts ...tool.BaseTool) *cast[M] {
	c := &cast[M]{stream: stream}
	c.cfg = adk.TypedChatModelAgentConfig[M]{Name: "agent", Description: "works", Instruction: "Be brief.", Model: m}
	c.cfg.ToolsConfig.Tools = ts
	c.todo.OnEvent = c.events.add
	return c
}

func (c *cast[M]) runner(t testing.TB) *adk.TypedRunner[M] {
	t.Helper()
	if c.agent == nil {
		require.NoError(t, einoadapter.Attach(t.Context(), &c.cfg, &c.todo))
		agent, err := adk.NewTypedChatModelAgent(t.Context(), &c.cfg)
		require.NoError(t, err)
		c.agent = agent
	}
	rc := adk.TypedRunnerConfig[M]{Agent: c.agent, EnableStreaming: c.stream}
	if c.store != nil {
		rc.CheckPointStore = c.store
	}
	return adk.NewTypedRunner(rc)
}

// run asks the question under the session "s" and tells what the consumer sees.
func (c *cast[M]) run(t testing.TB, opts ...adk.AgentRunOption) []string {
	t.Helper()
	return watch(t, c.runner(t).Query(core.WithSession(t.Context(), "s"), question, opts...))
}

func (c *cast[M]) resume(t testing.TB, id string) []string {
	t.Helper()
	events, err := c.runner(t).Resume(core.WithSession(t.Context(), "s"), id)
	require.NoError(t, err)
	return watch(t, events)
}

// end is the only end-of-run event.
func (c *cast[M]) end(t testing.TB) core.Event {
	t.Helper()
	ends := c.events.of(core.EventRunEnded)
	require.Len(t, ends, 1, "end-of-run events")
	return ends[0]
}

// watch reads events to their end as a user interface does, a line each. A consumer that hangs fails the test.
func watch[M adk.MessageType](t testing.TB, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) []string {
	t.Helper()
	lines := make(chan []string, 1)
	go func() {
		var out []string
		for {
			ev, ok := events.Next()
			if !ok {
				lines <- out
				return
			}
			out = append(out, tell(ev)...)
		}
	}()
	select {
	case out := <-lines:
		return out
	case <-time.After(20 * time.Second):
		require.Fail(t, "the consumer hangs")
		return nil
	}
}

func tell[M adk.MessageType](ev *adk.TypedAgentEvent[M]) (lines []string) {
	if ev.Err != nil {
		return []string{"error: " + ev.Err.Error()}
	}
	if ev.Action != nil && ev.Action.Interrupted != nil {
		lines = append(lines, "interrupted")
	}
	if ev.Output == nil || ev.Output.MessageOutput == nil {
		return lines
	}
	out := ev.Output.MessageOutput
	msg, tail := out.Message, ""
	if out.IsStreaming {
		var chunks []M
		for {
			chunk, err := out.MessageStream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				var again *adk.WillRetryError
				if tail = " <broken: " + err.Error() + ">"; errors.As(err, &again) {
					tail = " <taken back>"
				}
				break
			}
			chunks = append(chunks, chunk)
		}
		if len(chunks) == 0 {
			return append(lines, "assistant:"+tail)
		}
		var err error
		if msg, err = joined(chunks); err != nil {
			return append(lines, "bad chunks: "+err.Error())
		}
	}
	m, err := einoadk.Plain(msg)
	if err != nil {
		return append(lines, "bad message: "+err.Error())
	}
	line := m.Role
	if m.Name != "" {
		line += " " + m.Name
	}
	line += ":"
	switch {
	case m.Role == "tool" && m.Name == core.DefaultToolName:
		line += " " + storytest.Code(m.Text)
	case m.Text != "":
		line += " " + m.Text
	}
	for _, c := range m.Calls {
		line += " " + c.Name + "#" + c.ID
	}
	if adk.GetMessageID(msg) == "" && tail == "" {
		tail = " <without an id>"
	}
	return append(lines, line+tail)
}

// everyADK runs a test on both message types, invoked and streamed.
func everyADK(t *testing.T, message, agentic func(t *testing.T, stream bool)) {
	t.Run("message/invoke", func(t *testing.T) { message(t, false) })
	t.Run("message/stream", func(t *testing.T) { message(t, true) })
	t.Run("agentic/invoke", func(t *testing.T) { agentic(t, false) })
	t.Run("agentic/stream", func(t *testing.T) { agentic(t, true) })
}

// hooks is a middleware of the host.
type hooks[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	beforeAgent func(rc *adk.ChatModelAgentContext)
	before      func(st *adk.TypedChatModelAgentState[M])
	after       func(st *adk.TypedChatModelAgentState[M])
	end         func(st *adk.TypedChatModelAgentState[M])
	wrap        func(m model.BaseModel[M]) model.BaseModel[M]
}

func (h *hooks[M]) BeforeAgent(ctx context.Context, rc *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	if h.beforeAgent != nil {
		h.beforeAgent(rc)
	}
	return ctx, rc, nil
}

func (h *hooks[M]) BeforeModelRewriteState(ctx context.Context, st *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if h.before != nil {
		h.before(st)
	}
	return ctx, st, nil
}

func (h *hooks[M]) AfterModelRewriteState(ctx context.Context, st *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if h.after != nil {
		h.after(st)
	}
	return ctx, st, nil
}

func (h *hooks[M]) AfterAgent(ctx context.Context, st *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	if h.end != nil {
		h.end(st)
	}
	return ctx, nil
}

func (h *hooks[M]) WrapModel(_ context.Context, m model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	if h.wrap != nil {
		return h.wrap(m), nil
	}
	return m, nil
}

func plainOf[M adk.MessageType](t testing.TB, history []M) []storytest.Message {
	t.Helper()
	var out []storytest.Message
	for _, m := range history {
		p, err := einoadk.Plain(m)
		require.NoError(t, err)
		out = append(out, p)
	}
	return out
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

type (
	adkMessage = schema.Message
	adkAgentic = schema.AgenticMessage
)

func schemaUser(text string) *adkMessage { return schema.UserMessage(text) }

func schemaSummary(text string) *adkMessage {
	m := schema.UserMessage(text)
	m.Extra = map[string]any{"_eino_summarization_content_type": "summary"}
	return m
}
