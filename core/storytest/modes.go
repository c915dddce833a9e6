package storytest

import (
	"context"

	"github.com/todoguard/todoguard/core"
)

// Mode is how the model writes (docs/design.md, section 10). In the modes beside ModeReplace the runner translates a
// story's whole-list writes.
type Mode string

const (
	ModeReplace Mode = "replace"
	ModeMerge   Mode = "merge"
	ModeTasks   Mode = "tasks"
)

func (m Mode) configure(c *core.Config)  {}
func (m Mode) cannot(s *Story) string    { return "" }
func (m Mode) ownResults() bool          { return m != ModeReplace }
func (m Mode) rename(name string) string { return name }

type translator struct{ play *play }

func (tr *translator) rewrite(_ context.Context, r Reply) (Reply, error) { return r, nil }
func (tr *translator) addMade(made map[string]bool)                      {}
