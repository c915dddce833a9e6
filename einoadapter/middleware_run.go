package einoadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// execution is one execution of an agent, from BeforeAgent on: a run, or what follows an interrupt of one. It is in the ctx of
// every hook, tool and nested agent. Safe for concurrent use.
type execution struct {
	owner   any    // the middleware that it belongs to; nil: an agent without a list, inside another
	session string // of the list; without an owner that of the agent round it
	planner *core.Planner
	replay  bool // end with a held answer
	input   inputs

	mu    sync.Mutex
	run   *core.Run
	saved *savedRun
	stand bool // the held answer is the answer: the correction failed, or it was replayed
}

type executionKey struct{}

func newExecution(owner any, p *core.Planner, session string, replay bool) *execution {
	e := &execution{owner: owner, session: session, planner: p, replay: replay}
	e.input.renew()
	return e
}

func executionOf(ctx context.Context) *execution {
	e, _ := ctx.Value(executionKey{}).(*execution)
	return e
}

// begin returns the run. The first time it begins one, or resumes the one whose state eino restored: a run-local value that is
// there is a run that was interrupted, since a new run has none.
func (e *execution) begin(ctx context.Context) (*core.Run, *savedRun, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != nil {
		return e.run, e.saved, nil
	}
	v, _, err := adk.GetRunLocalValue(ctx, runLocalKey)
	if err != nil {
		return nil, nil, fmt.Errorf("einoadapter: %w", err)
	}
	saved, ok := v.(*savedRun)
	var run *core.Run
	switch {
	case !ok:
		saved = &savedRun{}
		run, err = e.planner.Begin(e.session, core.RunOptions{Delivered: !e.replay})
	case saved.last().Session != e.session:
		err = fmt.Errorf("the run to resume belongs to session %q, the ctx says %q", saved.last().Session, e.session)
	default:
		run, err = e.planner.Resume(saved.last())
	}
	if err != nil {
		return nil, nil, fmt.Errorf("einoadapter: %w", err)
	}
	run.NewInput(e.input.boundary())
	saved.follow(run)
	if !ok {
		if err := adk.SetRunLocalValue(ctx, runLocalKey, saved); err != nil {
			return nil, nil, fmt.Errorf("einoadapter: %w", err)
		}
	}
	noteRun(ctx, run)
	e.run, e.saved = run, saved
	return run, saved, nil
}

// fail ends the run by an error of one of our own hooks, which eino retries no more, and returns that error. An interrupt is no
// end: NewCallback tells of it.
func (e *execution) fail(ctx context.Context, err error) error {
	e.mu.Lock()
	run := e.run
	e.mu.Unlock()
	if run != nil && !isInterrupt(err) {
		_, _ = run.Finish(ctx, core.Outcome{Reason: endReason(err), Err: err}) // err says more than what the store may add
	}
	return err
}

// letHeldStand notes that the held answer is the answer, whatever the model said last.
func (e *execution) letHeldStand() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stand = true
}

func (e *execution) heldStands() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stand
}

// savedRun is what a checkpoint keeps of a run. It asks the run for its state when it is encoded, so that what is saved is
// what holds at that moment. Safe for concurrent use.
type savedRun struct {
	mu  sync.Mutex
	run *core.Run // nil: decoded and not resumed yet
	d   savedData
}

type savedData struct {
	Run   core.RunState `json:"run"`
	Calls int           `json:"calls"` // turns of the agent so far
}

const runLocalKey = "todoguard_run"

func init() {
	schema.RegisterName[*savedRun]("todoguard_adk_run")
}

func (s *savedRun) follow(run *core.Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = run
}

func (s *savedRun) last() core.RunState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil {
		return s.run.State()
	}
	return s.d.Run
}

func (s *savedRun) count() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.d.Calls++
}

func (s *savedRun) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.d.Calls
}

// GobEncode implements gob.GobEncoder.
func (s *savedRun) GobEncode() ([]byte, error) {
	return json.Marshal(savedData{Run: s.last(), Calls: s.calls()})
}

// GobDecode implements gob.GobDecoder.
func (s *savedRun) GobDecode(doc []byte) error {
	return json.Unmarshal(doc, &s.d)
}

// MarshalJSON makes the value readable for eino's other serializer too.
func (s *savedRun) MarshalJSON() ([]byte, error) { return s.GobEncode() }

// UnmarshalJSON is the inverse of MarshalJSON.
func (s *savedRun) UnmarshalJSON(doc []byte) error { return s.GobDecode(doc) }

// insideGraph reports whether ctx is that of a node or a tool: BeforeAgent sees one only where another agent or graph runs.
func insideGraph(ctx context.Context) bool {
	return compose.ProcessState(ctx, func(context.Context, any) error { return nil }) == nil
}

// insideTool reports whether the agent runs as a tool.
func insideTool(ctx context.Context) bool {
	return compose.GetToolCallID(ctx) != "" || insideGraph(ctx)
}
