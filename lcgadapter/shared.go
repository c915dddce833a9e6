package lcgadapter

import (
	"context"
	"sync"

	"github.com/todoguard/todoguard/core"
)

// sharedRuns holds the runs of turns with several todo calls, while those calls are made: the second builds on what the
// first has stored, which no action can tell it, for all of them are written before any of them runs.
type sharedRuns struct {
	mu   sync.Mutex
	runs map[string]*sharedRun
}

type sharedRun struct {
	run  *core.Run
	left int         // calls that are still to come
	stop func() bool // takes back the clean-up that waits for the end of ctx
}

// share keeps the run of a turn with several todo calls until the last of them is made, the [Executor]'s Call is over or ctx
// is done. It returns where to find it, or "" for a turn with fewer.
func (p *Plugin) share(ctx context.Context, run *core.Run, calls []core.Call) string {
	n := 0
	for _, c := range calls {
		if p.planner.IsTool(c.Name) {
			n++
		}
	}
	if n < 2 {
		return ""
	}
	key := token()
	if w := watchOf(ctx); w != nil {
		ctx = w.life
	}
	s := &p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs == nil {
		s.runs = map[string]*sharedRun{}
	}
	s.runs[key] = &sharedRun{run: run, left: n, stop: context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.runs, key)
	})}
	return key
}

// runOf is the run that a todo call belongs to.
func (p *Plugin) runOf(m mark) (*core.Run, error) {
	s := &p.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[m.Shared]; r != nil {
		if r.left--; r.left == 0 {
			delete(s.runs, m.Shared)
			r.stop()
		}
		return r.run, nil
	}
	return p.planner.Resume(m.State)
}
