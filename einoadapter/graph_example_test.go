package einoadapter_test

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// A graph of one's own: one call adds the model, its tools, todo_guard and todo_finish.
func ExampleAddLoop() {
	ctx := context.Background()
	model := guardScript() // any model.ToolCallingChatModel
	planner, err := core.New(core.Config{})
	if err != nil {
		log.Fatal(err)
	}

	g := compose.NewGraph[[]*schema.Message, *schema.Message](
		compose.WithGenLocalState(einoadapter.NewGraphState)) // or a state that embeds einoadapter.GraphState
	loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{
		Planner: planner,
		Model:   model,
		Tools:   compose.ToolsNodeConfig{ /* the agent's own tools */ },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := g.AddEdge(compose.START, einoadapter.DefaultModelKey); err != nil {
		log.Fatal(err)
	}
	graph, err := g.Compile(ctx, loop.CompileOptions()...)
	if err != nil {
		log.Fatal(err)
	}

	answer, err := graph.Invoke(core.WithSession(ctx, "user-7"), []*schema.Message{schema.UserMessage("Ship it.")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Content)
	// Output: Shipped: v1.4.0 is out.
}
