package demo

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/todoguard/todoguard/core"
)

// Printer tells what happens in a run, one line a step, and draws the list at each change. Its Event is meant for
// core.Config.OnEvent: a planner's events are the one place that knows of every change, after it is stored. Safe for
// concurrent use.
type Printer struct {
	mu    sync.Mutex
	w     io.Writer
	calls int
}

// NewPrinter returns a printer on w.
func NewPrinter(w io.Writer) *Printer { return &Printer{w: w} }

// Calls is how many tools the model has called.
func (p *Printer) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Say prints what somebody said or did. Further lines of text are indented.
func (p *Printer) Say(who, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say(who, text)
}

func (p *Printer) say(who, text string) {
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if i > 0 {
			who = ""
		}
		fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf("%-10s %s", who, line), " "))
	}
}

// Event tells one event of a planner.
func (p *Printer) Event(_ context.Context, e core.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case core.EventTurn:
		if len(e.Calls) == 0 {
			p.say("model", "answers: "+e.Text)
		}
		for _, c := range e.Calls {
			p.calls++
			p.say("model", "calls "+c.Name)
		}
	case core.EventListChanged:
		p.list(e.Todos)
	case core.EventWriteRefused:
		p.say("todoguard", "refuses: "+e.Refusal.Advice)
	case core.EventCorrected:
		p.say("todoguard", "an item is still open: the answer is held, the model is asked once more")
	case core.EventReminded:
		p.say("todoguard", "reminds the model of its list")
	case core.EventRunEnded:
		p.end(e)
	}
}

func (p *Printer) end(e core.Event) {
	if e.Answer != "" {
		fmt.Fprintln(p.w)
		p.say("the user", "gets: "+e.Answer)
	}
	switch {
	case e.Reason == core.EndWaiting:
		p.say("todoguard", fmt.Sprintf("the run ends on background work, %s", open(len(e.Open))))
	case len(e.Open) > 0:
		p.say("todoguard", fmt.Sprintf("the run ends (%s), %s", e.Reason, open(len(e.Open))))
	}
}

func open(n int) string {
	if n == 1 {
		return "1 item is open"
	}
	return fmt.Sprintf("%d items are open", n)
}

// Check is a done-check that tells its outcome.
func (p *Printer) Check(c core.Check) core.Check {
	return func(ctx context.Context, it core.Item) core.CheckResult {
		r := c(ctx, it)
		text := fmt.Sprintf("checks %q: %s", it.Content, r.Status)
		if r.Status != core.CheckPassed {
			text += "\n  | " + strings.ReplaceAll(strings.TrimSpace(r.Output), "\n", "\n  | ")
		}
		p.Say("the host", text)
		return r
	}
}

func (p *Printer) list(items []core.Item) {
	var b strings.Builder
	for _, it := range items {
		mark := map[core.Status]string{
			core.StatusPending: " ", core.StatusInProgress: ">", core.StatusCompleted: "x", core.StatusCancelled: "-", core.StatusNeedsReplan: "!",
		}[it.Status]
		fmt.Fprintf(&b, "[%s] %s\n", mark, it.Content)
	}
	p.say("", b.String())
}
