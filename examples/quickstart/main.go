// Quickstart: an Eino agent that plans, works, and answers while an item is open.
//
//	go run ./examples/quickstart
//
// It runs offline, on a scripted model. With OPENAI_API_KEY (and, if wanted, OPENAI_BASE_URL and OPENAI_MODEL) the same program
// runs on a real model of any provider that speaks OpenAI's protocol.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
	"github.com/todoguard/todoguard/examples/internal/demo"
)

const task = `Our HTTP client retries for ever. Read client.go, give it a limit of three tries, say so in README.md,
and then tell me how to change the limit.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, getenv func(string) string) error {
	chat, err := chooseModel(ctx, getenv)
	if err != nil {
		return err
	}
	screen := demo.NewPrinter(out)
	files := newProject(screen)

	// An ordinary ADK agent...
	cfg := &adk.ChatModelAgentConfig{
		Name:          "coder",
		Description:   "works on a small project",
		Instruction:   "You are a coding assistant. Work with the tools you have. Do all that the user asks for.",
		Model:         chat,
		MaxIterations: 40,
		ToolsConfig:   adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: files.tools()}},
	}
	// ... which gets its list here.
	if err := einoadapter.Attach(ctx, cfg, &einoadapter.Config{Config: core.Config{OnEvent: screen.Event}}); err != nil {
		return err
	}
	agent, err := adk.NewChatModelAgent(ctx, cfg)
	if err != nil {
		return err
	}

	screen.Say("user", task)
	ctx = core.WithSession(ctx, "quickstart")
	events := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, task)
	for {
		e, ok := events.Next()
		if !ok {
			break
		}
		if e.Err != nil {
			return chat.explain(ctx, e.Err)
		}
	}
	if screen.Calls() == 0 {
		return fmt.Errorf("%s answered without calling a tool: choose a model that can call tools (OPENAI_MODEL)", chat.name)
	}
	return nil
}
