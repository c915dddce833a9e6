package core

// Held returns the held answer if it is all that is left to say: since the correction nothing but our own tools ran, and no
// item is open any more. An adapter whose caller has not seen that answer may then end the run with it and save the model call
// that would only say that the list is updated (docs/design.md, section 6). It does no I/O: after a [Planner.Resume] it says no
// until the list was read.
func (r *Run) Held() (answer string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rs := &r.rs
	if !rs.Holding || !rs.TodoSince || rs.OtherSince || rs.Blocked || r.st == nil || len(OpenItems(r.st.Todos)) > 0 {
		return "", false
	}
	return rs.Held, true
}

// MayHold reports whether an answer that came now could be held back or give way to a held one: items are open, or an answer is
// held already. An adapter that passes streams on live holds this turn's text back while it is true. It does no I/O and speaks
// of the list that the last seam saw: after a [Planner.Resume], and before the first BeforeModel, it says yes, since it cannot
// know.
func (r *Run) MayHold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.rs.Holding:
		return true
	case r.p.cfg.NoGuard || r.rs.Detached:
		return false
	}
	return r.st == nil || len(OpenItems(r.st.Todos)) > 0
}
