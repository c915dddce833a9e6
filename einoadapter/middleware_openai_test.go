package einoadapter_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/internal/stricttest"
)

// The real client of eino-ext against a server that refuses what OpenAI refuses, plain and streamed.
func TestADKWithTheOpenAIClient(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := stricttest.OpenAI(t,
			stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: core.DefaultToolName, Args: write("", "in_progress").Args}, {ID: "w1", Name: "search", Args: `{}`}}},
			stricttest.Reply{Text: answer},
			stricttest.Reply{Text: "I tick it off.", Calls: []stricttest.Call{{ID: "c2", Name: core.DefaultToolName, Args: write("", "completed").Args}}},
			stricttest.Reply{Text: closing})
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "none", BaseURL: s.URL, Model: "scripted"})
		require.NoError(t, err)
		c := newCast[*adkMessage](stream, m, work{name: "search"})
		seen := c.run(t)
		s.Check(t)
		assert.Contains(t, seen, "assistant: "+answer)
		assert.Equal(t, "assistant: "+closing, seen[len(seen)-1])
		assert.Equal(t, answer, c.end(t).Answer)
		assert.Empty(t, c.end(t).Open)
		require.Len(t, s.Bodies(), 4)
		third := s.Bodies()[2]
		assert.Less(t, strings.Index(third, answer), strings.Index(third, "Automatic check"), "the answer, then the correction")
		assert.NotContains(t, third, `"todoguard"`, "no mark leaves the process")
	}
}

// A provider that is down for the correction costs no answer.
func TestADKOpenAIFailsAtTheCorrection(t *testing.T) {
	for _, stream := range []bool{false, true} {
		s := stricttest.OpenAI(t,
			stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: core.DefaultToolName, Args: write("", "in_progress").Args}}},
			stricttest.Reply{Text: answer},
			stricttest.Reply{Status: 400})
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "none", BaseURL: s.URL, Model: "scripted"})
		require.NoError(t, err)
		c := newCast[*adkMessage](stream, m)
		seen := c.run(t)
		require.Len(t, seen, 3)
		assert.Equal(t, "assistant: "+answer, seen[2])
		assert.Len(t, s.Requests(), 3)
		assert.Equal(t, answer, c.end(t).Answer)
	}
}

// A response that the provider cut off by length is no answer to judge.
func TestTruncatedAnswerIsNotCorrected(t *testing.T) {
	s := stricttest.OpenAI(t,
		stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: core.DefaultToolName, Args: write("", "in_progress").Args}}},
		stricttest.Reply{Text: answer, Truncated: true})
	m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "none", BaseURL: s.URL, Model: "scripted"})
	require.NoError(t, err)
	c := newCast[*adkMessage](true, m)
	c.run(t)
	s.Check(t)
	assert.Len(t, s.Requests(), 2)
	assert.Len(t, c.end(t).Open, 1)
}
