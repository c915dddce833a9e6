package demo

import (
	"context"

	"github.com/cloudwego/eino/adk"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// Ask makes an agent of cfg with the planner's list, runs one input on it and reads its events to their end.
func Ask(ctx context.Context, cfg *adk.ChatModelAgentConfig, planner *core.Planner, input string) error {
	if err := einoadapter.Attach(ctx, cfg, &einoadapter.Config{Planner: planner}); err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	if err != nil {
		return err
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, input)
	for {
		e, ok := events.Next()
		if !ok {
			return nil
		}
		if e.Err != nil {
			return e.Err
		}
	}
}
