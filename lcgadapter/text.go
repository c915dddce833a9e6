package lcgadapter

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// Text agents parse what the model wrote with regular expressions. Here is what that loses for a todo call, and how it is
// found again.

// answerPrefix is what stands before an answer in a text agent's output; stream handlers look for it.
func (k kind) answerPrefix() string {
	switch k {
	case mrkl:
		return "Final Answer: "
	case conversational:
		return "AI: "
	}
	return ""
}

// answerMark finds what the agent's parser takes for the beginning of an answer.
func (k kind) answerMark() *regexp.Regexp {
	if k == conversational {
		return conversationalMark
	}
	return mrklMark
}

var (
	conversationalMark = regexp.MustCompile(`AI:`)
	mrklMark           = regexp.MustCompile(`(?i)final answer\s?:|the (final )?answer is:`)

	callLine   = regexp.MustCompile(`(?im)^[ \t]*Action:[ \t]*(.+?)[ \t]*\r?$`)
	inputLine  = regexp.MustCompile(`(?i)^\s*Action\s+Input:\s*`)
	emptyInput = regexp.MustCompile(`(?i)^\s*(Action\s+Input:\s*)?$`)
	nextLine   = regexp.MustCompile(`(?im)\n[ \t]*(Observation|Thought|Action|Action Input|Final Answer|AI):`)
	strayLine  = regexp.MustCompile("(?s)^[ \t\r]*(```[ \t\r]*)?(\n|$|Observation:)") // what may follow a JSON value
)

// firstValue splits an action's input into its first JSON value and what the model wrote on the lines behind it: an observation
// that it made up, or a second action. Input that does not begin with a JSON value, or goes on behind it as JSON or on the same line, ends
// at the first line of that kind.
func firstValue(input string) (args, rest string) {
	s := strings.TrimSpace(input)
	if s != "" && strings.ContainsRune(`{["`, rune(s[0])) {
		d := json.NewDecoder(strings.NewReader(s))
		var v json.RawMessage
		if d.Decode(&v) == nil {
			i := d.InputOffset()
			rest := strings.TrimSpace(s[i:])
			if strayLine.MatchString(s[i:]) && (rest == "" || !strings.ContainsRune(`{}[]",:`, rune(rest[0]))) {
				return s[:i], s[i:]
			}
		}
	}
	if loc := nextLine.FindStringIndex(s); loc != nil {
		return strings.TrimSpace(s[:loc[0]]), s[loc[0]:]
	}
	return s, ""
}

// callsIn finds the todo calls in a text. They are not made; core is to know of them (rule 3).
func (p *Plugin) callsIn(text string) []core.Call {
	var calls []core.Call
	for _, loc := range callLine.FindAllStringSubmatchIndex(text, -1) {
		name := text[loc[2]:loc[3]]
		if !p.planner.IsTool(name) {
			continue
		}
		input := text[loc[1]:]
		args, _ := firstValue(input[len(inputLine.FindString(input)):])
		calls = append(calls, core.Call{ID: callID(), Name: name, Args: args})
	}
	return calls
}

// rescue undoes a false finish: the parsers take "Final Answer:" or "AI:" inside an item's content for the end of the run.
// nil: the finish is a real one.
func (a *Agent) rescue(f *schema.AgentFinish) *schema.AgentAction {
	if !a.kind.text() {
		return nil
	}
	answer := a.kind.answerMark()
	for _, loc := range callLine.FindAllStringSubmatchIndex(f.Log, -1) {
		name, input := f.Log[loc[2]:loc[3]], f.Log[loc[1]:]
		head := inputLine.FindString(input)
		if !a.plugin.planner.IsTool(name) || head == "" || answer.MatchString(f.Log[:loc[0]]) {
			continue
		}
		args, rest := firstValue(input[len(head):])
		if !json.Valid([]byte(args)) || answer.MatchString(rest) {
			continue
		}
		return &schema.AgentAction{Tool: name, ToolInput: args + rest, Log: f.Log}
	}
	return nil
}

// emptyCall finds the todo call without any input that a text parser could not read: its pattern wants something there, and the
// run would end. Core says what to send instead. nil: err is another error.
func (a *Agent) emptyCall(err error) *schema.AgentAction {
	if !a.kind.text() || !errors.Is(err, agents.ErrUnableToParseOutput) {
		return nil
	}
	text := strings.TrimPrefix(err.Error(), agents.ErrUnableToParseOutput.Error()+": ")
	loc := callLine.FindStringSubmatchIndex(text)
	if loc == nil || !a.plugin.planner.IsTool(text[loc[2]:loc[3]]) || !emptyInput.MatchString(text[loc[1]:]) {
		return nil
	}
	return &schema.AgentAction{Tool: text[loc[2]:loc[3]], Log: text}
}
