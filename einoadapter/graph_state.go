package einoadapter

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

func init() {
	schema.RegisterName[*GraphState]("todoguard_graph_state")
	schema.RegisterName[*runBox]("todoguard_run")
}

// GraphState is what the loop keeps in a graph's local state (docs/design.md, section 1). A graph's own state embeds it,
// and is itself registered with schema.RegisterName where checkpoints are used; a graph without a state of its own uses
// [NewGraphState]. The zero value is ready. Its fields are exported because eino's checkpoints save exported fields only:
// read them under compose.ProcessState, do not write them.
type GraphState struct {
	// Messages is the conversation as the model has it: input, answers, corrections, calls and results, without the
	// blocks of open items, which are never kept.
	Messages []*schema.Message
	// Asked is the input of a model call that has not come back yet.
	Asked []*schema.Message
	// Run is the run and what the loop remembers of it; nil before the first model call and after the last.
	Run *runBox

	steps int // steps that earlier runs of this invocation took; not saved, as those of a runBox
}

// box is the run of the graph, one that has not begun if there is none.
func (s *GraphState) box() *runBox {
	if s.Run == nil {
		s.Run = &runBox{steps: s.steps}
	}
	return s.Run
}

// NewGraphState returns an empty state, for compose.WithGenLocalState.
func NewGraphState(context.Context) *GraphState { return &GraphState{} }

// todoState is promoted to the state that embeds GraphState: that is how the nodes find it, whatever its type.
func (s *GraphState) todoState() *GraphState { return s }

type graphStater interface{ todoState() *GraphState }

// withGraphState runs fn on the state of the graph that ctx belongs to, under the state's lock. A nested graph without a
// GraphState of its own uses its parent's.
func withGraphState(ctx context.Context, fn func(s *GraphState)) error {
	err := compose.ProcessState(ctx, func(_ context.Context, s graphStater) error {
		g := s.todoState()
		if g == nil {
			return errors.New("the embedded *GraphState is nil")
		}
		fn(g)
		return nil
	})
	if err != nil {
		return fmt.Errorf("einoadapter: the graph needs a local state that embeds GraphState (compose.WithGenLocalState): %w", err)
	}
	return nil
}

// runBox is one run in a place that a checkpoint saves: the handle while the process lives, its state after that. It is
// safe for concurrent use.
type runBox struct {
	mu       sync.Mutex
	run      *core.Run // nil: not begun, or restored from a checkpoint and not resumed yet
	boundary string    // the input boundary; not saved: a resume makes a new one
	steps    int       // steps of the graph so far; not saved: eino counts a resumed run from zero
	owner    any       // react: the graph state that the run belongs to
	d        runData
}

// runData is what a checkpoint saves of a run.
type runData struct {
	Session    string        `json:"session,omitempty"` // "": not begun
	Run        core.RunState `json:"run"`
	Given      bool          `json:"given,omitempty"`      // an answer was given and held back
	Closing    bool          `json:"closing,omitempty"`    // since then nothing but our own tools ran
	Correction string        `json:"correction,omitempty"` // what todo_guard is to say
	Deliver    bool          `json:"deliver,omitempty"`    // todo_finish is to deliver what is held
	Passing    bool          `json:"passing,omitempty"`    // todo_finish is to pass on a stream that was not read
	Calls      bool          `json:"calls,omitempty"`      // the tools node is next
	NoList     bool          `json:"no_list,omitempty"`    // the agent runs inside another, whose list it is
}

// handle returns the run, and begins or resumes it where that is due. fresh is true for a run that begins here.
func (b *runBox) handle(ctx context.Context, p *core.Planner) (run seams, fresh bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.run != nil:
		return b.run, false, nil
	case b.d.NoList:
		return noList{}, false, nil
	case b.d.Session != "":
		b.run, err = p.Resume(b.d.Run)
		b.steps = 0
		if b.d.Calls {
			b.steps = 1 // eino is at the tools
		}
	case nested(ctx):
		b.d.NoList = true
		return noList{}, true, nil
	default:
		b.d.Session, _ = core.SessionFrom(ctx)
		b.run, err = p.Begin(b.d.Session, core.RunOptions{})
		fresh = true
	}
	if err != nil {
		return nil, false, fmt.Errorf("einoadapter: %w", err)
	}
	b.boundary = rand.Text()
	b.run.NewInput(b.boundary)
	noteRun(ctx, b.run)
	return b.run, fresh, nil
}

// inside marks ctx as inside a tool of the run.
func (b *runBox) inside(ctx context.Context) context.Context {
	if session := b.session(); session != "" {
		return withinRun(ctx, session)
	}
	return ctx
}

// toTools notes that the tools are next.
func (b *runBox) toTools(p *core.Planner, calls []core.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps++
	b.d.Calls = true
	b.d.Closing = b.d.Closing && onlyOurs(p, calls)
}

// session is the session of the run; "" if it has no list.
func (b *runBox) session() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.d.Session
}

// newInput gives the run a new input boundary: a user message came in the middle of it.
func (b *runBox) newInput() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.boundary = rand.Text()
	if b.run != nil {
		b.run.NewInput(b.boundary)
	}
}

func (b *runBox) boundaryNow() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.boundary
}

// step counts steps of the graph and returns how many there have been.
func (b *runBox) step(n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.steps += n
	return b.steps
}

func (b *runBox) data() runData {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.d
}

func (b *runBox) update(fn func(d *runData)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fn(&b.d)
}

// MarshalJSON is how a checkpoint saves the run, as it is at that moment.
func (b *runBox) MarshalJSON() ([]byte, error) {
	d := b.data()
	b.mu.Lock()
	run := b.run
	b.mu.Unlock()
	if run != nil {
		d.Run = run.State()
	}
	return json.Marshal(d)
}

// UnmarshalJSON restores a run that is resumed at its first use.
func (b *runBox) UnmarshalJSON(doc []byte) error { return json.Unmarshal(doc, &b.d) }

// GobEncode is MarshalJSON for the checkpoints that use gob.
func (b *runBox) GobEncode() ([]byte, error) { return b.MarshalJSON() }

// GobDecode is UnmarshalJSON for the checkpoints that use gob.
func (b *runBox) GobDecode(doc []byte) error { return b.UnmarshalJSON(bytes.Clone(doc)) }
