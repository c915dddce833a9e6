package einoadapter_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

var errModel = errors.New("the model is down")

func soon(context.Context, int) time.Duration { return time.Millisecond }

// What a consumer sees of the usual script.
var both = []string{
	"assistant: write_todos#c1", "tool write_todos: ok",
	"assistant: " + answer, "assistant: write_todos#c2", "tool write_todos: ok",
	"assistant: " + closing,
}

func TestCorrectionShowsBothAnswersUnderEveryRetryConfig(t *testing.T) {
	everyADK(t, bothUnderRetry[*adkMessage], bothUnderRetry[*adkAgentic])
}

func bothUnderRetry[M adk.MessageType](t *testing.T, stream bool) {
	for name, retry := range map[string]*adk.TypedModelRetryConfig[M]{
		"no retry":    nil,
		"IsRetryAble": {MaxRetries: 2, IsRetryAble: func(context.Context, error) bool { return true }},
		"ShouldRetry": {MaxRetries: 2, ShouldRetry: func(context.Context, *adk.TypedRetryContext[M]) *adk.TypedRetryDecision[M] { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			m := acts[M](t, corrected()...)
			c := newCast(stream, m)
			c.cfg.ModelRetryConfig = retry
			assert.Equal(t, both, c.run(t))
			reqs := m.requests()
			require.Len(t, reqs, 4)
			assert.Equal(t, "system user assistant+c1 tool:c1 assistant user", roles(reqs[2]))
			assert.Contains(t, reqs[2][5].Text, "Ship it", "the correction names the open item")
			end := c.end(t)
			assert.Equal(t, core.EndAnswered, end.Reason)
			assert.Equal(t, answer, end.Answer, "only the todo tool ran: the first answer is the answer")
			assert.Empty(t, end.Open)
		})
	}
}

// With streaming, the chunks of both answers reach the consumer while the model still speaks.
func TestBothAnswersStreamLiveWithShouldRetry(t *testing.T) {
	t.Run("message", bothLive[*adkMessage])
	t.Run("agentic", bothLive[*adkAgentic])
}

func bothLive[M adk.MessageType](t *testing.T) {
	first, second := says(answer).waiting(), says("Ship it is left for tomorrow.").waiting()
	m := acts[M](t, calls(write("c1", "in_progress")), first, second)
	c := newCast(true, m)
	c.cfg.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 1,
		ShouldRetry: func(context.Context, *adk.TypedRetryContext[M]) *adk.TypedRetryDecision[M] { return nil }}
	events := c.runner(t).Query(core.WithSession(t.Context(), "s"), question)
	done := make(chan struct{})
	go func() {
		defer close(done)
		open := []chan struct{}{first.wait, second.wait}
		for {
			ev, ok := events.Next()
			if !ok {
				return
			}
			out := ev.Output.MessageOutput
			if !out.IsStreaming {
				continue
			}
			chunk, err := out.MessageStream.Recv()
			if !assert.NoError(t, err) {
				return
			}
			if p := plainOf(t, []M{chunk})[0]; p.Role == "assistant" && p.Text != "" {
				close(open[0]) // the model goes on only because its first chunk is here
				open = open[1:]
			}
			for err == nil {
				_, err = out.MessageStream.Recv()
			}
			assert.ErrorIs(t, err, io.EOF)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("an answer is not delivered before it is whole")
	}
	assert.Len(t, m.requests(), 3)
}

func TestModelErrorInCorrectionEndsWithFirstAnswer(t *testing.T) {
	everyADK(t, errorInCorrection[*adkMessage], errorInCorrection[*adkAgentic])
}

func errorInCorrection[M adk.MessageType](t *testing.T, stream bool) {
	for name, bad := range map[string]turn{"at once": {err: errModel}, "in the middle": {text: "Let me", cut: errModel}} {
		for retries := range 2 {
			t.Run(name, func(t *testing.T) {
				turns := corrected()[:2]
				for range retries + 1 {
					turns = append(turns, bad)
				}
				m := acts[M](t, turns...)
				c := newCast(stream, m)
				var history []M
				c.cfg.Handlers = append(c.cfg.Handlers, &hooks[M]{end: func(st *adk.TypedChatModelAgentState[M]) { history = st.Messages }})
				if retries > 0 {
					c.cfg.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: retries, BackoffFunc: soon}
				}
				seen := c.run(t)
				assert.Equal(t, both[:3], seen[:3])
				for _, line := range seen[3:] {
					assert.Contains(t, line, "<taken back>", "a broken second answer is taken back, and no error is shown")
				}
				assert.Len(t, m.requests(), 3+retries)
				assert.Equal(t, "system user assistant+c1 tool:c1 assistant", roles(plainOf(t, history)), "the correction leaves no trace")
				end := c.end(t)
				assert.Equal(t, core.EndAnswered, end.Reason)
				assert.Equal(t, answer, end.Answer)
				assert.Len(t, end.Open, 1)
			})
		}
	}
}

func TestCorrectionIsRetriedAsTheAgentSays(t *testing.T) {
	everyADK(t, retriedCorrection[*adkMessage], retriedCorrection[*adkAgentic])
}

func retriedCorrection[M adk.MessageType](t *testing.T, stream bool) {
	turns := corrected()
	again := func(bad turn) []turn { return append(append([]turn{turns[0], turns[1], bad}, turns[2]), turns[3]) }
	for name, tc := range map[string]struct {
		turns []turn
		retry *adk.TypedModelRetryConfig[M]
	}{
		"error": {again(turn{err: errModel}), &adk.TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: soon}},
		"broken stream": {again(turn{text: "Let me", cut: errModel}), &adk.TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: soon,
			ShouldRetry: func(_ context.Context, rc *adk.TypedRetryContext[M]) *adk.TypedRetryDecision[M] {
				return &adk.TypedRetryDecision[M]{Retry: rc.Err != nil}
			}}},
		"refused answer": {again(says("nonsense")), &adk.TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: soon,
			ShouldRetry: func(_ context.Context, rc *adk.TypedRetryContext[M]) *adk.TypedRetryDecision[M] {
				text := plainOf(t, []M{rc.OutputMessage})[0].Text
				return &adk.TypedRetryDecision[M]{Retry: text == "nonsense", Backoff: time.Millisecond}
			}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := acts[M](t, tc.turns...)
			c := newCast(stream, m)
			c.cfg.ModelRetryConfig = tc.retry
			var seen []string
			for _, line := range c.run(t) {
				if !isTakenBack(line) {
					seen = append(seen, line)
				}
			}
			assert.Equal(t, both, seen)
			reqs := m.requests()
			require.Len(t, reqs, 5)
			assert.Equal(t, told(reqs[2]), told(reqs[3]), "the correction is asked again, not the question")
		})
	}
}

// A host that turns a response into an error in ShouldRetry has judged the second answer, not the run.
func TestRewrittenErrorInCorrectionEndsWithFirstAnswer(t *testing.T) {
	m := acts[*adkMessage](t, calls(write("c1", "in_progress")), says(answer), says("nonsense"))
	c := newCast(false, m)
	c.cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: func(_ context.Context, rc *adk.RetryContext) *adk.RetryDecision {
		if rc.OutputMessage.Content == "nonsense" {
			return &adk.RetryDecision{RewriteError: errModel}
		}
		return nil
	}}
	assert.Equal(t, both[:3], c.run(t))
	assert.Equal(t, answer, c.end(t).Answer)
}

func TestFailoverModelIsAskedTheCorrection(t *testing.T) {
	everyADK(t, failover[*adkMessage], failover[*adkAgentic])
}

func failover[M adk.MessageType](t *testing.T, stream bool) {
	turns := corrected()
	for name, bad := range map[string]turn{"at once": {err: errModel}, "in the middle": {text: "I think", cut: errModel}} {
		t.Run(name, func(t *testing.T) {
			first := acts[M](t, turns[0], bad)
			backup := acts[M](t, turns[1], turns[2], turns[3])
			c := newCast(stream, first)
			c.cfg.ModelFailoverConfig = &adk.ModelFailoverConfig[M]{MaxRetries: 1,
				ShouldFailover: func(_ context.Context, _ M, err error) bool { return errors.Is(err, errModel) },
				GetFailoverModel: func(context.Context, *adk.FailoverContext[M]) (model.BaseModel[M], []M, error) {
					return backup, nil, nil
				}}
			var seen []string
			for _, line := range c.run(t) {
				if !isTakenBack(line) {
					seen = append(seen, line)
				}
			}
			assert.Equal(t, both, seen)
			assert.Len(t, first.requests(), 2)
			reqs := backup.requests()
			require.Len(t, reqs, 3, "the first answer is not asked for again")
			assert.Equal(t, "system user assistant+c1 tool:c1 assistant user", roles(reqs[1]))
		})
	}
}

// Without an iteration left a correction that leads to a tool call would end the run in ErrExceedMaxIterations.
func TestMaxIterationsAtTheEdge(t *testing.T) {
	everyADK(t, maxIterations[*adkMessage], maxIterations[*adkAgentic])
}

func maxIterations[M adk.MessageType](t *testing.T, stream bool) {
	for limit, requests := range map[int]int{2: 2, 3: 4, 4: 4} {
		m := acts[M](t, corrected()...)
		c := newCast(stream, m)
		c.cfg.MaxIterations = limit
		seen := c.run(t)
		assert.Len(t, m.requests(), requests, "limit %d", limit)
		want := both
		if limit == 2 {
			want = both[:3]
		}
		assert.Equal(t, want, seen, "limit %d", limit)
		end := c.end(t)
		assert.Equal(t, core.EndAnswered, end.Reason)
		assert.Equal(t, answer, end.Answer)
	}
}

// An empty answer cannot stand before a correction: providers reject an assistant message without content.
func TestEmptyAnswerIsNotCorrected(t *testing.T) {
	m := acts[*adkMessage](t, calls(write("c1", "in_progress")), says(""))
	c := newCast(false, m)
	c.run(t)
	assert.Len(t, m.requests(), 2)
	assert.Len(t, c.end(t).Open, 1)
}

func isTakenBack(line string) bool {
	return len(line) > 12 && line[len(line)-12:] == "<taken back>"
}

// Where eino tells how many iterations are left, it need not be said again: New knows nothing of the agent's config.
func TestMaxIterationsWithoutAttach(t *testing.T) {
	m := acts[*adkMessage](t, corrected()[:2]...)
	c := newCast(false, m)
	mw, err := einoadapter.New(t.Context(), &c.todo)
	require.NoError(t, err)
	c.cfg.MaxIterations, c.cfg.Handlers = 2, einoadapter.Insert(nil, mw)
	c.agent, err = adk.NewChatModelAgent(t.Context(), &c.cfg)
	require.NoError(t, err)
	assert.Equal(t, both[:3], c.run(t))
	assert.Len(t, m.requests(), 2)
}

// Several answers were held back when the model fails: all of them are delivered, each once.
func TestModelErrorWhenAskedToExplain(t *testing.T) {
	m := acts[*adkMessage](t, calls(write("c1", "in_progress")), says(answer), says("Nothing to add."), turn{err: errModel})
	c := newCast(false, m)
	c.todo.OnExhausted = core.Explain
	assert.Equal(t, append(both[:3:3], "assistant: Nothing to add."), c.run(t))
	assert.Equal(t, answer+"\n\nNothing to add.", c.end(t).Answer)
}

// A retry sends the same request: a reminder that went with the first attempt goes with the second, and is told once.
func TestRetrySendsTheSameRequest(t *testing.T) {
	everyADK(t, retrySame[*adkMessage], retrySame[*adkAgentic])
}

func retrySame[M adk.MessageType](t *testing.T, stream bool) {
	m := acts[M](t, calls(write("c1", "in_progress")), calls(use("c2", "search")), turn{err: errModel}, calls(write("c3", "completed")), says(answer))
	c := newCast(stream, m, work{name: "search"})
	c.todo.Reminder = &core.Reminder{After: 1}
	c.cfg.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 1, BackoffFunc: soon}
	c.run(t)
	reqs := m.requests()
	require.Len(t, reqs, 5)
	assert.Contains(t, told(reqs[2]), "Reminder")
	assert.Equal(t, told(reqs[2]), told(reqs[3]))
	assert.Len(t, c.events.of(core.EventReminded), 1)
}

// What ShouldRetry changes for the next attempt holds for the correction too.
func TestRetryOfTheCorrectionTakesTheHostsInput(t *testing.T) {
	turns := corrected()
	m := acts[*adkMessage](t, turns[0], turns[1], turn{err: errModel}, turns[2], turns[3])
	c := newCast(false, m)
	c.cfg.ModelRetryConfig = &adk.ModelRetryConfig{MaxRetries: 1, ShouldRetry: func(_ context.Context, rc *adk.RetryContext) *adk.RetryDecision {
		if rc.Err == nil {
			return nil
		}
		in := rc.InputMessages
		return &adk.RetryDecision{Retry: true, Backoff: time.Millisecond, AdditionalOptions: []model.Option{model.WithTools(nil)},
			ModifiedInputMessages: append(in[:2:2], in[len(in)-1])}
	}}
	assert.Equal(t, both, c.run(t))
	assert.Equal(t, "system user user", roles(m.requests()[3]))
	assert.Empty(t, m.toolsOf(3))
	assert.NotEmpty(t, m.toolsOf(4), "for that call only")
}

// extras is a provider's component that keeps its raw response with the message, in a type that no checkpoint can save.
type extras struct{ model.BaseChatModel }

func (e extras) Generate(ctx context.Context, in []*adkMessage, opts ...model.Option) (*adkMessage, error) {
	m, err := e.BaseChatModel.Generate(ctx, in, opts...)
	if err == nil {
		m.Extra = map[string]any{"raw": struct{ Body []byte }{[]byte("{}")}}
	}
	return m, err
}

// Without checkpoints such a run works in eino, and so it does with us: the answer is corrected like any other.
func TestAnswerThatNoCheckpointCanSave(t *testing.T) {
	planner := newPlanner(t, core.Config{})
	_, err := planner.Update(t.Context(), "s", func([]core.Item) ([]core.Item, error) {
		return []core.Item{{ID: "1", Content: "Ship it", Status: core.StatusInProgress}}, nil
	})
	require.NoError(t, err)
	m := acts[*adkMessage](t, says(answer), says("The rest is for tomorrow."))
	c := newCast(false, m)
	c.todo = einoadapter.Config{Planner: planner}
	c.cfg.Handlers = append(c.cfg.Handlers, &hooks[*adkMessage]{wrap: func(m model.BaseModel[*adkMessage]) model.BaseModel[*adkMessage] { return extras{m} }})
	seen := c.run(t)
	require.Len(t, seen, 2)
	assert.Contains(t, seen[1], "The rest is for tomorrow.")
}
