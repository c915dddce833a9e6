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

// The host's checks decide what is done. Settings are options named after the fields of core.Config.
func ExampleWithChecks() {
	published := false
	checks := func(it core.Item) core.Check {
		if it.ID != "2" {
			return nil // this one is done when the model says so
		}
		return func(context.Context, core.Item) core.CheckResult {
			if !published {
				return core.CheckResult{Status: core.CheckFailed, Output: "no notes on the page"}
			}
			return core.CheckResult{Status: core.CheckPassed}
		}
	}
	agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(releaseModel(), releaseTools()),
		lcgadapter.WithChecks(checks), lcgadapter.WithMaxFailures(3))
	if err != nil {
		log.Fatal(err)
	}
	ctx := core.WithSession(context.Background(), "user-42")
	if _, err := chains.Run(ctx, lcgadapter.NewExecutor(agent), "Ship the release."); err != nil {
		log.Fatal(err)
	}
	snapshot, err := agent.Plugin().Planner().Get(ctx, "user-42")
	if err != nil {
		log.Fatal(err)
	}
	for _, it := range snapshot.Open() {
		fmt.Printf("%s (%d failed: %s)\n", it.Content, it.Failures, it.LastOutput)
	}
	// Output: Publish the notes (1 failed: no notes on the page)
}
