// Checks: an item is done when the host's own test says so, not when the model does.
//
//	go run ./examples/checks
//
// The host gives the agent a small package whose tests fail and a list whose first item is "Make the tests pass". The scripted
// model claims success first. The claim is checked by a real `go test`, refused, and its output shown to the model; the model then
// fixes the file, and the same claim is accepted.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/examples/internal/demo"
)

const session = "checks"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, script()); err != nil {
		fmt.Fprintln(os.Stderr, "checks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, model *demo.Model) error {
	dir, err := brokenPackage()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	screen := demo.NewPrinter(out)

	planner, err := core.New(core.Config{
		// The command is the host's. Nothing that a model writes reaches it.
		Checks: core.Route(core.ByID("tests", screen.Check(core.CommandCheck(core.Command{
			Path: "go", Args: []string{"test", "./..."}, Dir: dir,
			Env: append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false"),
		})))),
		Dependencies:  true, // the note can only be written when the tests pass
		KeepOpenItems: true, // the model cannot get round the check by leaving the item out
		OnEvent:       screen.Event,
	})
	if err != nil {
		return err
	}
	const task = "The tests of this package fail. Make them pass and tell me what was wrong."
	screen.Say("user", task)

	// The host writes the list, so the ids are its own.
	ctx = core.WithSession(ctx, session)
	if _, err := planner.Update(ctx, session, func([]core.Item) ([]core.Item, error) {
		return []core.Item{
			{ID: "tests", Content: "Make the tests pass", Status: core.StatusInProgress},
			{ID: "note", Content: "Say what was wrong", DependsOn: []string{"tests"}},
		}, nil
	}); err != nil {
		return err
	}

	write, err := utils.InferTool("write_file", "Replaces a file of the package.", func(_ context.Context, a writeArgs) (string, error) {
		if filepath.Base(a.Name) != a.Name {
			return "Only files of the package itself can be written: send a plain name.", nil
		}
		screen.Say("", "wrote "+a.Name)
		return "written", os.WriteFile(filepath.Join(dir, a.Name), []byte(a.Text), 0o600)
	})
	if err != nil {
		return err
	}
	return demo.Ask(ctx, &adk.ChatModelAgentConfig{
		Name: "fixer", Description: "mends a package", Instruction: "You mend Go packages.", Model: model,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{write}}},
	}, planner, task)
}
