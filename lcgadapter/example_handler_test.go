package lcgadapter_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

// List events come to the executor's handler, after they are stored.
func ExampleHandler() {
	handler := lcgadapter.Handler(nil, func(_ context.Context, e core.Event) {
		if e.Kind != core.EventListChanged {
			return
		}
		for _, it := range e.Todos {
			fmt.Println(e.Revision, it.Status, it.Content)
		}
	})
	agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(releaseModel(), releaseTools()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := core.WithSession(context.Background(), "user-42")
	if _, err := chains.Run(ctx, lcgadapter.NewExecutor(agent, agents.WithCallbacksHandler(handler)), "Ship the release."); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 in_progress Tag the commit
	// 1 pending Publish the notes
	// 2 completed Tag the commit
	// 2 completed Publish the notes
}
