package einoadapter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/internal/stricttest"
)

// The guard's story with the real client of eino-ext: every request passes a server that refuses what OpenAI refuses, plain
// and streamed.
func TestGraphWithTheOpenAIClient(t *testing.T) {
	item := func(status string) string {
		return `{"todos":[{"id":"1","content":"Tag the commit","status":"` + status + `"}]}`
	}
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		s := stricttest.OpenAI(t,
			stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: core.DefaultToolName, Args: item("in_progress")}, {ID: "w1", Name: "work", Args: `{}`}}},
			stricttest.Reply{Text: "Shipped: v1.4.0 is out."},
			stricttest.Reply{Text: "I tick it off.", Calls: []stricttest.Call{{ID: "c2", Name: core.DefaultToolName, Args: item("completed")}}},
			stricttest.Reply{Text: "The list is up to date."})
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "none", BaseURL: s.URL, Model: "scripted"})
		require.NoError(t, err)
		log := &eventLog{}
		r := g.build(t, rig{planner: newPlanner(t, core.Config{OnEvent: log.add}), model: m, tools: tools(work{name: "work"})})
		answer, err := w.run(inSession("s"), r, user("Ship it."), withCallback())
		require.NoError(t, err)
		s.Check(t)
		require.Equal(t, "Shipped: v1.4.0 is out.", answer)
		require.Len(t, log.of(core.EventCorrected), 1)
		require.Len(t, log.of(core.EventRunEnded), 1)
		require.Empty(t, log.of(core.EventRunEnded)[0].Open)
		last := s.Bodies()[3]
		require.Less(t, strings.Index(last, "Shipped: v1.4.0"), strings.Index(last, "Automatic check"), "the answer, then the correction")
		require.NotContains(t, last, "todoguard", "no mark leaves the process")
	})
}

// A provider that is down for the correction costs no answer.
func TestGraphOpenAIFailsAtTheCorrection(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		s := stricttest.OpenAI(t,
			stricttest.Reply{Calls: []stricttest.Call{{ID: "c1", Name: core.DefaultToolName, Args: `{"todos":[{"content":"Ship it","status":"in_progress"}]}`}}},
			stricttest.Reply{Text: "Shipped."},
			stricttest.Reply{Status: 400})
		m, err := openai.NewChatModel(t.Context(), &openai.ChatModelConfig{APIKey: "none", BaseURL: s.URL, Model: "scripted"})
		require.NoError(t, err)
		answer, err := w.run(inSession("s"), g.build(t, rig{planner: newPlanner(t, core.Config{}), model: m}), user("Ship it."))
		require.NoError(t, err)
		require.Equal(t, "Shipped.", answer)
		require.Len(t, s.Requests(), 3, fmt.Sprint(s.Problems()))
	})
}
