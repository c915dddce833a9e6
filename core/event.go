package core

import (
	"context"
	"slices"
	"sync"
	"time"
)

// EventKind says what an [Event] reports.
type EventKind string

const (
	EventListChanged  EventKind = "list_changed"  // a new revision is stored
	EventChecked      EventKind = "checked"       // done-checks ran for a write that left the list as it was
	EventWriteRefused EventKind = "write_refused" // the model's write broke a rule; nothing changed
	EventTurn         EventKind = "turn"          // the model responded
	EventCorrected    EventKind = "corrected"     // an answer was held back and the model asked once more
	EventExplain      EventKind = "explain"       // the model was asked for a plain-text explanation (OnExhausted: Explain)
	EventReminded     EventKind = "reminded"      // a reminder went with a request
	EventRunPaused    EventKind = "run_paused"    // the run was interrupted for the host; it may be resumed
	EventRunEnded     EventKind = "run_ended"     // the run is over, for whatever reason; nothing of it follows
)

// EndReason says why a run ended.
type EndReason string

const (
	EndAnswered      EndReason = "answered"       // the model gave its final answer
	EndWaiting       EndReason = "waiting"        // it ended on confirmed background work (section 7)
	EndReturned      EndReason = "returned"       // a tool's result was returned directly
	EndMaxIterations EndReason = "max_iterations" // the framework's limit of steps or iterations
	EndCancelled     EndReason = "cancelled"      // the context was cancelled or ran out
	EndInterrupted   EndReason = "interrupted"    // paused for the host; it may be resumed as the same run: run_paused
	EndFailed        EndReason = "failed"         // any other error
)

// Event is one thing that happened, told after it happened: a list change after its commit, one per revision, in
// the order of the revisions (docs/design.md, section 8). Fields that do not belong to the kind are zero.
// The slices are the receiver's own.
type Event struct {
	Kind    EventKind
	Session string
	RunID   string // "" for the host's own edits
	Time    time.Time

	Revision int64  // list_changed: the new one; otherwise the one at hand
	CallID   string // list_changed, checked and write_refused by a tool call

	Todos    []Item        // list_changed: the whole list
	Dropped  []Item        // list_changed: open items that left the list
	Reopened []Item        // list_changed: closed items that are open again
	Checks   []CheckReport // list_changed, checked: done-checks that ran for it

	Refusal *RuleError // write_refused
	Calls   []Call     // turn: the tool calls of the response; none: it was text
	Text    string     // corrected, explain, reminded: what the model was told; turn: the response's text

	Open       []Item    // run_ended, run_paused: what is still open, the one in progress first
	Reason     EndReason // run_ended, run_paused
	Err        error     // run_ended: the error behind the reason, nil if there is none
	Answer     string    // run_ended: what was delivered
	Superseded []string  // run_ended: answers that the model gave and the delivered one does not hold
}

// observers delivers events in the order in which they were queued, without holding a lock while an observer runs.
type observers struct {
	mu       sync.Mutex
	all      []*observer
	queue    []queued
	draining bool
}

type observer struct {
	fn func(context.Context, Event)
}

type queued struct {
	ctx context.Context
	e   Event
}

// add registers fn. stop unregisters it; an event under way may still reach it.
func (o *observers) add(fn func(context.Context, Event)) (stop func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	mine := &observer{fn}
	o.all = append(slices.Clone(o.all), mine) // drain may be walking the old one
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = slices.DeleteFunc(slices.Clone(o.all), func(x *observer) bool { return x == mine })
	}
}

// any reports whether anybody listens.
func (o *observers) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.all) > 0
}

// enqueue puts an event behind all earlier ones. Nothing is queued while nobody listens.
func (o *observers) enqueue(ctx context.Context, e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) > 0 {
		o.queue = append(o.queue, queued{ctx, e})
	}
}

// drain delivers what is queued, unless another goroutine (or an observer up the stack) is at it already.
func (o *observers) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.draining {
		return
	}
	o.draining = true
	defer func() { o.draining = false }()
	for len(o.queue) > 0 {
		q := o.queue[0]
		o.queue = o.queue[1:]
		for _, x := range o.all {
			o.deliver(x.fn, q)
		}
	}
	o.queue = nil
}

// deliver runs one observer without the lock and takes it again, also when the observer panics.
func (o *observers) deliver(fn func(context.Context, Event), q queued) {
	o.mu.Unlock()
	defer o.mu.Lock()
	e := q.e
	e.Todos, e.Dropped, e.Reopened, e.Open = cloneItems(e.Todos), cloneItems(e.Dropped), cloneItems(e.Reopened), cloneItems(e.Open)
	e.Checks, e.Calls, e.Superseded = slices.Clone(e.Checks), slices.Clone(e.Calls), slices.Clone(e.Superseded)
	fn(q.ctx, e)
}
