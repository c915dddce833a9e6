package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/openai"
)

// chat is the model of this program, and what is needed to say what went wrong with it.
type chat struct {
	llms.Model
	name string
	url  string
}

func chooseModel(getenv func(string) string) (*chat, error) {
	key := getenv("OPENAI_API_KEY")
	if key == "" {
		return &chat{Model: &script{replies: replies()}, name: "the script"}, nil
	}
	c := &chat{name: getenv("OPENAI_MODEL"), url: getenv("OPENAI_BASE_URL")}
	if c.name == "" {
		c.name = "gpt-4.1-mini"
	}
	if c.url == "" {
		c.url = "https://api.openai.com/v1"
	}
	m, err := openai.New(openai.WithToken(key), openai.WithBaseURL(c.url), openai.WithModel(c.name))
	if err != nil {
		return nil, err
	}
	c.Model = m
	return c, nil
}

// explain says in one line what to do about an error of the model. The client gives errors as texts.
func (c *chat) explain(ctx context.Context, err error) error {
	said := oneLine(err.Error())
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(strings.ToLower(said), w) {
				return true
			}
		}
		return false
	}
	_, detail, _ := strings.Cut(said, "status code: ")
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case c.url == "":
		return errors.New(said)
	case has("status code: 401", "status code: 403"):
		return fmt.Errorf("%s refuses the key in OPENAI_API_KEY (%s)", c.url, detail)
	case has("network error", "request timeout", "connection refused", "no such host"):
		return fmt.Errorf("no answer from %s: %s", c.url, said)
	case has("status code: 4") && has("tool", "function"):
		return fmt.Errorf("%s cannot call tools: choose another OPENAI_MODEL (%s)", c.name, detail)
	case detail != "":
		return fmt.Errorf("%s answered %s for the model %s", c.url, detail, c.name)
	}
	return errors.New(said)
}

// oneLine joins lines and cuts what is too long for a terminal.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		return string(r[:197]) + "..."
	}
	return s
}

// script is a model that gives its replies one after another. Safe for concurrent use.
type script struct {
	mu      sync.Mutex
	replies []*llms.ContentChoice
}

// GenerateContent implements llms.Model.
func (s *script) GenerateContent(ctx context.Context, _ []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.replies) == 0 {
		return nil, errors.New("the script has no further reply")
	}
	r := s.replies[0]
	s.replies = s.replies[1:]
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{r}}, nil
}

// Call implements llms.Model.
func (s *script) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}

// replies are what the scripted model says: it answers while its last item is open.
func replies() []*llms.ContentChoice {
	n := 0
	call := func(tool string, args any) *llms.ContentChoice {
		n++
		raw, err := json.Marshal(args)
		if err != nil {
			panic(err) // the arguments are written here
		}
		return &llms.ContentChoice{ToolCalls: []llms.ToolCall{{ID: fmt.Sprint("call_", n), Type: "function", FunctionCall: &llms.FunctionCall{Name: tool, Arguments: string(raw)}}}}
	}
	file := func(tool, input string) *llms.ContentChoice { return call(tool, map[string]string{"__arg1": input}) }
	todos := func(read, limit, doc string) *llms.ContentChoice {
		item := func(content, status string) map[string]string {
			return map[string]string{"content": content, "status": status}
		}
		return call("write_todos", map[string]any{"todos": []any{
			item("Read client.go", read), item("Give the client a limit of three tries", limit), item("Say so in README.md", doc)}})
	}
	const pending, now, done = "pending", "in_progress", "completed"
	return []*llms.ContentChoice{
		todos(now, pending, pending),
		file("read_file", "client.go"),
		todos(done, now, pending),
		file("write_file", "client.go\n"+strings.Replace(clientGo, "for {", "for try := 0; try < Tries; try++ {", 1)),
		todos(done, done, now),
		file("write_file", "README.md\n"+readmeMD+"\nA request is tried three times. Set client.Tries to change that.\n"),
		{Content: "The client now gives up after three tries.\nTo change the limit, set client.Tries before the first request."},
		// todoguard asks once more here: the last item is still open.
		todos(done, done, done),
		{Content: "The list is up to date."},
	}
}
