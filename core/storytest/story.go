package storytest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/todoguard/todoguard/core"
)

//go:embed stories/*.txtar
var builtin embed.FS

// Story is one txtar file, parsed.
type Story struct {
	Name   string // file name without .txtar
	Title  string // the first lines
	Config storyConfig
	Start  json.RawMessage // stored document before the first run; nil: none
	Runs   []StoryRun
	Tools  map[string]string // other tools and their fixed results
	Checks map[string][]string
	Waits  []storyWait // nil: no validator
	Expect expectation
	Stored *string // nil: not checked
	Seen   *string // nil: not checked

	path    string // on disk; "" for a built-in one
	archive *txtar.Archive
}

// StoryRun is one run of a story.
type StoryRun struct {
	Input   string
	Replies []Reply
	Answer  *string // nil: not checked
}

type storyConfig struct {
	StaleAfter    *int   `json:"stale_after"`
	StaleEvery    *int   `json:"stale_every"`
	MaxItems      int    `json:"max_items"`
	MaxContent    int    `json:"max_content"`
	MaxFailures   int    `json:"max_failures"`
	OnExhausted   string `json:"on_exhausted"`
	Arm           string `json:"arm"`
	Dependencies  bool   `json:"dependencies"`
	KeepOpenItems bool   `json:"keep_open_items"`
}

type storyWait struct {
	Status     string          `json:"status"`
	Reason     string          `json:"reason"`
	Validation json.RawMessage `json:"validation"`
}

type expectation struct {
	ModelCalls      *int                       `json:"model_calls"`
	Corrections     *int                       `json:"corrections"`
	Reminders       *int                       `json:"reminders"`
	RemindedBefore  []int                      `json:"reminded_before"`
	Results         map[string]string          `json:"results"`
	ResultContains  map[string][]string        `json:"result_contains"`
	StoredAfter     map[string]string          `json:"stored_after"`
	Revisions       *int64                     `json:"revisions"`
	Shown           map[string][]string        `json:"shown"`
	Hidden          map[string][]string        `json:"hidden"`
	TailLinesMax    map[string]int             `json:"tail_lines_max"`
	CorrectionNames []string                   `json:"correction_names"`
	CheckRuns       map[string]int             `json:"check_runs"`
	State           map[string]json.RawMessage `json:"state"`
	End             *struct {
		Open *int `json:"open"`
	} `json:"end"`
}

// Builtin returns the stories that come with the package, by name.
func Builtin() ([]*Story, error) {
	sub, err := fs.Sub(builtin, "stories")
	if err != nil {
		return nil, err
	}
	return readAll(sub, "")
}

// ReadDir returns the stories of a folder, by name. A folder without any is an error.
func ReadDir(dir string) ([]*Story, error) {
	stories, err := readAll(os.DirFS(dir), dir)
	if err == nil && len(stories) == 0 {
		err = fmt.Errorf("storytest: no .txtar file in %s", dir)
	}
	return stories, err
}

func readAll(fsys fs.FS, dir string) ([]*Story, error) {
	names, err := fs.Glob(fsys, "*.txtar")
	if err != nil {
		return nil, err
	}
	if dir != "" {
		if _, err := fs.Stat(fsys, "."); err != nil {
			return nil, fmt.Errorf("storytest: %s: %w", dir, err)
		}
	}
	var out []*Story
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimSuffix(name, ".txtar"), data)
		if err != nil {
			return nil, err
		}
		if dir != "" {
			s.path = filepath.Join(dir, name)
		}
		out = append(out, s)
	}
	return out, nil
}

// Parse reads one story. Unknown sections and keys are errors.
func Parse(name string, data []byte) (*Story, error) {
	a := txtar.Parse(data)
	s := &Story{Name: name, Title: strings.TrimSpace(string(a.Comment)), archive: a}
	seen := map[string]bool{}
	for _, f := range a.Files {
		if seen[f.Name] {
			return nil, fmt.Errorf("storytest: %s: the section %q stands twice", name, f.Name)
		}
		seen[f.Name] = true
		if err := s.section(f.Name, f.Data); err != nil {
			return nil, fmt.Errorf("storytest: %s: section %q: %w", name, f.Name, err)
		}
	}
	for i, r := range s.Runs {
		if r.Input == "" || len(r.Replies) == 0 {
			return nil, fmt.Errorf("storytest: %s: run %d wants both an input and replies", name, i+1)
		}
	}
	if len(s.Runs) == 0 {
		return nil, fmt.Errorf("storytest: %s: no input", name)
	}
	return s, nil
}

func (s *Story) section(name string, data []byte) error {
	kind, n := name, 1
	if base, num, ok := strings.Cut(name, " "); ok {
		var err error
		if n, err = strconv.Atoi(num); err != nil || n < 2 || n > 99 || !slices.Contains([]string{"input", "replies", "answer"}, base) {
			return fmt.Errorf("unknown section")
		}
		kind = base
	}
	run := func() *StoryRun {
		for len(s.Runs) < n {
			s.Runs = append(s.Runs, StoryRun{})
		}
		return &s.Runs[n-1]
	}
	text := strings.TrimSpace(string(data))
	switch kind {
	case "config":
		return strict(data, &s.Config)
	case "start":
		s.Start = json.RawMessage(text)
		if !json.Valid(s.Start) {
			return fmt.Errorf("not JSON")
		}
	case "input":
		run().Input = text
	case "replies":
		for _, line := range strings.Split(text, "\n") {
			if strings.TrimSpace(line) == "" {
				continue
			}
			r, err := parseReply(line)
			if err != nil {
				return err
			}
			run().Replies = append(run().Replies, r)
		}
	case "tools":
		return strict(data, &s.Tools)
	case "checks":
		return strict(data, &s.Checks)
	case "waits":
		s.Waits = []storyWait{}
		return strict(data, &s.Waits)
	case "expect":
		return strict(data, &s.Expect)
	case "answer":
		run().Answer = &text
	case "stored":
		s.Stored = &text
	case "seen":
		s.Seen = &text
	default:
		return fmt.Errorf("unknown section")
	}
	return nil
}

func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("more than one JSON value")
	}
	return nil
}

// parseReply reads one line of replies. args may be an object or a string, which is passed on byte for byte.
func parseReply(line string) (Reply, error) {
	var raw struct {
		Text  string `json:"text"`
		Calls []struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"calls"`
	}
	if err := strict([]byte(line), &raw); err != nil {
		return Reply{}, err
	}
	r := Reply{Text: raw.Text}
	for _, c := range raw.Calls {
		args := string(c.Args)
		if len(c.Args) > 0 && c.Args[0] == '"' {
			if err := json.Unmarshal(c.Args, &args); err != nil {
				return Reply{}, err
			}
		}
		r.Calls = append(r.Calls, core.Call{ID: c.ID, Name: c.Name, Args: args})
	}
	return r, nil
}

// What a story asks of a surface beyond the ordinary, for Surface.Cannot.
const (
	// ParallelCalls: a response holds several tool calls.
	ParallelCalls = "several calls in one response"
	// TextWithCalls: a response holds text and tool calls.
	TextWithCalls = "text beside tool calls"
)

// traits lists what the story asks of a surface.
func (s *Story) traits() []string {
	var out []string
	for _, run := range s.Runs {
		for _, r := range run.Replies {
			if len(r.Calls) > 1 && !slices.Contains(out, ParallelCalls) {
				out = append(out, ParallelCalls)
			}
			if len(r.Calls) > 0 && r.Text != "" && !slices.Contains(out, TextWithCalls) {
				out = append(out, TextWithCalls)
			}
		}
	}
	return out
}

func (s *Story) coreConfig() core.Config {
	c := core.Config{
		Limits:        core.Limits{Items: s.Config.MaxItems, Content: s.Config.MaxContent},
		MaxFailures:   s.Config.MaxFailures,
		OnExhausted:   core.Exhausted(s.Config.OnExhausted),
		Arm:           core.Arm(s.Config.Arm),
		Dependencies:  s.Config.Dependencies,
		KeepOpenItems: s.Config.KeepOpenItems,
	}
	if s.Config.StaleAfter != nil || s.Config.StaleEvery != nil {
		c.Reminder = &core.Reminder{After: 5, Every: 5}
		if s.Config.StaleAfter != nil {
			c.Reminder.After = *s.Config.StaleAfter
		}
		if s.Config.StaleEvery != nil {
			c.Reminder.Every = *s.Config.StaleEvery
		}
	}
	return c
}
