package einoadapter

import (
	"context"
	"fmt"
	"reflect"

	"github.com/todoguard/todoguard/core"
)

// Replay says whether a run ends with the full answer when the guard held one back (docs/design.md, section 6). The ADK
// delivers answers as they are made, so a user has seen it. A caller that takes the LAST text (an agent tool, OutputKey) gets
// "List updated." instead.
type Replay string

const (
	// ReplayNested replays where the agent runs as a tool of another agent; the default.
	ReplayNested Replay = "nested"
	// ReplayAlways replays at the root too: right for a host that keeps only the last text.
	ReplayAlways Replay = "always"
	// ReplayNever never replays.
	ReplayNever Replay = "never"
)

// Config configures the ADK middleware. The zero value works: a planner with the defaults of [core.Config], the session id
// from [core.WithSession].
type Config struct {
	// Config makes the planner. Its names and defaults are core's. It must be zero if Planner is set.
	core.Config
	// Planner is a planner that the host shares with its own reads and edits. nil: a new one made of Config.
	Planner *core.Planner

	// Session gives the session id of a run; "" is core.ErrNoSession. nil: core.SessionFrom. It is called once a run and once
	// a resume, with the ctx that the run was started with.
	Session func(ctx context.Context) string

	// Nested gives an agent that runs inside another one with a todo list (agent tool, deep's general agent) a list of its
	// own, with reminder and guard, under the session id that it returns; session is the enclosing agent's and must not be
	// returned. "" leaves that agent alone. nil: a nested agent is left alone, unless the ctx that it is started with has a
	// session of its own (core.WithSession in the host's tool).
	Nested func(ctx context.Context, session string) string

	// Replay says whether a run ends with a held answer. "": ReplayNested.
	Replay Replay

	// MaxIterations is the agent's own limit. It is needed for *schema.AgenticMessage agents only, whose count eino does not
	// tell: where no iteration is left, nothing is corrected. 0: what Attach finds in the agent's config, else eino's 20.
	MaxIterations int
}

// complete checks the configuration and fills in what it leaves open. The error names the field.
func (c Config) complete() (Config, error) {
	switch {
	case c.Planner != nil && !reflect.ValueOf(c.Config).IsZero():
		return c, fmt.Errorf("einoadapter: Config.Planner and Config.Config are both set, want one of them")
	case c.MaxIterations < 0:
		return c, fmt.Errorf("einoadapter: Config.MaxIterations is %d, want 0 (the agent's) or more", c.MaxIterations)
	}
	switch c.Replay {
	case "":
		c.Replay = ReplayNested
	case ReplayNested, ReplayAlways, ReplayNever:
	default:
		return c, fmt.Errorf("einoadapter: Config.Replay is %q, want one of %q", c.Replay, []Replay{ReplayNested, ReplayAlways, ReplayNever})
	}
	if c.MaxIterations == 0 {
		c.MaxIterations = einoIterations
	}
	if c.Planner == nil {
		p, err := core.New(c.Config)
		if err != nil {
			return c, fmt.Errorf("einoadapter: %w", err)
		}
		c.Planner = p
	}
	return c, nil
}

// einoIterations is what eino takes for an agent's MaxIterations of 0.
const einoIterations = 20

// sessionOf is the session id of a run that is no other's.
func (c *Config) sessionOf(ctx context.Context) (string, error) {
	var id string
	if c.Session != nil {
		id = c.Session(ctx)
	} else {
		id, _ = core.SessionFrom(ctx)
	}
	if id == "" {
		return "", fmt.Errorf("einoadapter: %w: put one into the ctx of the run with core.WithSession, or set Config.Session", core.ErrNoSession)
	}
	return id, nil
}

// nestedSession is the session id of a run inside another; "" leaves it alone.
func (c *Config) nestedSession(ctx context.Context, outer string) (string, error) {
	if c.Nested == nil {
		id, err := c.sessionOf(ctx)
		if err != nil || id == outer {
			return "", nil
		}
		return id, nil
	}
	id := c.Nested(ctx, outer)
	if id == outer {
		return "", fmt.Errorf("einoadapter: Config.Nested returned %q, the enclosing agent's session, want another one or none", id)
	}
	return id, nil
}
