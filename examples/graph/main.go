// Graph: a compose.Graph of one's own with the todo loop in it, and a tool that asks for approval. The first process stops at
// the question; another one, which has nothing but what was stored, goes on with the answer. There the model forgets to tick
// its list off: it is asked once more, and the caller gets the answer that it gave first.
//
//	go run ./examples/graph
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

const session = "release-1.4.0"

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "graph:", err)
		os.Exit(1)
	}
}

// database is what outlives a process: the lists and eino's checkpoints. Production has redisstore.Store and a table.
type database struct {
	lists       core.Store
	checkpoints checkpoints
}

func run(ctx context.Context, out io.Writer) error {
	db := &database{lists: core.NewMemoryStore(), checkpoints: checkpoints{}}
	checkpoint := compose.WithCheckPointID(session)

	fmt.Fprintln(out, "== process 1")
	graph, err := newGraph(ctx, out, db, beforeTheQuestion())
	if err != nil {
		return err
	}
	_, err = graph.Invoke(core.WithSession(ctx, session), "Release v1.4.0.", checkpoint, compose.WithCallbacks(einoadapter.NewCallback()))
	info, ok := compose.ExtractInterruptInfo(err)
	if !ok {
		return fmt.Errorf("want the question of the tool, got %w", err)
	}
	question := info.InterruptContexts[0]
	fmt.Fprintf(out, "   asked: %v\n", question.Info)

	fmt.Fprintln(out, "== process 2, the user said yes")
	graph, err = newGraph(ctx, out, db, afterTheQuestion())
	if err != nil {
		return err
	}
	answer, err := graph.Invoke(compose.ResumeWithData(ctx, question.ID, "yes"), "", checkpoint)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "== the answer: %s\n", answer)

	planner, err := core.New(core.Config{Store: db.lists})
	if err != nil {
		return err
	}
	list, err := planner.Get(ctx, session)
	if err != nil {
		return err
	}
	for _, it := range list.Todos {
		fmt.Fprintf(out, "   %s %s: %s\n", it.ID, it.Status, it.Content)
	}
	if list.Summary.Open() > 0 {
		return errors.New("items are open")
	}
	return nil
}

// say prints the planner's events: what a user interface would show.
func say(out io.Writer) func(context.Context, core.Event) {
	return func(_ context.Context, e core.Event) {
		switch e.Kind {
		case core.EventListChanged:
			fmt.Fprintf(out, "   list, revision %d:", e.Revision)
			for _, it := range e.Todos {
				fmt.Fprintf(out, " [%s] %s;", it.Status, it.Content)
			}
			fmt.Fprintln(out)
		case core.EventCorrected:
			fmt.Fprintln(out, "   asked the model once more: its list is open")
		case core.EventRunPaused, core.EventRunEnded:
			fmt.Fprintf(out, "   %s, %d open\n", e.Reason, len(e.Open))
		}
	}
}
