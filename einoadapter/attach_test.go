package einoadapter_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

func TestInsertPutsUsWhereItWorks(t *testing.T) {
	mw, err := einoadapter.New(t.Context(), nil)
	require.NoError(t, err)
	a, b, sender := &hooks[*adkMessage]{}, &hooks[*adkMessage]{}, adk.NewEventSenderModelWrapper()
	type list = []adk.ChatModelAgentMiddleware
	for _, tc := range []struct{ in, want list }{
		{nil, list{mw}},
		{list{a, b}, list{mw, a, b}},
		{list{a, sender, b}, list{a, sender, mw, b}},
		{list{sender}, list{sender, mw}},
	} {
		in := append(list(nil), tc.in...)
		got := einoadapter.Insert(in, mw)
		require.Len(t, got, len(tc.want))
		for i := range got {
			assert.Same(t, tc.want[i], got[i])
		}
		assert.Equal(t, tc.in, in, "the host's slice stays")
	}
}

// A host's own event sender, with and without a retry: each answer is seen once, and nothing hangs.
func TestBesideAnEventSenderOfTheHost(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for _, retry := range []*adk.ModelRetryConfig{nil, {MaxRetries: 1, ShouldRetry: func(ctx ctx, _ *adk.RetryContext) *adk.RetryDecision { return nil }}} {
			c := newCast(stream, acts[*adkMessage](t, corrected()...))
			c.cfg.ModelRetryConfig = retry
			c.cfg.Handlers = []adk.ChatModelAgentMiddleware{&hooks[*adkMessage]{}, adk.NewEventSenderModelWrapper(), &hooks[*adkMessage]{}}
			assert.Equal(t, both, c.run(t))
		}
	}
}

// A handler that swaps the model (skills do) would cut us off if it stood in front; Attach puts us before it.
func TestBesideAHandlerThatSwapsTheModel(t *testing.T) {
	everyADK(t, swapped[*adkMessage], swapped[*adkAgentic])
}

func swapped[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, corrected()...)
	c := newCast(stream, acts[M](t))
	c.cfg.Handlers = append(c.cfg.Handlers, &hooks[M]{wrap: func(model.BaseModel[M]) model.BaseModel[M] { return m }})
	var seen []string
	for _, line := range c.run(t) {
		seen = append(seen, strings.TrimSuffix(line, " <without an id>")) // eino gives ids at the model that was swapped out
	}
	assert.Equal(t, both, seen)
	assert.Len(t, m.requests(), 4)
}

// A host that puts such a handler in front of its own event sender keeps us from the model. That costs block and guard, which
// the page of Insert says, and nothing else.
func TestCutOffFromTheModel(t *testing.T) {
	m := acts[*adkMessage](t, calls(write("c1", "in_progress")), says(answer))
	c := newCast(false, acts[*adkMessage](t))
	swap := &hooks[*adkMessage]{wrap: func(model.BaseModel[*adkMessage]) model.BaseModel[*adkMessage] { return m }}
	c.cfg.Handlers = []adk.ChatModelAgentMiddleware{swap, adk.NewEventSenderModelWrapper()}
	assert.Equal(t, []string{"tool write_todos: ok"}, c.run(t))
	assert.Len(t, m.requests(), 2)
	assert.Len(t, c.end(t).Open, 1)
}

func TestAToolWithOurNameIsAnError(t *testing.T) {
	t.Run("in the agent's config", func(t *testing.T) {
		cfg := &adk.ChatModelAgentConfig{Name: "a", Model: acts[*adkMessage](t)}
		cfg.ToolsConfig.Tools = tools(work{name: "Write_Todos"})
		err := einoadapter.Attach(t.Context(), cfg, nil)
		assert.ErrorContains(t, err, `the agent has a tool "Write_Todos" of its own`)
		assert.Empty(t, cfg.Handlers)
		assert.NoError(t, einoadapter.Attach(t.Context(), cfg, &einoadapter.Config{Config: core.Config{ToolName: "plan"}}))
	})
	add := func(rc *adk.ChatModelAgentContext) {
		rc.Tools = append(rc.Tools, work{name: core.DefaultToolName})
	}
	t.Run("added by a handler behind ours", func(t *testing.T) {
		c := newCast(false, acts[*adkMessage](t))
		c.cfg.Handlers = append(c.cfg.Handlers, &hooks[*adkMessage]{beforeAgent: add})
		seen := c.run(t)
		assert.Contains(t, seen[len(seen)-1], `the agent has a tool "write_todos" of its own`)
		assert.Equal(t, core.EndFailed, c.end(t).Reason)
	})
	t.Run("added by a handler in front of ours", func(t *testing.T) {
		c := newCast(false, acts[*adkMessage](t))
		c.cfg.Handlers = append(c.cfg.Handlers, &hooks[*adkMessage]{beforeAgent: add}, adk.NewEventSenderModelWrapper())
		seen := c.run(t)
		assert.Contains(t, seen[len(seen)-1], `the agent has a tool "write_todos" of its own`)
	})
}

func TestTwoMiddlewaresOnOneAgentAreAnError(t *testing.T) {
	c := newCast(false, acts[*adkMessage](t))
	second, err := einoadapter.New(t.Context(), &einoadapter.Config{Config: core.Config{ToolName: "plan"}})
	require.NoError(t, err)
	c.cfg.Handlers = append(c.cfg.Handlers, second)
	err = einoadapter.Attach(t.Context(), &c.cfg, &c.todo)
	assert.ErrorContains(t, err, `the agent "agent" has a todoguard middleware already`)

	first, err := einoadapter.New(t.Context(), nil)
	require.NoError(t, err)
	c.cfg.Handlers = append(c.cfg.Handlers, first)
	c.agent, err = adk.NewChatModelAgent(t.Context(), &c.cfg)
	require.NoError(t, err)
	seen := c.run(t)
	assert.Contains(t, seen[0], "two todoguard middlewares")
}

// Default instructions are templates as soon as any session value exists: ours has no braces and adds no session value.
func TestInstructionsWithPlaceholders(t *testing.T) {
	for name, tc := range map[string]struct {
		instruction, want string
		values            map[string]any
	}{
		"braces, no session values": {`Answer as {"a": 1}.`, `Answer as {"a": 1}.`, nil},
		"placeholder":               {"Hello {name}.", "Hello Bob.", map[string]any{"name": "Bob"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := acts[*adkMessage](t, says("Hello."))
			c := newCast(false, m)
			c.cfg.Instruction = tc.instruction
			c.run(t, adk.WithSessionValues(tc.values))
			planner := newPlanner(t, core.Config{})
			assert.Equal(t, tc.want+"\n\n"+planner.Instruction(), m.requests()[0][0].Text)
		})
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	for want, cfg := range map[string]einoadapter.Config{
		`einoadapter: Config.Replay is "sometimes", want one of ["nested" "always" "never"]`: {Replay: "sometimes"},
		"einoadapter: Config.MaxIterations is -1, want 0 (the agent's) or more":              {MaxIterations: -1},
		"einoadapter: Config.Planner and Config.Config are both set, want one of them":       {Planner: newPlanner(t, core.Config{}), Config: core.Config{NoGuard: true}},
		`core: Config.ToolName is "a b", want 1 to 64 of a-z A-Z 0-9 _ -`:                    {Config: core.Config{ToolName: "a b"}},
	} {
		_, err := einoadapter.New(t.Context(), &cfg)
		assert.ErrorContains(t, err, want)
	}
}

// The session id is the host's, used as it is. There is no shared default.
func TestSessionID(t *testing.T) {
	everyADK(t, sessionID[*adkMessage], sessionID[*adkAgentic])
}

func sessionID[M adk.MessageType](t *testing.T, stream bool) {
	var got error
	c := newCast(stream, acts[M](t, says("Hello.")))
	events := c.runner(t).Query(t.Context(), question)
	for {
		ev, ok := events.Next()
		if !ok {
			break
		}
		got = ev.Err
	}
	assert.ErrorIs(t, got, core.ErrNoSession)
	assert.ErrorContains(t, got, "core.WithSession")

	c = newCast(stream, acts[M](t, calls(write("c1", "completed")), says(answer)))
	c.todo.Session = func(ctx) string { return " odd/id " }
	watch(t, c.runner(t).Query(t.Context(), question))
	assert.Equal(t, " odd/id ", c.end(t).Session)
}
