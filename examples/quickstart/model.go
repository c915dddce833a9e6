package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/model"

	"github.com/todoguard/todoguard/examples/internal/demo"
)

// chat is the model of this program, and what is needed to say what went wrong with it.
type chat struct {
	model.BaseChatModel
	name string
	url  string
}

func chooseModel(ctx context.Context, getenv func(string) string) (*chat, error) {
	key := getenv("OPENAI_API_KEY")
	if key == "" {
		return &chat{BaseChatModel: script(), name: "the script"}, nil
	}
	c := &chat{name: getenv("OPENAI_MODEL"), url: getenv("OPENAI_BASE_URL")}
	if c.name == "" {
		c.name = "gpt-4.1-mini"
	}
	if c.url == "" {
		c.url = "https://api.openai.com/v1"
	}
	m, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: key, BaseURL: c.url, Model: c.name, Timeout: 2 * time.Minute})
	if err != nil {
		return nil, err
	}
	c.BaseChatModel = m
	return c, nil
}

// explain says in one line what to do about an error of the model.
func (c *chat) explain(ctx context.Context, err error) error {
	var api *openai.APIError
	var netErr net.Error
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case errors.As(err, &api):
		said := oneLine(api.Message)
		switch {
		case api.HTTPStatusCode == 401 || api.HTTPStatusCode == 403:
			return fmt.Errorf("%s refuses the key in OPENAI_API_KEY (%d: %s)", c.url, api.HTTPStatusCode, said)
		case api.HTTPStatusCode < 500 && (strings.Contains(strings.ToLower(said), "tool") || strings.Contains(strings.ToLower(said), "function")):
			return fmt.Errorf("%s cannot call tools: choose another OPENAI_MODEL (%d: %s)", c.name, api.HTTPStatusCode, said)
		}
		return fmt.Errorf("%s answered %d for the model %s: %s", c.url, api.HTTPStatusCode, c.name, said)
	case errors.As(err, &netErr):
		return fmt.Errorf("no answer from %s: %s", c.url, oneLine(netErr.Error()))
	}
	return errors.New(oneLine(err.Error()))
}

// oneLine joins lines and cuts what is too long for a terminal.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 200 {
		return string(r[:197]) + "..."
	}
	return s
}

// script is what the scripted model says: it answers while its last item is open.
func script() *demo.Model {
	const (
		read  = "Read client.go"
		limit = "Give the client a limit of three tries"
		doc   = "Say so in README.md"
	)
	return demo.Script(
		demo.Todos([2]string{">", read}, [2]string{" ", limit}, [2]string{" ", doc}),
		demo.Call("read_file", map[string]string{"name": "client.go"}),
		demo.Todos([2]string{"x", read}, [2]string{">", limit}, [2]string{" ", doc}),
		demo.Call("write_file", map[string]string{"name": "client.go", "text": strings.Replace(clientGo, "for {", "for try := 0; try < Tries; try++ {", 1)}),
		demo.Todos([2]string{"x", read}, [2]string{"x", limit}, [2]string{">", doc}),
		demo.Call("write_file", map[string]string{"name": "README.md", "text": readmeMD + "\nA request is tried three times. Set client.Tries to change that.\n"}),
		demo.Say("The client now gives up after three tries.\nTo change the limit, set client.Tries before the first request."),
		// todoguard asks once more here: the last item is still open.
		demo.Todos([2]string{"x", read}, [2]string{"x", limit}, [2]string{"x", doc}),
		demo.Say("The list is up to date."),
	)
}
