package storytest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/todoguard/todoguard/core"
)

// Tool is a tool beside the todo tools, with a fixed result. It takes any object.
type Tool struct{ Name, Result string }

// Env is what a surface needs to play one run.
type Env struct {
	Config  core.Config // for a planner of the run's own: each run is a new process
	Session string      // also in ctx, by core.WithSession
	Input   string      // what the user says
	Model   *Script
	Tools   []Tool
}

// Got is what came of a run.
type Got struct {
	Answer string // what the caller gets
	// Delivered are the assistant texts that reached the user as events, in order, on a surface that delivers them. The
	// answer must then stand among them exactly once. nil: Answer is what counts.
	Delivered []string
}

// Surface is one way in which a framework runs an agent.
type Surface struct {
	Name string
	// Play builds a planner and an agent from env.Config and runs env.Input. An error fails the story.
	Play func(ctx context.Context, t testing.TB, env Env) (Got, error)
	// Cannot says what the surface cannot do and why: a trait of stories ([ParallelCalls], [TextWithCalls]) to a reason. Such stories
	// are not run on it.
	Cannot map[string]string
	// Golden: the surface shows requests as the "seen" sections tell them. Those are checked on such surfaces alone.
	Golden bool
}

// Options of [Run].
type Options struct {
	// Stores makes the store of a story, by name. nil: a core.MemoryStore.
	Stores map[string]func(testing.TB) core.Store
	// Modes are the ways in which the model writes. nil: as the stories are told, by whole lists.
	Modes []Mode
	// Timeout of one story; 0: 30 seconds.
	Timeout time.Duration
}

// NotYet names the built-in stories whose feature is still to come, and what brings it. A story here must fail on core: one that
// passes must leave the table.
var NotYet = map[string]string{}

// Run replays the built-in stories, and those of TODOGUARD_STORIES, on the surfaces: a subtest per store, mode, surface and story.
func Run(t *testing.T, o Options, surfaces ...Surface) {
	t.Helper()
	stories, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("TODOGUARD_STORIES"); dir != "" {
		more, err := ReadDir(fromRoot(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range more {
			if i := slices.IndexFunc(stories, func(b *Story) bool { return b.Name == s.Name }); i >= 0 {
				stories[i] = s // a folder's story takes the place of the built-in one with its name
				continue
			}
			stories = append(stories, s)
		}
	}
	if o.Stores == nil {
		o.Stores = map[string]func(testing.TB) core.Store{"memory": func(testing.TB) core.Store { return core.NewMemoryStore() }}
	}
	if o.Modes == nil {
		o.Modes = []Mode{ModeReplace}
	}
	for _, store := range slices.Sorted(maps.Keys(o.Stores)) {
		for _, mode := range o.Modes {
			for _, sf := range surfaces {
				name := sf.Name
				if len(o.Stores) > 1 || store != "memory" {
					name += "/" + store
				}
				if mode != ModeReplace {
					name += "/" + string(mode)
				}
				t.Run(name, func(t *testing.T) {
					for _, s := range stories {
						runOne(t, o, s, sf, mode, o.Stores[store])
					}
				})
			}
		}
	}
}

// fromRoot reads a relative folder from the root of the module, where go test was likely called: a test itself runs in the
// folder of its package.
func fromRoot(dir string) string {
	if filepath.IsAbs(dir) {
		return dir
	}
	for root, err := os.Getwd(); err == nil; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			if d := filepath.Join(root, dir); isDir(d) {
				return d
			}
			return dir
		}
		if root == filepath.Dir(root) {
			break
		}
	}
	return dir
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func runOne(t *testing.T, o Options, s *Story, sf Surface, mode Mode, store func(testing.TB) core.Store) {
	if why := NotYet[s.Name]; why != "" && s.path == "" {
		t.Logf("%s: not yet: %s", s.Name, why)
		return
	}
	if s.path != "" && mode != ModeReplace && os.Getenv("TODOGUARD_MODES") != "all" {
		return // a story of one's own is told by whole lists, and may be about them
	}
	if why := s.CannotOn(sf, mode); why != "" {
		t.Logf("%s: not on %s: %s", s.Name, sf.Name, why)
		return
	}
	t.Run(s.Name, func(t *testing.T) {
		timeout := o.Timeout
		if timeout == 0 {
			timeout = 30 * time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		for _, problem := range Play(ctx, t, s, sf, mode, store(t)).Problems {
			t.Error(problem)
		}
	})
}

// CannotOn says why the story is not told on a surface in a mode, or "".
func (s *Story) CannotOn(sf Surface, mode Mode) string {
	for _, trait := range s.traits() {
		if why, ok := sf.Cannot[trait]; ok {
			return trait + ": " + why
		}
	}
	if mode == ModeTasks {
		if why, ok := sf.Cannot[ParallelCalls]; ok { // one write becomes several calls
			return "task tools in one response: " + why
		}
	}
	return mode.cannot(s)
}
