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

// A text agent writes its tools into the prompt when it is made, so it is made with the plugin's tools and hooked afterwards.
func ExamplePlugin_Wrap() {
	llm, myTools := releaseTextModel("Final Answer:"), releaseTools()

	plugin, err := lcgadapter.New()
	if err != nil {
		log.Fatal(err)
	}
	agent, err := plugin.Wrap(agents.NewOneShotAgent(llm, append(myTools, plugin.Tools()...)))
	if err != nil {
		log.Fatal(err)
	}
	ctx := core.WithSession(context.Background(), "user-42")
	answer, err := chains.Run(ctx, lcgadapter.NewExecutor(agent, agents.WithMaxIterations(20)), "Ship the release.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: Shipped: tagged v1.4.0 and published the notes.
}
