package lcgadapter_test

import (
	"context"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"
)

// The model and the tools of the examples: scripted, so that they run offline.

const (
	planned   = `{"todos":[{"id":"1","content":"Tag the commit","status":"in_progress"},{"id":"2","content":"Publish the notes","status":"pending"}]}`
	tickedOff = `{"todos":[{"id":"1","content":"Tag the commit","status":"completed"},{"id":"2","content":"Publish the notes","status":"completed"}]}`
)

func releaseModel() llms.Model {
	return script(
		calls("c1", "write_todos", planned),
		calls("c2", "git", `{"__arg1":"tag v1.4.0"}`),
		say("Shipped: tagged v1.4.0 and published the notes."),
		calls("c3", "write_todos", tickedOff),
		say("The list is up to date."),
	)
}

func releaseTools() []tools.Tool {
	return []tools.Tool{tool{"git", func(context.Context, string) (string, error) { return "done", nil }}}
}

// releaseTextModel is the same for agents that work by text. answer is what they put before an answer.
func releaseTextModel(answer string) llms.Model {
	return script(
		say("Thought: I should plan.\nAction: write_todos\nAction Input: "+planned),
		say("Thought: now the work.\nAction: git\nAction Input: tag v1.4.0"),
		say("Thought: I know.\n"+answer+" Shipped: tagged v1.4.0 and published the notes."),
		say("Thought: I tick off.\nAction: write_todos\nAction Input: "+tickedOff),
		say("Thought: I know.\n"+answer+" The list is up to date."),
	)
}
