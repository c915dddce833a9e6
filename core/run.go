package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Run is one agent run on one session: the shell that loads, lets the pure rules decide, saves with compare-and-set and
// emits events (docs/design.md, section 1). Its methods are the seams that an adapter calls. Safe for concurrent use.
//
// Every seam returns a Go error only for a done ctx, for a store that failed (see Config.OnStoreError), for an ErrConfig and, a
// tool call, for ErrEnded. What the model can mend is in the text that it gets. Once a run has ended its seams change nothing
// and emit nothing.
type Run struct {
	p *Planner

	tools sync.Mutex // held through a tool call: the calls of a run go one after another, also while mu is released

	mu sync.Mutex // taken after tools; released while the host is asked
	rs RunState
	st *state // as last loaded or saved in this process; nil: not known
	v  Version
}

// Begin starts a run. It does no I/O. An empty session is ErrNoSession.
func (p *Planner) Begin(session string, o RunOptions) (*Run, error) {
	return p.Resume(RunState{ID: p.cfg.NewID(), Session: session, Options: o})
}

// Resume continues a run from what [Run.State] gave, in this process or another. It does no I/O. A state without a
// session is ErrNoSession.
func (p *Planner) Resume(s RunState) (*Run, error) {
	if s.Session == "" {
		return nil, fmt.Errorf("core: begin a run: %w", ErrNoSession)
	}
	return &Run{p: p, rs: s.clone()}, nil
}

// State returns a copy of what the run remembers, for [Planner.Resume].
func (r *Run) State() RunState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rs.clone()
}

// ID is the run's id.
func (r *Run) ID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rs.ID
}

func (s RunState) clone() RunState {
	s.Superseded = slices.Clone(s.Superseded)
	s.OpenThen = slices.Clone(s.OpenThen)
	s.ClosedSince = slices.Clone(s.ClosedSince)
	s.Batch = slices.Clone(s.Batch)
	s.Results = slices.Clone(s.Results)
	return s
}

// NewInput tells the run of input that came between two seams: boundary is the new token, "" one that cannot be proven.
func (r *Run) NewInput(boundary string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rs.Boundary, r.rs.Suppressed = boundary, false
}

// at notes the boundary; another one is new input, with which the guard wakes up (section 6).
func (r *Run) at(boundary string) {
	if r.rs.Boundary != "" && boundary != "" && boundary != r.rs.Boundary {
		r.rs.Suppressed = false
	}
	r.rs.Boundary = boundary
}

// BeforeModel is called before every model call and returns the text to put at the very end of the request's last
// message (of a copy: it is never persisted), or "". With open items that is the block that lists them.
func (r *Run) BeforeModel(ctx context.Context, p Prompt) (string, error) {
	defer r.p.observers.drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rs.Ended {
		return "", nil
	}
	r.at(p.Boundary)
	if err := r.reload(ctx); err != nil {
		return "", r.trouble(ctx, err)
	}
	r.rs.Detached = false
	if !r.rs.Started {
		r.rs.Started = true
		r.rs.Stale = r.st.Stale // a run that was cut off left its count
		if r.st.Held != nil && r.st.RunID != r.rs.ID {
			r.rs.Superseded = append(r.rs.Superseded, *r.st.Held) // and an answer that it never delivered
		}
	}
	noteClosed(&r.rs, r.st.Todos)
	if err := r.dropDeadWait(ctx); err != nil {
		return "", r.trouble(ctx, err)
	}
	return r.tail(ctx, p), nil
}

// tail puts together what the model is shown, and notes it.
func (r *Run) tail(ctx context.Context, p Prompt) string {
	t, rs := &r.p.texts, &r.rs
	items := r.st.items()
	var parts []string
	corrects := false
	if rs.Options.CorrectionInTail && rs.Holding {
		parts = append(parts, fill(t.Kept, "$HELD", `"`+lineText(rs.Held)+`"`))
		if corrects = rs.Correction != ""; corrects { // the block stands with it, as it does behind a correction that is a message
			parts = append(parts, rs.Correction)
			rs.Correction = ""
		}
	}
	note := ""
	if rs.RemindDue && remindable(items, r.st.Wait.bound(rs, r.st.Revision)) {
		note = fill(t.Reminder, "$TURNS", fmt.Sprint(rs.Stale), "$TOOL", r.p.toolName())
	}
	rs.RemindDue = false
	seen := p.LastTool.Name != "" && rs.FullRev == r.st.Revision && rs.FullID == p.LastTool.ID && r.p.IsTool(p.LastTool.Name)
	switch block := renderBlock(t.Block, items, note); {
	case block == "":
	case seen && note == "" && !corrects:
		r.shown()
	default:
		parts = append(parts, block)
		r.shown()
		if note != "" {
			r.p.emit(ctx, Event{Kind: EventReminded, Session: rs.Session, RunID: rs.ID, Revision: r.st.Revision, Text: note})
		}
	}
	return strings.Join(parts, "\n\n")
}

// remindable reports whether an open item wants work now: not when all of them wait or are blocked.
func remindable(items []Item, waiting bool) bool {
	if waiting {
		return false
	}
	for i := range items {
		if items[i].Status == StatusNeedsReplan || actionable(items, i) {
			return true
		}
	}
	return false
}

// shown notes that the model sees the list at hand.
func (r *Run) shown() { r.rs.HasShown, r.rs.Shown, r.rs.ShownSum = true, r.st.Revision, r.st.sum() }

// AfterModel is called after every response of the model and before any of its tools runs, also after the response to a
// correction.
func (r *Run) AfterModel(ctx context.Context, resp Response) (Verdict, error) {
	defer r.p.observers.drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rs.Ended { // frameworks that stream may read a response to its end when the run is over already
		return Verdict{}, nil
	}
	if resp.Boundary != "" {
		r.at(resp.Boundary)
	}
	r.p.emit(ctx, Event{Kind: EventTurn, Session: r.rs.Session, RunID: r.rs.ID, Calls: slices.Clone(resp.Calls), Text: resp.Text, Revision: r.revision()})
	if !r.rs.Detached {
		if err := r.known(ctx); err != nil {
			if err = r.trouble(ctx, err); err != nil {
				return Verdict{}, err
			}
		}
	}
	var end *WaitOutcome
	for asked := false; r.st != nil; asked = true {
		if !asked && resp.final() && len(OpenItems(r.st.Todos)) > 0 && ctx.Err() == nil {
			var err error
			if end, err = r.finalWait(ctx); err != nil {
				return Verdict{}, r.trouble(ctx, err)
			}
			if err = r.known(ctx); err != nil {
				if err = r.trouble(ctx, err); err != nil {
					return Verdict{}, err
				}
				break
			}
		}
		if end != nil && !r.st.Wait.bound(&r.rs, r.st.Revision) {
			end = nil // another writer changed the list meanwhile
		}
		v, again, err := r.judge(ctx, resp, end)
		if err != nil {
			if err = r.trouble(ctx, err); err != nil {
				return Verdict{}, err
			}
			break
		}
		if !again {
			return v, nil
		}
	}
	// Without the list there is nothing to hold an answer back for.
	r.rs, _ = judgeTurn(&r.p.cfg, r.p.IsTool, r.rs, nil, resp, true)
	return Verdict{}, nil
}

// judge decides over the state at hand and saves what is to outlive the process. end, if not nil, is the host's word that
// the run may end on background work. again: another writer was first, decide anew.
func (r *Run) judge(ctx context.Context, resp Response, end *WaitOutcome) (v Verdict, again bool, err error) {
	open := OpenItems(r.st.Todos)
	quiet := r.p.cfg.NoGuard || !guardOn(ctx) || ctx.Err() != nil || end != nil
	rs, want := judgeTurn(&r.p.cfg, r.p.IsTool, r.rs, open, resp, quiet)
	rs.Waiting = end != nil
	writes := rs.Writes > 0 && !r.rs.Blocked // the write that is about to come saves the rest
	if end == nil && want == askNothing && (r.st.mirrors(&rs) || writes) || ctx.Err() != nil {
		r.rs = rs
		return Verdict{}, false, nil
	}
	next := r.st.clone()
	next.mirror(&rs)
	if end != nil {
		next.WaitOutcome = end
	}
	got, err := r.p.save(ctx, rs.Session, next, r.v, nil)
	if err != nil {
		return Verdict{}, false, err
	}
	r.st, r.v = got.st, got.v
	if got.conflict {
		return Verdict{}, true, nil
	}
	r.rs = rs
	if want == askNothing {
		return Verdict{}, false, nil
	}
	text := r.p.correction(want, rs.Options, open)
	r.rs.Correction = text
	kind := EventCorrected
	if want == askToExplain {
		kind = EventExplain
	}
	r.p.emit(ctx, Event{Kind: kind, Session: rs.Session, RunID: rs.ID, Revision: r.st.Revision, Text: text})
	return Verdict{Action: Correct, Message: text}, false, nil
}

// finalWait asks the host whether the run may end on the wait that is bound; nil: there is none, or the answer is no.
func (r *Run) finalWait(ctx context.Context) (*WaitOutcome, error) {
	w := r.st.Wait
	if r.p.cfg.ValidateWait == nil || !w.bound(&r.rs, r.st.Revision) {
		return nil, nil
	}
	st, boundary := r.st, r.rs.Boundary
	info := WaitInfo{Session: r.rs.Session, RunID: r.rs.ID, Boundary: boundary, Revision: st.Revision, Todos: st.items(), Final: true}
	prior := *w
	prior.Tasks, prior.Evidence = slices.Clone(w.Tasks), slices.Clone(w.Evidence)
	r.mu.Unlock()
	v, err := r.p.cfg.validateWait(ctx, prior.Tasks, info, &prior)
	r.mu.Lock()
	if err != nil {
		return nil, err
	}
	if r.rs.Boundary != boundary || r.st != st {
		return nil, nil
	}
	switch {
	case v.Status == WaitValid:
		return &WaitOutcome{Status: WaitValid, Reason: oneLine(v.Reason)}, nil
	case v.Status == WaitCancelled && strings.TrimSpace(v.Reason) != "":
		return &WaitOutcome{Status: WaitCancelled, Reason: oneLine(v.Reason)}, nil
	}
	return nil, nil
}

// dropDeadWait takes a binding that no longer holds out of the document, so that nothing can revive it.
func (r *Run) dropDeadWait(ctx context.Context) error {
	for r.st.Wait != nil && !r.st.Wait.bound(&r.rs, r.st.Revision) {
		next := r.st.clone()
		next.Wait = nil
		next.mirror(&r.rs)
		got, err := r.p.save(ctx, r.rs.Session, next, r.v, nil)
		if err != nil {
			return err
		}
		r.st, r.v = got.st, got.v
	}
	return nil
}

// Finish ends the run, for whatever reason, and returns the answer to deliver: o.Answer, the held answer or both
// (docs/design.md, section 6). It emits the end event once; a further call returns the same answer and does nothing. A run
// that was interrupted (EndInterrupted) has not ended: it emits run_paused and may go on, resumed from its state. A store that
// fails here costs no answer: the error comes with it. It does its work also under a done ctx.
func (r *Run) Finish(ctx context.Context, o Outcome) (string, error) {
	defer r.p.observers.drain()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rs.Ended {
		return r.rs.Answer, nil
	}
	if o.Reason == "" {
		o.Reason = reasonOf(o.Err)
	}
	answer, lost := finalAnswer(r.rs, o.Answer)
	if o.Reason == EndAnswered && r.rs.Waiting {
		o.Reason = EndWaiting
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	kind := EventRunPaused
	if o.Reason != EndInterrupted {
		kind = EventRunEnded
		r.rs.Ended, r.rs.Answer = true, answer
		r.rs.Holding, r.rs.Held, r.rs.Blocked = false, "", false
		err = r.clearMarks(ctx)
	}
	told := answer
	if !r.rs.Options.Delivered && (o.Reason == EndFailed || o.Reason == EndCancelled) && answer != "" {
		told, lost = "", append(lost, answer) // the caller gets the error
	}
	e := Event{Kind: kind, Session: r.rs.Session, RunID: r.rs.ID, Revision: r.revision(), Reason: o.Reason, Err: o.Err,
		Answer: told, Superseded: lost}
	if r.st != nil {
		e.Open = OpenItems(r.st.items())
	}
	r.p.emit(ctx, e)
	return answer, err
}

func reasonOf(err error) EndReason {
	switch {
	case err == nil:
		return EndAnswered
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return EndCancelled
	}
	return EndFailed
}

// clearMarks takes the held answer and the marks of a correction out of the document.
func (r *Run) clearMarks(ctx context.Context) error {
	if r.rs.Detached {
		return nil
	}
	if err := r.known(ctx); err != nil {
		return r.trouble(ctx, err)
	}
	for r.st.RunID == r.rs.ID && !r.st.mirrors(&r.rs) {
		next := r.st.clone()
		next.mirror(&r.rs)
		got, err := r.p.save(ctx, r.rs.Session, next, r.v, nil)
		if err != nil {
			return r.trouble(ctx, err)
		}
		r.st, r.v = got.st, got.v
	}
	return nil
}

// reload reads the state, unless the store has still the version at hand.
func (r *Run) reload(ctx context.Context) error {
	doc, v, err := r.p.store.Load(ctx, r.rs.Session)
	if err != nil {
		r.st = nil
		return fmt.Errorf("core: load %q: %w", r.rs.Session, err)
	}
	if r.st != nil && v == r.v {
		return nil
	}
	st, err := decodeState(doc)
	if err != nil {
		r.st = nil
		return fmt.Errorf("core: load %q: %w", r.rs.Session, err)
	}
	r.st, r.v = st, v
	return nil
}

// trouble decides on a store's error: nil is to go on without the list (docs/design.md, section 8).
func (r *Run) trouble(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	r.st, r.v = nil, ""
	if ctxErr := ctx.Err(); ctxErr != nil && errors.Is(err, ctxErr) || errors.Is(err, ErrConfig) || errors.Is(err, ErrEnded) || r.p.cfg.OnStoreError == nil {
		return err
	}
	if err = r.p.cfg.OnStoreError(ctx, err); err == nil {
		r.rs.Detached = true
	}
	return err
}

func (r *Run) revision() int64 {
	if r.st == nil {
		return 0
	}
	return r.st.Revision
}
