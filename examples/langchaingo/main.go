// LangChainGo: a functions agent that plans, works, and answers while an item is open.
//
//	go run ./examples/langchaingo
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

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

const task = "Our HTTP client retries for ever. Read client.go, give it a limit of three tries, say so in README.md, and then tell me how to change the limit."

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, "langchaingo: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, getenv func(string) string) error {
	chat, err := chooseModel(getenv)
	if err != nil {
		return err
	}
	screen := &screen{w: out}

	// An ordinary agent of LangChainGo, which gets its list from Wrap.
	agent, err := lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(chat, newProject().tools(),
		agents.NewOpenAIOption().WithSystemMessage("You are a coding assistant. Work with the tools you have. Do all that the user asks for.")))
	if err != nil {
		return err
	}
	// The handler sees the executor's events and those of the list.
	executor := lcgadapter.NewExecutor(agent, agents.WithMaxIterations(40),
		agents.WithCallbacksHandler(lcgadapter.Handler(screen, screen.event)))

	screen.say("user", task)
	answer, err := chains.Run(core.WithSession(ctx, "example"), executor, task)
	if err != nil {
		return chat.explain(ctx, err)
	}
	screen.say("the user", "gets: "+answer)
	if screen.calls == 0 {
		return fmt.Errorf("%s answered without calling a tool: choose a model that can call tools (OPENAI_MODEL)", chat.name)
	}
	return nil
}
