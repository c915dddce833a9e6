package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/schema"

	"github.com/todoguard/todoguard/core"
)

// screen tells what happens, one line a step, and draws the list at each change. Its events come one at a time.
type screen struct {
	callbacks.SimpleHandler
	w     io.Writer
	calls int
}

func (s *screen) say(who, text string) {
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		fmt.Fprintln(s.w, strings.TrimRight(fmt.Sprintf("%-10s %s", who, line), " "))
		who = ""
	}
}

// HandleAgentAction implements callbacks.Handler.
func (s *screen) HandleAgentAction(_ context.Context, a schema.AgentAction) {
	s.calls++
	first, _, _ := strings.Cut(a.ToolInput, "\n")
	if len(first) > 60 {
		first = ""
	}
	s.say("model", strings.TrimSpace("calls "+a.Tool+" "+first))
}

// event shows what the list has to say.
func (s *screen) event(_ context.Context, e core.Event) {
	switch e.Kind {
	case core.EventTurn:
		if len(e.Calls) == 0 && e.Text != "" {
			s.say("model", "answers: "+e.Text)
		}
	case core.EventListChanged:
		marks := map[core.Status]string{core.StatusCompleted: "x", core.StatusInProgress: ">", core.StatusCancelled: "-", core.StatusNeedsReplan: "!"}
		for _, it := range e.Todos {
			s.say("", fmt.Sprintf("[%1s] %s", marks[it.Status], it.Content))
		}
	case core.EventWriteRefused:
		s.say("todoguard", "refuses: "+e.Refusal.Advice)
	case core.EventCorrected:
		s.say("todoguard", "items are still open: the answer is held, the model is asked once more")
	case core.EventReminded:
		s.say("todoguard", "reminds the model of its list")
	case core.EventRunEnded:
		if len(e.Open) > 0 {
			s.say("todoguard", fmt.Sprintf("the run ends (%s) with open items: %d", e.Reason, len(e.Open)))
		}
	}
}
