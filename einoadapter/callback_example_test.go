package einoadapter_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/cloudwego/eino/compose"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// What a user interface shows comes from the planner; the callback adds the ends that only eino knows.
func ExampleNewCallback() {
	planner, err := core.New(core.Config{})
	if err != nil {
		log.Fatal(err)
	}
	planner.Observe(func(_ context.Context, e core.Event) {
		switch e.Kind {
		case core.EventListChanged:
			fmt.Printf("list, revision %d: %s is %s\n", e.Revision, e.Todos[0].Content, e.Todos[0].Status)
		case core.EventRunEnded:
			fmt.Printf("ended: %s, %d open\n", e.Reason, len(e.Open))
		}
	})
	graph := exampleGraph(planner, newLines(do(plan("c1", "in_progress")), line{err: errors.New("the provider is down")}))

	_, _ = graph.Invoke(inSession("user-7"), user("Ship it."), compose.WithCallbacks(einoadapter.NewCallback()))
	// Output:
	// list, revision 1: Ship it is in_progress
	// ended: failed, 1 open
}
