// Background: a run ends while a job of the host still works, and the next run goes on with its result.
//
//	go run ./examples/background
//
// The scripted model starts an export, which takes its time, and declares that all it waits for is that job. The host confirms, so
// the run ends with an open item and nobody is asked to hurry. When the job is done, the host starts the second run with the result
// as its input; the model is shown what is open, and finishes.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/examples/internal/demo"
)

const session = "background"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	export := func() string { time.Sleep(2 * time.Second); return "12,480 rows in orders.csv" }
	if err := run(ctx, os.Stdout, export, firstRun(), secondRun()); err != nil {
		fmt.Fprintln(os.Stderr, "background:", err)
		os.Exit(1)
	}
}

// run plays the host: two runs of an agent on one session, with a job between them.
func run(ctx context.Context, out io.Writer, export func() string, first, second *demo.Model) error {
	screen, running := demo.NewPrinter(out), newJobs()
	waiting := false
	planner, err := core.New(core.Config{
		ValidateWait: func(ctx context.Context, ids []string, info core.WaitInfo, prior *core.WaitBinding) (core.WaitValidation, error) {
			v, err := running.validate(ctx, ids, info, prior)
			screen.Say("the host", fmt.Sprintf("is asked whether %s still runs: %s", strings.Join(ids, ", "), v.Status))
			return v, err
		},
		OnEvent: func(ctx context.Context, e core.Event) {
			screen.Event(ctx, e)
			waiting = e.Kind == core.EventRunEnded && e.Reason == core.EndWaiting
		},
	})
	if err != nil {
		return err
	}
	start, err := utils.InferTool("start_export", "Starts the export of a table in the background and returns the id of the job at once.",
		func(_ context.Context, a struct {
			Table string `json:"table" jsonschema:"required"`
		}) (string, error) {
			id := running.start(session, "export of "+a.Table, export)
			screen.Say("the host", "starts "+id+", the export of "+a.Table)
			return id + " was started", nil
		})
	if err != nil {
		return err
	}

	ctx = core.WithSession(ctx, session)
	ask := func(model *demo.Model, input string) error {
		return demo.Ask(ctx, &adk.ChatModelAgentConfig{
			Name: "exporter", Description: "exports tables", Instruction: "You export tables.", Model: model,
			ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{start}}},
		}, planner, input)
	}

	const task = "Export the orders and tell me how many rows there are."
	screen.Say("user", task)
	if err := ask(first, task); err != nil {
		return err
	}
	if !waiting {
		return nil // the answer was final
	}

	// The stored binding says which jobs the run ended on: a host that was restarted in between finds them there.
	list, err := planner.Get(ctx, session)
	if err != nil {
		return err
	}
	id := list.Wait.Tasks[0]
	result, err := running.wait(ctx, id)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	input := fmt.Sprintf("%s is done: %s.", id, result)
	screen.Say("the host", "starts run 2: "+input)
	return ask(second, input)
}

func firstRun() *demo.Model {
	plan := demo.List([2]string{">", "Export the orders"}, [2]string{" ", "Report the number of rows"})
	return demo.Script(
		demo.Call("write_todos", map[string]any{"todos": plan}),
		demo.Call("start_export", map[string]string{"table": "orders"}),
		demo.Call("write_todos", map[string]any{"todos": plan, "wait_for_tasks": []string{"job-1"}}),
		demo.Say("The export of the orders is running. I will tell you the number of rows when it is done."),
	)
}

func secondRun() *demo.Model {
	return demo.Script(
		demo.Todos([2]string{"x", "Export the orders"}, [2]string{"x", "Report the number of rows"}),
		demo.Say("The orders are exported: 12,480 rows in orders.csv."),
	)
}
