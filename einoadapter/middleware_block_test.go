package einoadapter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/einoadapter"
)

// The block goes with a request and stays nowhere: not in events, history, checkpoint or the caller's own message; and each
// request is, up to its block, a byte prefix of the next, so that prompt caches hold.
func TestBlockIsShownAndKeptNowhere(t *testing.T) {
	everyADK(t, blockKept[*adkMessage], blockKept[*adkAgentic])
}

func blockKept[M adk.MessageType](t *testing.T, stream bool) {
	for name, input := range map[string]M{"text": userText[M](question), "parts": userParts[M](question)} {
		t.Run(name, func(t *testing.T) {
			m := acts[M](t,
				calls(write("c1", "in_progress")), calls(use("c2", "search")), calls(use("c3", "search"), use("c4", "search")),
				calls(use("c5", "ask")), says(answer), calls(use("c6", "search")), calls(write("c7", "completed")), says(closing))
			c := newCast(stream, m, work{name: "search"}, asking())
			c.store = &checkpoints{}
			var history []M
			c.cfg.Handlers = append(c.cfg.Handlers, &hooks[M]{end: func(st *adk.TypedChatModelAgentState[M]) { history = st.Messages }})
			before := asJSON(t, input)
			seen := watch(t, c.runner(t).Run(core.WithSession(t.Context(), "s"), []M{input}, adk.WithCheckPointID("cp")))
			saved, _, _ := c.store.Get(t.Context(), "cp")
			require.NotEmpty(t, saved)
			seen = append(seen, c.resume(t, "cp")...)

			assert.NotContains(t, strings.Join(seen, "\n"), "<todos>")
			assert.NotContains(t, string(saved), "<todos>")
			assert.NotContains(t, asJSON(t, history), "<todos>", "saved history")
			assert.Equal(t, before, asJSON(t, input), "the caller's message")
			assertPrefixes(t, m.requests(), map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true})
		})
	}
}

// assertPrefixes holds every request to be a byte prefix of the next up to its block, and the requests numbered in blocks
// (from 1) to have one.
func assertPrefixes(t *testing.T, reqs [][]storytest.Message, blocks map[int]bool) {
	t.Helper()
	for i, req := range reqs {
		last := req[len(req)-1].Text
		at := strings.Index(last, "<todos>")
		assert.Equal(t, blocks[i+1], at >= 0, "request %d has a block", i+1)
		for _, m := range req[:len(req)-1] {
			assert.NotContains(t, m.Text, "<todos>", "request %d: a block before the tail", i+1)
		}
		if i+1 == len(reqs) {
			return
		}
		whole := encoded(req)
		if at >= 0 {
			whole = strings.TrimRight(whole[:strings.Index(whole, "<todos>")], "\n")
		}
		assert.True(t, strings.HasPrefix(encoded(reqs[i+1]), whole), "request %d is no prefix of the next", i+1)
	}
}

// encoded puts a request into bytes as providers do: role, calls, then the text.
func encoded(req []storytest.Message) string {
	var b strings.Builder
	for _, m := range req {
		fmt.Fprintf(&b, "|%s %s %s %v|%s", m.Role, m.CallID, m.Name, m.Calls, m.Text)
	}
	return b.String()
}

// Some providers leave call ids empty. Several writes of one response are refused all the same, and the other tools run.
func TestParallelWritesWithoutCallIDsAreRefused(t *testing.T) {
	for _, stream := range []bool{false, true} {
		m := acts[*adkMessage](t, calls(write("", "in_progress"), use("", "search"), write("", "completed")), says(answer))
		c := newCast(stream, m, work{name: "search"})
		c.run(t)
		reqs := m.requests()
		require.Len(t, reqs, 2)
		var codes []string
		for _, msg := range reqs[1][3:] {
			codes = append(codes, storytest.Code(msg.Text))
		}
		assert.Equal(t, []string{"parallel_write", "ok", "parallel_write"}, codes)
		assert.Equal(t, "done", reqs[1][4].Text)
		assert.Empty(t, c.events.of(core.EventListChanged))
	}
}

// After a summarization the block is the only carrier of the list, the summarizer never sees it, and the summary alone is no
// new input.
func TestSummarizationBeside(t *testing.T) {
	everyADK(t, summarized[*adkMessage], summarized[*adkAgentic])
}

func summarized[M adk.MessageType](t *testing.T, stream bool) {
	var asked []string
	long := strings.Repeat("many words of a tool result ", 200)
	m := acts[M](t, calls(waiting("c1")), calls(use("c2", "search")), calls(use("c3", "search")), says("The build runs."))
	c := newCast(stream, m, work{name: "search", run: func(context.Context) (string, error) { return long, nil }})
	c.todo.ValidateWait = waits(&asked)
	summarizer := acts[M](t, says("A build was started."), says("A build was started."), says("A build was started."))
	mw, err := summarization.NewTyped(t.Context(), &summarization.TypedConfig[M]{
		Model: summarizer, Trigger: &summarization.TriggerCondition{ContextTokens: 1000},
		TokenCounter: func(_ context.Context, in *summarization.TypedTokenCounterInput[M]) (int, error) {
			n := 0
			for _, msg := range plainOf(t, in.Messages) {
				n += len(msg.Text) / 4
			}
			return n, nil
		},
	})
	require.NoError(t, err)
	c.cfg.Handlers = append(c.cfg.Handlers, mw)
	seen := c.run(t)
	require.NotEmpty(t, summarizer.requests(), "the history was summarized: %v", seen)
	for _, req := range summarizer.requests() {
		assert.NotContains(t, told(req), "<todos>")
	}
	reqs := m.requests()
	require.Len(t, reqs, 4)
	last := reqs[3]
	assert.Equal(t, "system user", roles(last), "the history is a summary")
	assert.Contains(t, last[1].Text, "<todos>")
	assert.Contains(t, last[1].Text, "Ship it")
	require.Len(t, asked, 2)
	assert.Equal(t, asked[0], asked[1], "the boundary is as before the summary")
	assert.Equal(t, core.EndWaiting, c.end(t).Reason)
}

// reduction clears old tool results, ours among them; the block still carries the list.
func TestReductionBeside(t *testing.T) {
	everyADK(t, reduced[*adkMessage], reduced[*adkAgentic])
}

func reduced[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, calls(write("c1", "in_progress")), calls(use("c2", "search")), calls(use("c3", "search")), calls(write("c4", "completed")), says(answer))
	c := newCast(stream, m, work{name: "search", run: func(context.Context) (string, error) { return strings.Repeat("word ", 400), nil }})
	mw, err := reduction.NewTyped(t.Context(), &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 300})
	require.NoError(t, err)
	c.cfg.Handlers = append(c.cfg.Handlers, mw)
	events := c.runner(t).Query(core.WithSession(t.Context(), "s"), question)
	for ok := true; ok; { // unread: eino's reduction edits messages in place, also those that a consumer has
		var ev *adk.TypedAgentEvent[M]
		if ev, ok = events.Next(); ok && ev.Output.MessageOutput.IsStreaming {
			ev.Output.MessageOutput.MessageStream.Close()
		}
	}
	reqs := m.requests()
	require.Len(t, reqs, 5)
	req := reqs[3]
	assert.Equal(t, "system user assistant+c1 tool:c1 assistant+c2 tool:c2 assistant+c3 tool:c3", roles(req))
	assert.NotContains(t, req[3].Text, "Ship it", "our own result is cleared like any other")
	assert.NotContains(t, req[5].Text, "word")
	assert.Contains(t, req[7].Text, "Ship it")
	assert.Empty(t, c.end(t).Open)
}

// A history that was built from events lacks the corrections: two messages of the model stand side by side, which strict
// providers reject.
func TestHistoryBuiltFromEventsIsRepaired(t *testing.T) {
	turns := append(corrected(), says("Second round."))
	m := acts[*adkMessage](t, turns...)
	c := newCast(false, m)
	c.runner(t)
	loop, err := adk.NewLoopAgent(t.Context(), &adk.LoopAgentConfig{Name: "loop", Description: "d", SubAgents: []adk.Agent{c.agent}, MaxIterations: 2})
	require.NoError(t, err)
	runner := adk.NewRunner(t.Context(), adk.RunnerConfig{Agent: loop})
	watch(t, runner.Query(core.WithSession(t.Context(), "s"), question))
	reqs := m.requests()
	require.Len(t, reqs, 5)
	second := roles(reqs[4])
	assert.NotContains(t, second, "assistant assistant")
	assert.True(t, strings.HasPrefix(second, "system user assistant+c1 tool:c1 assistant user assistant+c2 tool:c2 assistant"), second)
	ends := c.events.of(core.EventRunEnded)
	require.Len(t, ends, 2, "each round is a run")
	assert.NotEqual(t, ends[0].RunID, ends[1].RunID)
}

// A history of the caller's that ends with an answer: the model's own answer comes behind that, and the correction after it.
func TestHistoryThatEndsWithAnAnswer(t *testing.T) {
	m := acts[*adkMessage](t, says("Going on."), says("Not yet."))
	c := newCast(false, m)
	c.todo = einoadapter.Config{Planner: newPlanner(t, core.Config{})}
	require.NoError(t, openItems(c.todo.Planner, "s", "Ship it"))
	in := []*schema.Message{schema.UserMessage(question), schema.AssistantMessage("Wait for me.", nil)}
	seen := watch(t, c.runner(t).Run(core.WithSession(t.Context(), "s"), in))
	assert.Equal(t, []string{"assistant: Going on.", "assistant: Not yet."}, seen)
	assert.Equal(t, "system user assistant user assistant user", roles(m.requests()[1]))
}

type fixedParts struct{}

func (fixedParts) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "shot", Desc: "takes a picture"}, nil
}

func (fixedParts) InvokableRun(context.Context, *schema.ToolArgument, ...tool.Option) (*schema.ToolResult, error) {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: "a picture"}}}, nil
}

// A tool result of several parts gets the block as one more part, on a copy.
func TestBlockAfterAResultOfParts(t *testing.T) {
	everyADK(t, afterParts[*adkMessage], afterParts[*adkAgentic])
}

func afterParts[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, calls(write("c1", "in_progress")), calls(use("c2", "shot")), calls(write("c3", "completed")), says(answer))
	c := newCast(stream, m, fixedParts{})
	c.run(t)
	reqs := m.requests()
	require.Len(t, reqs, 4)
	last := reqs[2][len(reqs[2])-1]
	assert.Equal(t, "tool", last.Role)
	assert.True(t, strings.HasPrefix(last.Text, "a picture"), last.Text)
	assert.Contains(t, last.Text, "<todos>")
	assertPrefixes(t, reqs, map[int]bool{3: true})
}

func userText[M adk.MessageType](text string) M {
	var none M
	if _, ok := any(none).(*schema.Message); ok {
		return any(schema.UserMessage(text)).(M)
	}
	return any(schema.UserAgenticMessage(text)).(M)
}

func userParts[M adk.MessageType](text string) M {
	var none M
	if _, ok := any(none).(*schema.Message); ok {
		return any(&schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: text}}}).(M)
	}
	blocks := []*schema.ContentBlock{schema.NewContentBlock(&schema.UserInputText{Text: text}), schema.NewContentBlock(&schema.UserInputText{Text: "Please."})}
	return any(&schema.AgenticMessage{Role: schema.AgenticRoleTypeUser, ContentBlocks: blocks}).(M)
}
