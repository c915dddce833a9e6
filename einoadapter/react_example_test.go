package einoadapter_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// Eino's react agent: its config is prepared, the rest stays as it is.
func ExampleReact() {
	ctx := context.Background()
	model := guardScript() // any model.ToolCallingChatModel
	planner, err := core.New(core.Config{})
	if err != nil {
		log.Fatal(err)
	}

	cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{
		Planner: planner,
		Agent:   react.AgentConfig{ToolCallingModel: model, MaxStep: 40},
	})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := react.NewAgent(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}

	answer, err := agent.Generate(core.WithSession(ctx, "user-7"), []*schema.Message{schema.UserMessage("Ship it.")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
	// Output: Shipped: v1.4.0 is out.
}
