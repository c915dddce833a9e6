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
