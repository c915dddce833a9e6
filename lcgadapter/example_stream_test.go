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

// While items are open, chunks wait until it is known that they are the answer: the stream holds it once, and nothing else.
func ExampleNewExecutor_streaming() {
	agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(releaseModel(), releaseTools()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := core.WithSession(context.Background(), "user-42")
	_, err = chains.Run(ctx, lcgadapter.NewExecutor(agent), "Ship the release.",
		chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			fmt.Print(string(chunk))
			return nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	// Output: Shipped: tagged v1.4.0 and published the notes.
}
