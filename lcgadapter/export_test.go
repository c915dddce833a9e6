package lcgadapter

// SharedRuns is how many turns with several todo calls are under way.
func (a *Agent) SharedRuns() int {
	s := &a.plugin.shared
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs)
}
