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

// A functions agent needs one call. This model answers while items are open; it is asked once, ticks off, and the user
// gets the full answer.
func Example() {
	llm, myTools := releaseModel(), releaseTools() // or: llm, err := openai.New()

	agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(llm, myTools))
	if err != nil {
		log.Fatal(err)
	}
	executor := lcgadapter.NewExecutor(agent, agents.WithMaxIterations(20))

	ctx := core.WithSession(context.Background(), "user-42")
	answer, err := chains.Run(ctx, executor, "Ship the release.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: Shipped: tagged v1.4.0 and published the notes.
}
