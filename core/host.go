package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Snapshot is what a session's document says.
type Snapshot struct {
	Todos       []Item       // in list order, with Failures and LastOutput filled in; nil: none
	Summary     Summary      // of Todos
	Revision    int64        // of the list; 0: there has been none
	Version     Version      // of the document in the store; "": there is none
	RunID       string       // the run that wrote last
	HeldAnswer  string       // an answer that a run held back and did not live to deliver; "": none
	Wait        *WaitBinding // the wait that is bound, if any
	WaitOutcome *WaitOutcome // how the last run that ended on a wait ended
}

// Open returns the open items, the one in progress first.
func (s Snapshot) Open() []Item { return OpenItems(s.Todos) }

// Next is the first actionable item, the one in progress before all others; ok is false if there is none. It never is an
// item whose chain of dependencies holds one that needs replanning (rule 8).
func (s Snapshot) Next() (it Item, ok bool) {
	if n := nextActionable(s.Todos); n != nil {
		return *n, true
	}
	return Item{}, false
}

func snapshot(st *state, v Version) Snapshot {
	s := Snapshot{Todos: st.items(), Revision: st.Revision, Version: v, RunID: st.RunID, WaitOutcome: st.WaitOutcome}
	s.Summary = Summarize(s.Todos)
	if st.Held != nil {
		s.HeldAnswer = *st.Held
	}
	if st.Wait != nil {
		w := *st.Wait
		w.Tasks, w.Evidence = slices.Clone(w.Tasks), slices.Clone(w.Evidence)
		s.Wait = &w
	}
	return s
}

// Get reads a session. One without a document gives the zero Snapshot and no error.
func (p *Planner) Get(ctx context.Context, session string) (Snapshot, error) {
	st, v, err := p.load(ctx, session)
	if err != nil {
		return Snapshot{}, err
	}
	return snapshot(st, v), nil
}

// Update changes a session's list on the host's behalf. edit gets a copy of the list and returns the list that is to be
// stored; an error of edit ends the update and is returned as it is. edit may be called several times: once more after each
// conflict with another writer. The host may set any status (no done-check runs, see [Planner.Finish]) and may drop items; the
// rest of the rules holds and is told as a *RuleError: contents, ids, limits, dependencies, never two in progress. A new item
// may leave its id and its status empty: it gets the next integer and pending. A list that is as before changes nothing.
func (p *Planner) Update(ctx context.Context, session string, edit func(todos []Item) ([]Item, error)) (Snapshot, error) {
	return p.change(ctx, session, func(prev *state) (*state, []CheckReport, error) {
		items, err := edit(prev.items())
		if err != nil {
			return nil, nil, err
		}
		next, err := p.hostList(prev, items)
		return next, nil, err
	})
}

// hostList judges a list of the host.
func (p *Planner) hostList(prev *state, items []Item) (*state, error) {
	r := p.rules(false)
	r.host, r.keepOpen = true, false
	w := write{items: make([]writeItem, len(items))}
	for i, it := range items {
		it.Content = oneLine(it.Content)
		def(&it.Status, StatusPending)
		if !slices.Contains(Statuses(), it.Status) {
			return nil, refuse(CodeBadStatus, it.ID, "The status of %s is %q. Want one of %q.", itemName(i), it.Status, Statuses())
		}
		has := hasContent | hasStatus | hasDeps
		if it.ID != "" {
			has |= hasID
		}
		it.Failures, it.LastOutput = 0, ""
		w.items[i] = writeItem{has: has, item: it, status: string(it.Status)}
	}
	next, _, bad := apply(r, prev, w)
	if bad != nil {
		return nil, bad
	}
	return next, nil
}

// change is the loop behind every host edit: load, decide, save with compare-and-set, again after a conflict.
func (p *Planner) change(ctx context.Context, session string, step func(prev *state) (*state, []CheckReport, error)) (Snapshot, error) {
	defer p.observers.drain()
	prev, v, err := p.load(ctx, session)
	if err != nil {
		return Snapshot{}, err
	}
	for {
		next, checks, err := step(prev)
		if err != nil {
			return snapshot(prev, v), err
		}
		listed := !equalLists(prev.Todos, next.Todos)
		if !listed && len(prev.Checks) == len(next.Checks) && len(checks) == 0 {
			return snapshot(prev, v), nil
		}
		var e *Event
		if listed { // else only the ledger of checks is another one
			next.Revision = prev.Revision + 1
			rep := compare(prev, next)
			e = &Event{Kind: EventListChanged, Session: session, Revision: next.Revision, Todos: next.items(),
				Dropped: rep.dropped, Reopened: rep.reopened, Checks: checks}
		} else if len(checks) > 0 {
			e = &Event{Kind: EventChecked, Session: session, Revision: next.Revision, Checks: checks}
		}
		got, err := p.save(ctx, session, next, v, e)
		if err != nil {
			return Snapshot{}, err
		}
		prev, v = got.st, got.v
		if !got.conflict {
			return snapshot(prev, v), nil
		}
	}
}

// Clear deletes a session's document: list, failures of checks, everything. Clearing what is not there is no error. It is told as
// a list_changed event of an empty list with the revision 0, whether or not there was one.
func (p *Planner) Clear(ctx context.Context, session string) error {
	if session == "" {
		return fmt.Errorf("core: clear: %w", ErrNoSession)
	}
	defer p.observers.drain()
	unlock := p.locks.lock(session)
	defer unlock()
	if err := p.store.Delete(ctx, session); err != nil {
		return fmt.Errorf("core: clear %q: %w", session, err)
	}
	p.emit(ctx, Event{Kind: EventListChanged, Session: session})
	return nil
}

// NextPending is the first pending item in list order, whether or not it is blocked; ok is false if there is none.
func (p *Planner) NextPending(ctx context.Context, session string) (it Item, ok bool, err error) {
	s, err := p.Get(ctx, session)
	for i := range s.Todos {
		if s.Todos[i].Status == StatusPending {
			return s.Todos[i], true, err
		}
	}
	return Item{}, false, err
}

// NextActionable is [Snapshot.Next] of the session.
func (p *Planner) NextActionable(ctx context.Context, session string) (it Item, ok bool, err error) {
	s, err := p.Get(ctx, session)
	it, ok = s.Next()
	return it, ok, err
}

// Start puts an item in progress. It refuses, as a *RuleError, a second one, an item that is blocked, closed or needs
// replanning, and an unknown id. Starting the item in progress changes nothing.
func (p *Planner) Start(ctx context.Context, session, id string) (Snapshot, error) {
	return p.change(ctx, session, func(prev *state) (*state, []CheckReport, error) {
		next, it, err := prev.edit(id)
		if err != nil {
			return nil, nil, err
		}
		switch it.Status {
		case StatusNeedsReplan:
			return nil, nil, refuse(CodeNeedsReplan, id, "Item %s needs replanning before it can start.", id)
		case StatusCompleted, StatusCancelled:
			return nil, nil, refuse(CodeBadStatus, id, "Item %s is %s and cannot start.", id, it.Status)
		}
		it.Status = StatusInProgress
		if bad := p.judgeEdit(prev, next); bad != nil {
			return nil, nil, bad
		}
		return next, nil, nil
	})
}

// Finish completes an item, subject to its done-check: the check runs once, with no lock held, and what it says is in the
// reports and in the item that the Snapshot shows. A failed check is no error. It refuses, as a *RuleError, an item that
// is blocked, cancelled or needs replanning, and an unknown id. Finishing a completed item changes nothing.
func (p *Planner) Finish(ctx context.Context, session, id string) (Snapshot, []CheckReport, error) {
	var outcomes map[string]CheckReport
	var checked string // the content that outcomes speak of
	var out []CheckReport
	s, err := p.change(ctx, session, func(prev *state) (*state, []CheckReport, error) {
		next, it, err := prev.edit(id)
		if err != nil {
			return nil, nil, err
		}
		switch it.Status {
		case StatusNeedsReplan:
			return nil, nil, refuse(CodeNeedsReplan, id, "Item %s needs replanning before it can be completed.", id)
		case StatusCancelled:
			return nil, nil, refuse(CodeBadStatus, id, "Item %s is cancelled and cannot be completed.", id)
		case StatusCompleted:
			return next, nil, nil
		}
		it.Status = StatusCompleted
		if bad := p.judgeEdit(prev, next); bad != nil {
			return nil, nil, bad
		}
		if outcomes == nil || checked != it.Content {
			checked = it.Content
			outcomes = p.cfg.runChecks(ctx, next.items(), []string{id})
			if err := ctx.Err(); err != nil {
				return nil, nil, fmt.Errorf("core: finish %q: %w", id, err)
			}
		}
		next, out = settle(p.rules(false), prev, next, outcomes)
		return next, out, nil
	})
	return s, out, err
}

// Replan gives an item that needs replanning (or any open item) a new content and makes it pending. The host has the last word:
// its failures start at zero, also when the content is the old one.
func (p *Planner) Replan(ctx context.Context, session, id, content string) (Snapshot, error) {
	content = oneLine(content)
	return p.change(ctx, session, func(prev *state) (*state, []CheckReport, error) {
		next, it, err := prev.edit(id)
		if err != nil {
			return nil, nil, err
		}
		if !it.Open() {
			return nil, nil, refuse(CodeBadStatus, id, "Item %s is %s: only an open item can be replanned.", id, it.Status)
		}
		it.Content, it.Status = content, StatusPending
		if bad := checkFields(p.rules(false), writeItem{has: hasID | hasContent, item: *it}, find(next.Todos, id), 0); bad != nil {
			return nil, nil, bad
		}
		delete(next.Checks, contentKey(content)) // next is a copy
		if bad := p.judgeEdit(prev, next); bad != nil {
			return nil, nil, bad
		}
		return next, nil, nil
	})
}

// edit returns a copy of the state and the item in it.
func (s *state) edit(id string) (*state, *Item, error) {
	next := s.clone()
	i := find(next.Todos, id)
	if i < 0 {
		return nil, nil, unknownTask(s.Todos, id)
	}
	return next, &next.Todos[i], nil
}

func (p *Planner) judgeEdit(prev, next *state) error {
	r := p.rules(false)
	r.host = true
	if bad := judge(r, prev, next); bad != nil {
		return bad
	}
	return nil
}

// ListUpdate is one revision of a list, as [Planner.Watch] reports it.
type ListUpdate struct {
	Snapshot
	Token string // hand it to Watch to continue behind this update; "" where the store cannot resume
	Err   error  // the watch ended by this error; no other field is set
}

// Watch reports a session's list: what it is now, then every change, also those of other processes, until ctx is done;
// then the channel is closed. With a token it continues behind that update. Revisions only grow, but for a list that was
// cleared; where changes come faster than they are read, only the newest need be seen. A consumer that stops reading delays
// nobody. It wants a store that is a [Watcher]: others give errors.ErrUnsupported.
func (p *Planner) Watch(ctx context.Context, session, token string) (<-chan ListUpdate, error) {
	w, ok := p.store.(Watcher)
	if !ok {
		return nil, fmt.Errorf("core: watch %q: %T is no Watcher: %w", session, p.store, errors.ErrUnsupported)
	}
	ctx, cancel := context.WithCancel(ctx) // the store's watch ends with this one, also where that ends by an error
	changes, err := w.Watch(ctx, session, token)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("core: watch %q: %w", session, err)
	}
	out := make(chan ListUpdate)
	go func() {
		defer close(out)
		defer cancel()
		last, first := int64(-1), token == ""
		for c := range changes {
			u, err := p.listUpdate(ctx, session, c)
			switch {
			case err != nil && ctx.Err() != nil:
				return
			case err != nil:
				u = ListUpdate{Err: err}
			case u.Revision == last && !first:
				continue
			}
			first, last = false, u.Revision
			select {
			case out <- u:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out, nil
}

func (p *Planner) listUpdate(ctx context.Context, session string, c Change) (ListUpdate, error) {
	if c.Err != nil {
		return ListUpdate{}, c.Err
	}
	var st *state
	var err error
	v := c.Version
	switch {
	case c.Snapshot:
		st, err = decodeState(c.Doc)
	case c.Version == "":
		st, err = decodeState(nil)
	default:
		st, v, err = p.load(ctx, session)
	}
	if err != nil {
		return ListUpdate{}, err
	}
	return ListUpdate{Snapshot: snapshot(st, v), Token: c.Token}, nil
}
