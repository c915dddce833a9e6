package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
	"github.com/todoguard/todoguard/redisstore"
)

const (
	roleVar = "TODOGUARD_RESUME_WORKER"
	urlVar  = "TODOGUARD_RESUME_URL"
	hangVar = "TODOGUARD_RESUME_HANG" // the table in whose migration the worker hangs; "": none

	prefix  = "todoguard-resume"
	doneKey = prefix + ":done" // what was migrated: the work itself, beside the list
	hangs   = "... (hangs)"
)

// work is one process of the agent: all that it knows of an earlier one is in the store.
func work(ctx context.Context) error {
	o, err := redis.ParseURL(os.Getenv(urlVar))
	if err != nil {
		return err
	}
	client := redis.NewClient(o)
	defer client.Close()
	store, err := redisstore.New(client, &redisstore.Options{Prefix: prefix})
	if err != nil {
		return err
	}
	migrate, err := utils.InferTool("migrate", "Migrates one table.", func(ctx context.Context, in struct {
		Table string `json:"table"`
	}) (string, error) {
		fmt.Println("migrating " + in.Table)
		if in.Table == os.Getenv(hangVar) {
			fmt.Println(hangs)
			select {} // until somebody kills the process
		}
		return "migrated " + in.Table, client.RPush(ctx, doneKey, in.Table).Err()
	})
	if err != nil {
		return err
	}
	cfg := &adk.ChatModelAgentConfig{
		Name: "migrator", Description: "Migrates tables.", Instruction: "Migrate the tables one by one.",
		Model:         &scripted{},
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{migrate}}},
		MaxIterations: 20,
	}
	if err := einoadapter.Attach(ctx, cfg, &einoadapter.Config{Config: core.Config{Store: store, OnEvent: tell}}); err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	if err != nil {
		return err
	}
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(core.WithSession(ctx, session), "Migrate users, orders and invoices.")
	for {
		e, ok := events.Next()
		if !ok {
			return nil
		}
		if e.Err != nil {
			return e.Err
		}
		if e.Output != nil && e.Output.MessageOutput != nil {
			m, err := e.Output.MessageOutput.GetMessage()
			if err != nil {
				return err
			}
			if m.Content != "" && len(m.ToolCalls) == 0 && m.ToolCallID == "" {
				fmt.Println("answer: " + m.Content)
			}
		}
	}
}

// tell draws the list as it changes.
func tell(_ context.Context, e core.Event) {
	if e.Kind != core.EventListChanged {
		return
	}
	fmt.Printf("list, revision %d:", e.Revision)
	for _, it := range e.Todos {
		mark := map[core.Status]string{core.StatusCompleted: "x", core.StatusInProgress: ">"}[it.Status]
		if mark == "" {
			mark = " "
		}
		fmt.Printf("  [%s] %s", mark, it.Content)
	}
	fmt.Println()
}
