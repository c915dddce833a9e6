package lcgadapter_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// textRun runs a text agent on outputs and returns the answer, the model and the list.
func textRun(t *testing.T, kind string, options []lcgadapter.Option, outputs ...string) (string, *scripted, core.Snapshot) {
	t.Helper()
	var steps []step
	for _, o := range outputs {
		steps = append(steps, say(o))
	}
	model := script(steps...)
	p, err := lcgadapter.New(options...)
	require.NoError(t, err)
	a, err := p.Wrap(agentOf(kind, model, append(p.Tools(), search())))
	require.NoError(t, err)
	answer, err := chains.Run(session(t), lcgadapter.NewExecutor(a, agents.WithMaxIterations(10)), "go")
	require.NoError(t, err)
	require.Len(t, model.requests, len(outputs), "every output was asked for")
	snap, err := p.Planner().Get(t.Context(), "s")
	require.NoError(t, err)
	return answer, model, snap
}

const act = "Thought: plan\nAction: write_todos\nAction Input: "

func done(content string) string {
	return fmt.Sprintf(`{"todos":[{"id":"1","content":%q,"status":"completed"}]}`, content)
}

// Trap: two actions in one output arrive as one whose input is both.
func TestTextAgentsTwoWritesInOneOutputAreRefused(t *testing.T) {
	for _, kind := range []string{"mrkl", "conversational"} {
		t.Run(kind, func(t *testing.T) {
			_, model, snap := textRun(t, kind, nil, act+done("First"), act+done("Second")+"\nAction: write_todos\nAction Input: "+done("Third"), "Final Answer: x AI: x")
			require.Contains(t, model.requests[2].text(), `"parallel_write"`)
			require.Equal(t, "First", snap.Todos[0].Content)
		})
	}
}

// Trap: a second action of another tool in the same output is not made, and does not spoil the first.
func TestTextAgentsSecondActionOfAnotherToolIsNotMade(t *testing.T) {
	_, model, snap := textRun(t, "mrkl", nil, act+done("First")+"\nAction: search\nAction Input: x", "Final Answer: x")
	require.Equal(t, "First", snap.Todos[0].Content)
	require.NotContains(t, model.requests[1].text(), "found")
}

// Trap: models that ignore stop words leave an invented observation behind the JSON.
func TestTextAgentsInventedObservationIsCutOff(t *testing.T) {
	for name, input := range map[string]string{
		"behind it":      done("First") + "\nObservation: saved",
		"on its line":    done("First") + " Observation: saved",
		"behind a fence": "```json\n" + done("First") + "\n```\nObservation: saved",
		"with a thought": done("First") + "\n\nThought: now the next",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, snap := textRun(t, "mrkl", nil, act+input, "Final Answer: x")
			require.Len(t, snap.Todos, 1)
			require.Equal(t, "First", snap.Todos[0].Content)
		})
	}
}

// Trap: the parsers take the mark of an answer inside an item's content for the end of the run.
func TestTextAgentsAnswerMarkInsideAnItemIsNoAnswer(t *testing.T) {
	for _, c := range []struct{ kind, content, last string }{
		{"mrkl", "Write the Final Answer: section", "Final Answer: end"},
		{"mrkl", "Say the answer is: 4", "Final Answer: end"},
		{"mrkl", "final answer : lower", "Final Answer: end"},
		{"conversational", "Read about AI: history", "AI: end"},
	} {
		t.Run(c.kind+"/"+c.content, func(t *testing.T) {
			answer, _, snap := textRun(t, c.kind, nil, act+done(c.content), c.last)
			require.Equal(t, "end", strings.TrimSpace(answer))
			require.Len(t, snap.Todos, 1)
			require.Equal(t, c.content, snap.Todos[0].Content)
		})
	}
}

// A real answer that mentions an action is an answer.
func TestTextAgentsRealFinishIsNotRescued(t *testing.T) {
	for name, output := range map[string]string{
		"an answer behind the call": act + done("x") + "\nObservation: ok\nFinal Answer: end",
		"a call inside the answer":  "Final Answer: end\n" + act + done("x"),
		"arguments that are none":   "Thought: Action: write_todos\nFinal Answer: end",
	} {
		t.Run(name, func(t *testing.T) {
			answer, _, snap := textRun(t, "mrkl", nil, output)
			require.Contains(t, answer, "end")
			require.Empty(t, snap.Todos)
		})
	}
}

// The answer of a conversational agent comes as it would without the plugin, blank and all.
func TestTextAgentsAnswerIsUntouchedWhereNothingIsOpen(t *testing.T) {
	answer, _, _ := textRun(t, "conversational", nil, "Thought: no\nAI: hello")
	require.Equal(t, " hello", answer)
}

// Trap: the text agents bake the tool list into their prompt: an agent that was made without the tool cannot work.
func TestTextAgentsMadeWithoutTheToolFailLoudly(t *testing.T) {
	p, err := lcgadapter.New()
	require.NoError(t, err)
	foreign, err := lcgadapter.New()
	require.NoError(t, err)
	for _, kind := range []string{"mrkl", "conversational"} {
		_, err = p.Wrap(agentOf(kind, script(), []tools.Tool{search()}))
		require.ErrorContains(t, err, `was made without the tool "write_todos"`)
		_, err = p.Wrap(agentOf(kind, script(), foreign.Tools()))
		require.ErrorContains(t, err, "not this plugin's")
	}
	late := agents.NewOneShotAgent(script(), []tools.Tool{search()})
	late.Tools = append(late.Tools, p.Tools()...)
	_, err = p.Wrap(late)
	require.ErrorContains(t, err, "was made without the tool", "the prompt does not name it")
	_, err = lcgadapter.Wrap(agents.NewOneShotAgent(script(), nil))
	require.ErrorContains(t, err, "Plugin.Tools")
}

// A text agent learns from the description what the input looks like.
func TestTextAgentsAreToldTheSchema(t *testing.T) {
	_, model, _ := textRun(t, "mrkl", nil, "Final Answer: x")
	require.Contains(t, model.requests[0].text(), `"todos":{"type":"array"`)
	require.Contains(t, model.requests[0].text(), "plan with write_todos first")
}

// The task tools work one call a response.
func TestTextAgentsWithTaskTools(t *testing.T) {
	for kind, answer := range map[string]string{"mrkl": "Final Answer:", "conversational": "AI:"} {
		t.Run(kind, func(t *testing.T) {
			task := func(tool, input string) string { return "Thought: go on\nAction: " + tool + "\nAction Input: " + input }
			got, model, snap := textRun(t, kind, []lcgadapter.Option{lcgadapter.WithTools(core.ToolsTasks)},
				task("TaskCreate", `{"subject":"Read"}`), task("TaskUpdate", `{"taskId":"1","status":"in_progress"}`), task("search", "x"),
				answer+" FULL", task("TaskUpdate", `{"taskId":"1","status":"completed"}`), answer+" updated")
			require.Equal(t, "FULL", strings.TrimSpace(got))
			require.Len(t, snap.Todos, 1)
			require.Empty(t, snap.Open())
			require.Contains(t, model.requests[4].text(), "TaskUpdate")
		})
	}
}
