package lcgadapter

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/llms"
)

// mendHistory copies messages so that every client can send them: arguments of calls are JSON objects (the agent replays the
// bare value of __arg1, which anthropic and googleai refuse), and results carry the name of their call (which googleai
// sends and the agent leaves out).
func mendHistory(msgs []llms.MessageContent) []llms.MessageContent {
	out := make([]llms.MessageContent, len(msgs))
	var unanswered []llms.ToolCall
	for i, msg := range msgs {
		if msg.Role == llms.ChatMessageTypeAI {
			unanswered = nil
		}
		msg.Parts = slices.Clone(msg.Parts)
		for j, part := range msg.Parts {
			switch part := part.(type) {
			case llms.ToolCall:
				if part.FunctionCall == nil {
					continue
				}
				f := *part.FunctionCall
				f.Arguments = object(f.Arguments)
				part.FunctionCall = &f
				unanswered = append(unanswered, part)
				msg.Parts[j] = part
			case llms.ToolCallResponse:
				k := slices.IndexFunc(unanswered, func(c llms.ToolCall) bool { return c.ID == part.ToolCallID })
				if k < 0 {
					continue
				}
				if part.Name == "" {
					part.Name = unanswered[k].FunctionCall.Name
				}
				unanswered = slices.Delete(unanswered, k, k+1)
				msg.Parts[j] = part
			}
		}
		out[i] = msg
	}
	return out
}

// object returns arguments as the text of a JSON object: as they are if they are one, else inside __arg1.
func object(args string) string {
	var o map[string]json.RawMessage
	switch {
	case strings.TrimSpace(args) == "":
		return "{}"
	case json.Unmarshal([]byte(args), &o) == nil && o != nil:
		return args
	}
	b, _ := json.Marshal(map[string]string{"__arg1": args}) // a map of strings always marshals
	return string(b)
}

// instruct adds the plugin's instruction to a copy of the prompt: to the system message, or before the one text of a text
// agent. The place is the same in every request, so prompt caches hold.
func instruct(msgs []llms.MessageContent, text string, chat bool) []llms.MessageContent {
	if text == "" || len(msgs) == 0 {
		return msgs
	}
	first := &msgs[0]
	i := slices.IndexFunc(first.Parts, func(p llms.ContentPart) bool { _, ok := p.(llms.TextContent); return ok })
	switch {
	case first.Role == llms.ChatMessageTypeSystem && i >= 0:
		first.Parts[i] = llms.TextContent{Text: first.Parts[i].(llms.TextContent).Text + "\n\n" + text}
	case chat:
		return slices.Insert(msgs, 0, llms.TextParts(llms.ChatMessageTypeSystem, text))
	case i >= 0:
		first.Parts[i] = llms.TextContent{Text: text + "\n\n" + first.Parts[i].(llms.TextContent).Text}
	}
	return msgs
}
