package core

import (
	"context"
	"fmt"
	"slices"
)

// CallTool is called when the model calls one of the planner's tools, and returns the tool result. A refusal is a result.
// A tool name that is none of ours is an ErrConfig, a call after the end of the run an ErrEnded.
func (r *Run) CallTool(ctx context.Context, c Call) (string, error) {
	if !r.p.IsTool(c.Name) {
		return "", fmt.Errorf("core: call tool %q: no tool of this planner: %w", c.Name, ErrConfig)
	}
	defer r.p.observers.drain()
	r.tools.Lock()
	defer r.tools.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rs.Ended {
		return "", fmt.Errorf("core: call tool %q: %w", c.Name, ErrEnded)
	}
	if r.p.cfg.Tools == ToolsTasks {
		return r.callTask(ctx, c)
	}
	return r.writeTodos(ctx, c)
}

// WriteTodos is CallTool for write_todos.
func (r *Run) WriteTodos(ctx context.Context, callID, args string) (string, error) {
	return r.CallTool(ctx, Call{ID: callID, Name: r.p.cfg.ToolName, Args: args})
}

func (r *Run) writeTodos(ctx context.Context, c Call) (string, error) {
	if err := r.known(ctx); err != nil {
		return r.notSaved(ctx, c, err)
	}
	if r.rs.Writes > 1 {
		return r.refuse(ctx, c, refuse(CodeParallelWrite, "", "%s was called %d times in one response; none of the calls took effect. Send one call with the whole list.",
			r.p.cfg.ToolName, r.rs.Writes)), nil
	}
	w, bad := decodeWrite(c.Args, r.p.cfg.Updates, r.p.cfg.Dependencies)
	if bad != nil {
		return r.refuse(ctx, c, bad), nil
	}
	if w.read {
		r.sawFull(c)
		return r.p.accepted(r.st, report{unchanged: true}, nil, w), nil
	}
	ruled := r.p.rules(true)
	done, bad, err := r.commit(ctx, c.ID, w.wait, func(prev *state) (*state, report, *RuleError) { return apply(ruled, prev, w) })
	switch {
	case err != nil:
		return r.notSaved(ctx, c, err)
	case bad != nil:
		return r.refuse(ctx, c, bad), nil
	}
	if r.p.whole(w) && done.made {
		r.sawFull(c)
	}
	w.wait = done.waiting
	return r.p.accepted(r.st, done.report, done.checks, w), nil
}

// known loads the state where this process has none yet.
func (r *Run) known(ctx context.Context) error {
	if r.st != nil {
		return nil
	}
	return r.reload(ctx)
}

// committed is what an accepted write came to.
type committed struct {
	made    bool // a new revision
	report  report
	checks  []CheckReport
	waiting []string
}

// commit is the write path: judge against the list that the model saw, ask the host (wait, checks) once, save, emit. step is
// the pure step from one state to the next; it is taken anew after a conflict that left the list as it was, with the answers of
// the host as they are. A conflict that changed the list is a stale_write.
func (r *Run) commit(ctx context.Context, callID string, wait []string, step func(*state) (*state, report, *RuleError)) (committed, *RuleError, error) {
	base, sum := r.st.Revision, uint64(0)
	switch {
	case r.rs.HasShown:
		base, sum = r.rs.Shown, r.rs.ShownSum
	case r.rs.Detached:
		base, sum = 0, (&state{}).sum() // the store could not be read when the model was to be shown the list: to it there is none
	}
	var outcomes map[string]CheckReport
	var binding *WaitBinding
	for {
		if err := r.known(ctx); err != nil {
			return committed{}, nil, err
		}
		prev := r.st // another seam may replace it while the host is asked: then judge anew, with the answers at hand
		if prev.Revision != base || sum != 0 && prev.sum() != sum {
			return committed{}, refuse(CodeStaleWrite, "", "The list was changed by somebody else since you last saw it; nothing was written. Below is the list as it is now: build on it and send it again."), nil
		}
		next, rep, bad := step(prev)
		if bad != nil {
			return committed{}, bad, nil
		}
		if wait != nil && binding == nil {
			var err error
			if binding, bad, err = r.declareWait(ctx, wait, next, rep); err != nil || bad != nil {
				return committed{}, bad, err
			}
			if r.st != prev {
				continue
			}
		}
		var checks []CheckReport
		if len(rep.completed) > 0 && r.p.cfg.Checks != nil {
			if outcomes == nil {
				items, ids, cfg := next.items(), rep.completed, &r.p.cfg
				r.mu.Unlock() // no lock is held while the host's checks run
				outcomes = cfg.runChecks(ctx, items, ids)
				r.mu.Lock()
				if err := ctx.Err(); err != nil {
					return committed{}, nil, fmt.Errorf("core: run checks: %w", err)
				}
				if r.st != prev {
					continue
				}
			}
			before := rep
			next, checks = settle(r.p.rules(false), prev, next, outcomes)
			rep = compare(prev, next)
			rep.dropped, rep.completed = before.dropped, before.completed
		}
		done := committed{report: rep, checks: checks}
		if binding != nil && r.rs.Boundary != binding.Boundary {
			return committed{}, inputMeanwhile(), nil
		}
		if binding != nil && len(OpenItems(next.Todos)) == 0 {
			return committed{}, nothingToWaitFor(), nil
		}
		if r.rs.Ended { // while the host was asked
			return committed{}, nil, fmt.Errorf("core: store the list: %w", ErrEnded)
		}
		stored, err := r.store(ctx, callID, prev, next, &done, binding)
		if err != nil {
			return committed{}, nil, err
		}
		if stored {
			return done, nil, nil
		}
	}
}

// store saves next with the run's marks and the wait, unless nothing at all would change. false: another writer was first.
func (r *Run) store(ctx context.Context, callID string, prev, next *state, done *committed, binding *WaitBinding) (bool, error) {
	rs := r.rs
	rs.Wrote, rs.Suppressed, rs.Stale, rs.RemindDue = true, false, 0, false
	listed := !equalLists(prev.Todos, next.Todos)
	if listed {
		next.Revision = prev.Revision + 1
	}
	done.made, done.report.unchanged = listed, !listed && len(done.checks) == 0
	next.Wait, next.WaitOutcome = nil, nil
	if binding != nil {
		b := *binding
		b.Revision = next.Revision
		next.Wait = &b
		done.waiting = b.Tasks
	}
	if !listed && len(done.checks) == 0 && binding == nil && prev.Wait == nil && prev.WaitOutcome == nil && prev.mirrors(&rs) {
		if err := r.reload(ctx); err != nil {
			return false, err
		}
		if r.st != prev {
			return false, nil // it only looked unchanged
		}
		r.accept(rs, prev, r.v)
		return true, nil
	}
	next.mirror(&rs)
	var e *Event
	switch {
	case !r.p.observers.any():
	case !listed && len(done.checks) > 0:
		e = &Event{Kind: EventChecked, Session: rs.Session, RunID: rs.ID, CallID: callID, Revision: next.Revision, Checks: done.checks}
	case listed:
		e = &Event{Kind: EventListChanged, Session: rs.Session, RunID: rs.ID, CallID: callID, Revision: next.Revision,
			Todos: next.items(), Dropped: done.report.dropped, Reopened: done.report.reopened, Checks: done.checks}
	}
	got, err := r.p.save(ctx, rs.Session, next, r.v, e)
	if err != nil {
		return false, err
	}
	if got.conflict {
		r.st, r.v = got.st, got.v
		return false, nil
	}
	r.accept(rs, got.st, got.v)
	return true, nil
}

func (r *Run) accept(rs RunState, st *state, v Version) {
	r.rs, r.st, r.v = rs, st, v
	r.rs.Detached = false
	r.shown()
}

func equalLists(a, b []Item) bool {
	return slices.EqualFunc(a, b, func(x, y Item) bool { return equalItems(&x, &y) })
}

// declareWait asks the host about a declaration, with the run's lock released (section 7).
func (r *Run) declareWait(ctx context.Context, ids []string, next *state, rep report) (*WaitBinding, *RuleError, error) {
	if r.p.cfg.ValidateWait == nil {
		return nil, refuse(CodeWaitNotConfigured, "", "Waiting for background work is not available here. Leave wait_for_tasks out."), nil
	}
	ids, bad := cleanTasks(ids)
	if bad != nil {
		return nil, bad, nil
	}
	if len(OpenItems(next.Todos)) == 0 {
		return nil, nothingToWaitFor(), nil
	}
	boundary := r.rs.Boundary
	if boundary == "" {
		return nil, refuse(CodeWaitInvalid, "", "It cannot be shown that no new input came, so waiting is not possible now. Leave wait_for_tasks out and go on."), nil
	}
	revision := next.Revision
	if !rep.unchanged {
		revision++
	}
	info := WaitInfo{Session: r.rs.Session, RunID: r.rs.ID, Boundary: boundary, Revision: revision, Todos: next.items()}
	r.mu.Unlock()
	v, err := r.p.cfg.validateWait(ctx, ids, info, nil)
	r.mu.Lock()
	switch {
	case err != nil:
		return nil, nil, err
	case v.Status != WaitValid:
		why := oneLine(v.Reason)
		if why == "" {
			why = "the host gave no reason"
		}
		return nil, refuse(CodeWaitInvalid, "", "The host did not confirm these tasks (%s). Leave wait_for_tasks out and go on with the open items.", why), nil
	case r.rs.Boundary != boundary:
		return nil, inputMeanwhile(), nil
	}
	return &WaitBinding{Tasks: ids, RunID: r.rs.ID, Boundary: boundary, Evidence: v.Evidence}, nil, nil
}

func nothingToWaitFor() *RuleError {
	return refuse(CodeWaitInvalid, "", "Every item is closed, so there is nothing to wait for. Leave wait_for_tasks out.")
}

func inputMeanwhile() *RuleError {
	return refuse(CodeWaitInvalid, "", "New input came while the tasks were checked. Look at it first, then send the list again.")
}

// refuse makes the result of a refusal. It carries the list, so the model has now seen it as it is.
func (r *Run) refuse(ctx context.Context, c Call, e *RuleError) string {
	r.p.emit(ctx, Event{Kind: EventWriteRefused, Session: r.rs.Session, RunID: r.rs.ID, CallID: c.ID, Revision: r.st.Revision, Refusal: e})
	r.shown()
	r.rs.Detached = false
	return refusal(e, r.st)
}

// notSaved is the result where the store failed and the host lets the run go on.
func (r *Run) notSaved(ctx context.Context, c Call, err error) (string, error) {
	if err = r.trouble(ctx, err); err != nil {
		return "", err
	}
	e := refuse(CodeNotSaved, "", "The list could not be stored: nothing was saved. Go on with the work without it; you may try again later.")
	r.p.emit(ctx, Event{Kind: EventWriteRefused, Session: r.rs.Session, RunID: r.rs.ID, CallID: c.ID, Refusal: e})
	return refusal(e, nil), nil
}

// sawFull notes that a result shows the whole list at hand.
func (r *Run) sawFull(c Call) {
	r.rs.FullID, r.rs.FullRev = c.ID, r.st.Revision
	r.shown()
}

// Observe tells this handle of a tool result that another handle of the same run made, so that its state is as if it had
// made the call itself. It is for adapters whose tool cannot reach the Run that the model hooks use (LangChainGo): the
// tool resumes the run from its saved state and only the result text comes back. A text that is no result of ours is
// ignored.
func (r *Run) Observe(c Call, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	revision, code, fresh, ok := readResult(result)
	if !ok || !r.p.IsTool(c.Name) {
		return
	}
	r.st, r.v = nil, "" // the other handle has saved
	switch code {
	case "":
		reads, full := r.p.reads(c, fresh && !(r.rs.HasShown && r.rs.Shown == revision)) // a failed check alone makes no revision
		if !reads {
			r.rs.Wrote, r.rs.Suppressed, r.rs.Stale, r.rs.RemindDue = true, false, 0, false
		}
		if full {
			r.rs.FullID, r.rs.FullRev = c.ID, revision
		}
		r.rs.Detached = false
		r.rs.HasShown, r.rs.Shown, r.rs.ShownSum = true, revision, 0
	case CodeNotSaved:
		r.rs.Detached = true
	default:
		r.rs.HasShown, r.rs.Shown, r.rs.ShownSum = true, revision, 0
	}
}

// reads reports whether an accepted call only reads, and whether its result shows the whole list, so that the block would say
// nothing new. fresh: the result shows a list that the call made.
func (p *Planner) reads(c Call, fresh bool) (reads, full bool) {
	if p.cfg.Tools == ToolsTasks {
		name := taskTool(c.Name)
		return name == TaskGet || name == TaskList, name == TaskList
	}
	w, _ := decodeWrite(c.Args, p.cfg.Updates, p.cfg.Dependencies)
	return w.read, w.read || fresh && p.whole(w)
}
