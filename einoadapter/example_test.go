package einoadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// Attach gives an ordinary ADK agent a todo list that stays honest: the model answers while an item is open, is asked once,
// and ticks the item off.
func Example() {
	ctx := core.WithSession(context.Background(), "user-7")
	cfg := &adk.ChatModelAgentConfig{Name: "assistant", Description: "ships releases", Model: newChatModel()}
	if err := einoadapter.Attach(ctx, cfg, &einoadapter.Config{}); err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Ship v1.4.0.")
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		printEvent(e)
	}
	// Output:
	// [in_progress] Tag the commit
	// assistant: v1.4.0 is out.
	// [completed] Tag the commit
	// assistant: The list is up to date.
}

// printEvent prints what a user sees: answers, and the list as it changes.
func printEvent(e *adk.AgentEvent) {
	msg, _, err := adk.GetMessage(e)
	if err = errors.Join(e.Err, err); err != nil {
		log.Fatal(err)
	}
	var list struct{ Todos []core.Item }
	switch {
	case msg.Role == schema.Tool && json.Unmarshal([]byte(msg.Content), &list) == nil:
		for _, item := range list.Todos {
			fmt.Printf("[%s] %s\n", item.Status, item.Content)
		}
	case msg.Content != "":
		fmt.Println("assistant:", msg.Content)
	}
}

// newChatModel stands for any model of eino-ext; it plays a script.
func newChatModel() model.BaseChatModel {
	list := func(status string) line {
		return do(call("call_"+status, core.DefaultToolName, `{"todos":[{"content":"Tag the commit","status":"`+status+`"}]}`))
	}
	return newLines(list("in_progress"), say("v1.4.0 is out."), list("completed"), say("The list is up to date."))
}

// A planner of its own lets the host read and edit the list beside the agent.
func ExampleNew() {
	ctx := core.WithSession(context.Background(), "user-7")
	planner, err := core.New(core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	todo, err := einoadapter.New(ctx, &einoadapter.Config{Planner: planner})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "ships releases", Model: newChatModel(),
		Handlers: []adk.ChatModelAgentMiddleware{todo}, // ours first
	})
	if err != nil {
		log.Fatal(err)
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, "Ship v1.4.0.")
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Err != nil {
			log.Fatal(e.Err)
		}
	}
	list, err := planner.Get(ctx, "user-7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d done\n", list.Summary.Completed, list.Summary.Total)
	// Output: 1 of 1 done
}
