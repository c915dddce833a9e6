package storytest

// Spoil changes every request before the script sees it, for the runner's own tests.
func Spoil(s *Script, request func([]Message) []Message) { s.spoil = request }
