package einoadapter

import (
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// correctionMessage is the user message that asks once more.
func correctionMessage(text string) *schema.Message {
	return marked(schema.UserMessage(text), markCorrection)
}

// isInput reports whether a message is new input: from a user, and not one of ours.
func isInput(m *schema.Message) bool {
	return m != nil && m.Role == schema.User && markOf(m) == ""
}

// withAnswer returns the message that delivers answer: m itself if it says just that, else a copy of it.
func withAnswer(m *schema.Message, answer string) *schema.Message {
	if m == nil {
		return marked(schema.AssistantMessage(answer, nil), markHeld)
	}
	if messageText(m) == answer && len(m.ToolCalls) == 0 {
		return m
	}
	c := *m
	c.Content, c.ToolCalls, c.ReasoningContent, c.AssistantGenMultiContent = answer, nil, "", nil
	return marked(&c, markHeld)
}

// withExtra returns a copy of a message with one more value in its Extra.
func withExtra(m *schema.Message, key string, value any) *schema.Message {
	c := *m
	c.Extra = maps.Clone(m.Extra)
	if c.Extra == nil {
		c.Extra = map[string]any{}
	}
	c.Extra[key] = value
	return &c
}

// withInstruction adds the instruction to the request's system message, unless it stands there already.
func withInstruction(req []*schema.Message, text string) []*schema.Message {
	if len(req) == 0 || req[0].Role != schema.System {
		return slices.Concat([]*schema.Message{schema.SystemMessage(text)}, req)
	}
	if strings.Contains(req[0].Content, text) {
		return req
	}
	first := *req[0]
	first.Content = joinText(first.Content, text)
	req = slices.Clone(req)
	req[0] = &first
	return req
}

// readAll reads a response to its end. It returns the chunks as they came and the message that they make.
func readAll(in *schema.StreamReader[*schema.Message]) ([]*schema.Message, *schema.Message, error) {
	chunks, err := readChunks(in)
	if err != nil {
		return nil, nil, err
	}
	m, err := whole(chunks)
	return chunks, m, err
}

// whole is the message that chunks make. No chunk at all is an empty answer.
func whole(chunks []*schema.Message) (*schema.Message, error) {
	switch len(chunks) {
	case 0:
		return schema.AssistantMessage("", nil), nil
	case 1:
		return chunks[0], nil
	}
	return concat(chunks)
}
