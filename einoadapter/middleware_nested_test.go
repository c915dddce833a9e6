package einoadapter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

const report = "The report: three findings."

// helper is an agent tool "helper" whose agent has the middleware with cfg; nil: none.
func helper[M adk.MessageType](t *testing.T, m *actor[M], cfg *einoadapter.Config) *adk.TypedChatModelAgentConfig[M] {
	c := &adk.TypedChatModelAgentConfig[M]{Name: "helper", Description: "helps", Model: m}
	if cfg != nil {
		require.NoError(t, einoadapter.Attach(t.Context(), c, cfg))
	}
	return c
}

func asTool[M adk.MessageType](t *testing.T, c *adk.TypedChatModelAgentConfig[M]) adk.ToolsConfig {
	agent, err := adk.NewTypedChatModelAgent(t.Context(), c)
	require.NoError(t, err)
	var tc adk.ToolsConfig
	tc.Tools = append(tc.Tools, adk.NewTypedAgentTool[M](t.Context(), agent))
	return tc
}

func ask(id string) core.Call {
	return core.Call{ID: id, Name: "helper", Args: `{"request":"Report."}`}
}

// The list belongs to the root agent: one that runs inside it has no tool, no block and no guard.
func TestNestedAgentIsLeftAlone(t *testing.T) {
	everyADK(t, leftAlone[*adkMessage], leftAlone[*adkAgentic])
}

func leftAlone[M adk.MessageType](t *testing.T, stream bool) {
	turns := corrected()
	inner := acts[M](t, says(report))
	outer := acts[M](t, turns[0], calls(ask("c9")), turns[1], turns[2], turns[3])
	c := newCast(stream, outer)
	planner := newPlanner(t, core.Config{OnEvent: c.events.add})
	c.todo = einoadapter.Config{Planner: planner}
	c.cfg.ToolsConfig = asTool(t, helper(t, inner, &einoadapter.Config{Planner: planner}))
	seen := c.run(t)
	assert.Contains(t, seen, "tool helper: "+report)
	require.Len(t, inner.requests(), 1)
	assert.Empty(t, inner.toolsOf(0))
	assert.Equal(t, []string{"helper", core.DefaultToolName}, outer.toolsOf(0))
	assert.NotContains(t, told(inner.requests()[0]), "todo", "no instruction, no block")
	require.Len(t, outer.requests(), 5)
	assert.Equal(t, answer, c.end(t).Answer, "the nested agent is no run of its own, and its work came before the correction")
}

// A host may ask for a list of its own for a nested agent. Its caller takes the last text, so it ends with the full answer.
func TestNestedAgentWithAListOfItsOwn(t *testing.T) {
	everyADK(t, ownList[*adkMessage], ownList[*adkAgentic])
}

func ownList[M adk.MessageType](t *testing.T, stream bool) {
	inner := acts[M](t, calls(write("n1", "in_progress")), says(report), calls(write("n2", "completed")))
	outer := acts[M](t, calls(write("c1", "in_progress")), calls(ask("c2")), calls(write("c3", "completed")), says(answer))
	c := newCast(stream, outer)
	planner := newPlanner(t, core.Config{OnEvent: c.events.add})
	c.todo = einoadapter.Config{Planner: planner}
	c.cfg.ToolsConfig = asTool(t, helper(t, inner, &einoadapter.Config{Planner: planner,
		Nested: func(_ context.Context, session string) string { return session + "/helper" }}))
	seen := c.run(t)
	assert.Contains(t, seen, "tool helper: "+report, "and not what the model said last")
	assert.Len(t, inner.requests(), 3, "the closing sentence is not asked for")
	for session, want := range map[string]string{"s": answer, "s/helper": report} {
		i := 0
		for _, e := range c.events.of(core.EventRunEnded) {
			if e.Session == session {
				assert.Equal(t, want, e.Answer)
				assert.Empty(t, e.Superseded)
				i++
			}
		}
		assert.Equal(t, 1, i, "end events of %s", session)
		list, err := planner.Get(t.Context(), session)
		require.NoError(t, err)
		assert.Equal(t, 1, list.Summary.Completed)
	}
}

func TestNestedAgentMayNotShareTheKey(t *testing.T) {
	outer := acts[*adkMessage](t, calls(ask("c1")))
	c := newCast(false, outer)
	c.cfg.ToolsConfig = asTool(t, helper(t, acts[*adkMessage](t), &einoadapter.Config{Nested: func(_ context.Context, session string) string { return session }}))
	seen := c.run(t)
	assert.Contains(t, seen[len(seen)-1], `Config.Nested returned "s", the enclosing agent's session`)
}

// An agent with a list as the tool of one without: the caller gets the full answer and not "List updated.".
func TestAgentAsAToolReturnsTheFullAnswer(t *testing.T) {
	everyADK(t, fullAnswer[*adkMessage], fullAnswer[*adkAgentic])
}

func fullAnswer[M adk.MessageType](t *testing.T, stream bool) {
	search := calls(use("n3", "search"))
	for name, tc := range map[string]struct {
		replay einoadapter.Replay
		turns  []turn
		want   string
	}{
		"only the list was updated": {"", []turn{calls(write("n2", "completed"))}, report},
		"no tool ran":               {"", []turn{says("Nothing to add.")}, report + "\n\nNothing to add."},
		"other tools ran":           {"", []turn{search, says("Four findings.")}, "Four findings."},
		"switched off":              {einoadapter.ReplayNever, []turn{calls(write("n2", "completed")), says(closing)}, closing},
	} {
		t.Run(name, func(t *testing.T) {
			inner := acts[M](t, append([]turn{calls(write("n1", "in_progress")), says(report)}, tc.turns...)...)
			hc := helper(t, inner, nil)
			hc.ToolsConfig.Tools = tools(work{name: "search"})
			hc.OutputKey = "report"
			require.NoError(t, einoadapter.Attach(t.Context(), hc, &einoadapter.Config{Replay: tc.replay}))
			outer := acts[M](t, calls(ask("c1")), says(answer))
			agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "outer", Description: "d", Model: outer, ToolsConfig: asTool(t, hc)})
			require.NoError(t, err)
			runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: stream})
			seen := watch(t, runner.Query(core.WithSession(t.Context(), "s"), question))
			assert.Contains(t, seen, "tool helper: "+tc.want)
			assert.Len(t, inner.requests(), 2+len(tc.turns))
		})
	}
}

// noEnd is a store that fails to save what a run leaves when it is over: its last save, the one behind so many others.
type noEnd struct {
	core.Store
	left int
}

func (s *noEnd) Save(c ctx, session string, doc []byte, base core.Version) (core.Version, error) {
	if s.left--; s.left < 0 {
		return "", core.ErrUnavailable
	}
	return s.Store.Save(c, session, doc, base)
}

// A store that fails when the run is over costs no answer: at the root its error comes behind the answer, but an agent tool
// would give its caller the error in place of it.
func TestStoreThatFailsAtTheEnd(t *testing.T) {
	everyADK(t, endFails[*adkMessage], endFails[*adkAgentic])
}

func endFails[M adk.MessageType](t *testing.T, stream bool) {
	turns := func(last ...turn) []turn {
		return append([]turn{calls(write("n1", "in_progress")), says(report), calls(write("n2", "completed"))}, last...)
	}
	store := &noEnd{core.NewMemoryStore(), 3}
	hc := helper(t, acts[M](t, turns()...), &einoadapter.Config{Config: core.Config{Store: store}})
	outer := acts[M](t, calls(ask("c1")), says(answer))
	agent, err := adk.NewTypedChatModelAgent(t.Context(), &adk.TypedChatModelAgentConfig[M]{Name: "outer", Description: "d", Model: outer, ToolsConfig: asTool(t, hc)})
	require.NoError(t, err)
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: stream})
	seen := watch(t, runner.Query(core.WithSession(t.Context(), "s"), question))
	assert.Contains(t, seen, "tool helper: "+report)
	assert.Equal(t, "assistant: "+answer, seen[len(seen)-1])
	assert.Equal(t, -1, store.left, "one save failed")

	root := newCast(stream, acts[M](t, turns(says(closing))...))
	root.todo.Store = &noEnd{core.NewMemoryStore(), 3}
	seen = root.run(t)
	require.Len(t, seen, 7)
	assert.Equal(t, "assistant: "+closing, seen[5])
	assert.Contains(t, seen[6], core.ErrUnavailable.Error())
	assert.Equal(t, report, root.end(t).Answer)
}

// A host that keeps only the last text asks for the replay at the root, and OutputKey then has the full answer.
func TestReplayAtTheRoot(t *testing.T) {
	everyADK(t, replayRoot[*adkMessage], replayRoot[*adkAgentic])
}

func replayRoot[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, corrected()[:3]...)
	c := newCast(stream, m)
	c.todo.Replay = einoadapter.ReplayAlways
	var history []M
	c.cfg.Handlers = append(c.cfg.Handlers, &hooks[M]{end: func(st *adk.TypedChatModelAgentState[M]) { history = st.Messages }})
	assert.Equal(t, append(both[:5:5], "assistant: "+answer), c.run(t))
	assert.Len(t, m.requests(), 3)
	assert.Equal(t, answer, plainOf(t, history)[len(history)-1].Text)
	assert.NotEqual(t, adk.GetMessageID(history[4]), adk.GetMessageID(history[len(history)-1]), "it is a message of its own")
	assert.Contains(t, m.requests()[2][5].Text, "kept", "the model is not told that its answer was delivered")
}

// Without a tool call since, the full answer is both texts, sent once more as a message with an id of its own.
func TestReplayOfTwoAnswers(t *testing.T) {
	everyADK(t, replayBoth[*adkMessage], replayBoth[*adkAgentic])
}

func replayBoth[M adk.MessageType](t *testing.T, stream bool) {
	c := newCast(stream, acts[M](t, calls(write("c1", "in_progress")), says(answer), says("Nothing to add.")))
	c.todo.Replay = einoadapter.ReplayAlways
	assert.Equal(t, append(both[:3:3], "assistant: Nothing to add.", "assistant: "+answer+"\n\nNothing to add."), c.run(t))
}

// Deep agents hand their handlers to the general sub-agent: the same value is at the root and inside.
func TestDeepAgentWithItsGeneralSubAgent(t *testing.T) {
	everyADK(t, deepAgent[*adkMessage], deepAgent[*adkAgentic])
}

func deepAgent[M adk.MessageType](t *testing.T, stream bool) {
	turns := corrected()
	task := core.Call{ID: "c5", Name: "task", Args: `{"subagent_type":"general-purpose","description":"Report."}`}
	m := acts[M](t, turns[0], calls(task), says(report), turns[1], turns[2], turns[3])
	c := newCast[M](stream, nil)
	mw, err := einoadapter.NewTyped[M](t.Context(), &c.todo)
	require.NoError(t, err)
	agent, err := deep.NewTyped(t.Context(), &deep.TypedConfig[M]{Name: "deep", Description: "d", Instruction: `Braces {"x": 1} stay.`, ChatModel: m, WithoutWriteTodos: true,
		Handlers: einoadapter.Insert[M](nil, mw)})
	require.NoError(t, err)
	c.agent = agent
	want := append(append(both[:2:2], "assistant: task#c5", "tool task: "+report), both[2:]...)
	assert.Equal(t, want, c.run(t))
	reqs := m.requests()
	require.Len(t, reqs, 6)
	for i := range reqs {
		nested := i == 2
		assert.Equal(t, !nested, strings.Contains(strings.Join(m.toolsOf(i), " "), core.DefaultToolName), "request %d has the tool", i+1)
		assert.Equal(t, !nested, strings.Contains(reqs[i][0].Text, "plan with write_todos"), "request %d has the instruction", i+1)
	}
	assert.NotContains(t, told(reqs[2]), "<todos>")
	assert.Equal(t, answer, c.end(t).Answer)
}

// A deep agent brings a write_todos of its own; eino would run whichever came last.
func TestDeepAgentWithItsOwnWriteTodos(t *testing.T) {
	mw, err := einoadapter.New(t.Context(), nil)
	require.NoError(t, err)
	agent, err := deep.New(t.Context(), &deep.Config{Name: "deep", Description: "d", ChatModel: acts[*adkMessage](t), Handlers: einoadapter.Insert(nil, mw)})
	require.NoError(t, err)
	c := newCast[*adkMessage](false, nil)
	c.agent = agent
	seen := c.run(t)
	require.Len(t, seen, 1)
	assert.Contains(t, seen[0], `a tool "write_todos" of its own`)
	assert.Contains(t, seen[0], "WithoutWriteTodos")
}

// Many agents as tools at once, each under its own key.
func TestParallelNestedAgentsKeepTheirLists(t *testing.T) {
	planner := newPlanner(t, core.Config{})
	var cs []core.Call
	c := newCast[*adkMessage](false, nil)
	c.todo = einoadapter.Config{Planner: planner}
	for i := range 8 {
		name := fmt.Sprintf("helper%d", i)
		hc := helper(t, acts[*adkMessage](t, calls(write("n1", "in_progress")), says(name), calls(write("n2", "completed"))), &einoadapter.Config{Planner: planner,
			Nested: func(context.Context, string) string { return name }})
		hc.Name = name
		c.cfg.ToolsConfig.Tools = append(c.cfg.ToolsConfig.Tools, asTool(t, hc).Tools...)
		cs = append(cs, core.Call{ID: name, Name: name, Args: `{"request":"Report."}`})
	}
	m := acts[*adkMessage](t, calls(cs...), says(answer))
	c.cfg.Model = m
	seen := c.run(t)
	for _, call := range cs {
		assert.Contains(t, seen, "tool "+call.Name+": "+call.Name)
	}
}
