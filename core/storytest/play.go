package storytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/todoguard/todoguard/core"
)

// Record is what a story came to on a surface.
type Record struct {
	Problems    []string // what differs from the story; none: it holds
	Requests    [][]Message
	Results     map[string]string // call id to tool result
	Corrections []string
	Reminded    []int // numbers of the requests that carried a reminder
	Stored      string
	Answers     []string
	Ends        []core.Event
}

// Play replays one story on a surface and compares. Run is what tests call; Play is for those that compare surfaces.
func Play(ctx context.Context, t testing.TB, s *Story, sf Surface, mode Mode, store core.Store) *Record {
	p := &play{story: s, surface: sf, mode: mode, store: store, session: "story/" + s.Name, checkRuns: map[string]int{}, after: map[string]string{}, ids: map[string]string{}}
	p.rec.Results = map[string]string{}
	p.run(ctx, t)
	p.compare(ctx)
	return &p.rec
}

// play is one story under way.
type play struct {
	story   *Story
	surface Surface
	mode    Mode
	store   core.Store
	session string
	rec     Record

	mu        sync.Mutex
	events    []core.Event
	checkRuns map[string]int
	waits     int
	after     map[string]string // call id to the list after it
	ids       map[string]string // task mode: the story's ids to those that the tool gave
}

func (p *play) problem(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Problems = append(p.rec.Problems, fmt.Sprintf(format, args...))
}

func (p *play) run(ctx context.Context, t testing.TB) {
	if p.story.Start != nil {
		if _, err := p.store.Save(ctx, p.session, p.story.Start, ""); err != nil {
			p.problem("start: %v", err)
			return
		}
	}
	ctx = core.WithSession(ctx, p.session)
	for i, run := range p.story.Runs {
		tr := &translator{play: p}
		script := &Script{replies: run.Replies}
		script.before = func(ctx context.Context, given int) {
			if given > 0 {
				p.noteAfter(ctx, run.Replies[given-1])
			}
		}
		if p.mode != ModeReplace {
			script.rewrite = func(ctx context.Context, r Reply) (Reply, error) { return tr.rewrite(p.items(ctx), r) }
		}
		cfg := p.config()
		p.mode.configure(&cfg)
		ends := p.count(core.EventRunEnded)
		got, err := p.surface.Play(ctx, t, Env{Config: cfg, Session: p.session, Input: run.Input, Model: script, Tools: p.tools()})
		if err != nil {
			p.problem("run %d: %v", i+1, err)
		}
		if script.next > 0 {
			p.noteAfter(ctx, run.Replies[script.next-1])
		}
		if left := len(run.Replies) - script.next; left > 0 {
			p.problem("run %d: %d of %d replies were not asked for", i+1, left, len(run.Replies))
		}
		if n := p.count(core.EventRunEnded) - ends; n != 1 {
			p.problem("run %d: %d end-of-run events, want 1", i+1, n)
		}
		p.requests(i, run, tr, script.requests)
		p.answer(i, run, got)
	}
}

// config is the story's configuration, with its store, checks, validator and a witness of the events.
func (p *play) config() core.Config {
	cfg := p.story.coreConfig()
	cfg.Store = p.store
	cfg.OnEvent = func(_ context.Context, e core.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, e)
	}
	if p.story.Checks != nil {
		cfg.Checks = p.checker
	}
	if p.story.Waits != nil {
		cfg.ValidateWait = p.validateWait
	}
	return cfg
}

func (p *play) checker(it core.Item) core.Check {
	it.ID = p.storyID(it.ID)
	outcomes, ok := p.story.Checks[it.ID]
	if !ok {
		return nil
	}
	return func(context.Context, core.Item) core.CheckResult {
		p.mu.Lock()
		n := p.checkRuns[it.ID]
		p.checkRuns[it.ID]++
		p.mu.Unlock()
		if len(outcomes) == 0 {
			return core.CheckResult{}
		}
		outcome := outcomes[min(n, len(outcomes)-1)] // the last one stands for all that follow; check_runs counts
		kind, out, _ := strings.Cut(outcome, ":")
		switch out = strings.TrimSpace(out); kind {
		case "pass":
			return core.CheckResult{Status: core.CheckPassed, Output: out}
		case "fail":
			return core.CheckResult{Status: core.CheckFailed, Output: out}
		case string(core.CheckNotRun), string(core.CheckTimed):
			return core.CheckResult{Status: core.CheckStatus(kind), Output: out}
		}
		p.problem("the outcome %q of item %s: want pass, fail, could not run or timed out", outcome, it.ID)
		return core.CheckResult{}
	}
}

func (p *play) validateWait(_ context.Context, _ []string, _ core.WaitInfo, prior *core.WaitBinding) (core.WaitValidation, error) {
	p.mu.Lock()
	n := p.waits
	p.waits++
	p.mu.Unlock()
	if len(p.story.Waits) == 0 {
		return core.WaitValidation{}, errors.New("the story has no outcome")
	}
	w := p.story.Waits[min(n, len(p.story.Waits)-1)] // the last one stands for all that follow
	return core.WaitValidation{Status: core.WaitStatus(w.Status), Reason: w.Reason, Evidence: w.Validation}, nil
}

func (p *play) tools() []Tool {
	var out []Tool
	for _, name := range slices.Sorted(maps.Keys(p.story.Tools)) {
		out = append(out, Tool{name, p.story.Tools[name]})
	}
	return out
}

func (p *play) count(kind core.EventKind) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// noteAfter keeps the list as it is after the calls of a reply.
func (p *play) noteAfter(ctx context.Context, r Reply) {
	list := p.list(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range r.Calls {
		if _, ok := p.after[c.ID]; !ok {
			p.after[c.ID] = list
		}
	}
}

// doc is the stored document as plain JSON.
func (p *play) doc(ctx context.Context) map[string]json.RawMessage {
	doc, _, err := p.store.Load(ctx, p.session)
	if err != nil {
		p.problem("load: %v", err)
		return nil
	}
	var m map[string]json.RawMessage
	if doc != nil {
		if err := json.Unmarshal(doc, &m); err != nil {
			p.problem("the stored document: %v", err)
		}
	}
	return m
}

// items is the stored list.
func (p *play) items(ctx context.Context) []core.Item {
	var items []core.Item
	if raw, ok := p.doc(ctx)["todos"]; ok {
		if err := json.Unmarshal(raw, &items); err != nil {
			p.problem("the stored list: %v", err)
		}
	}
	return items
}

// list is the stored list, a line an item, as the stories write it.
func (p *play) list(ctx context.Context) string {
	var b strings.Builder
	for _, it := range p.items(ctx) {
		fmt.Fprintf(&b, "%s %s %s\n", p.storyID(it.ID), it.Status, it.Content)
	}
	return strings.TrimSpace(b.String())
}

// requests judges what the model of one run was sent, and reads the tool results from it.
func (p *play) requests(i int, run StoryRun, tr *translator, reqs [][]Message) {
	made := map[string]bool{}
	for _, r := range run.Replies {
		for _, c := range r.Calls {
			made[c.ID] = true
		}
	}
	tr.addMade(made)
	for n, req := range reqs {
		number := len(p.rec.Requests) + 1
		for _, problem := range validate(req, made) {
			p.problem("request %d: %s", number, problem)
		}
		if n > 0 {
			if d := prefix(reqs[n-1], req); d != "" {
				p.problem("request %d %s", number, d)
			}
		}
		for _, m := range req {
			if m.Role == "tool" && m.CallID != "" {
				p.rec.Results[m.CallID] = m.Text
			}
		}
		if block := tailBlock(req); block != "" && strings.Contains(block, reminderMark()) {
			p.rec.Reminded = append(p.rec.Reminded, number)
		}
		p.rec.Requests = append(p.rec.Requests, req)
	}
}

// reminderMark is what every reminder begins with.
func reminderMark() string {
	mark, _, _ := strings.Cut(core.DefaultTexts().Reminder, "$")
	return mark
}

func (p *play) answer(i int, run StoryRun, got Got) {
	answer := got.Answer
	if got.Delivered != nil {
		answer = strings.Join(got.Delivered, "\n\n")
	}
	p.rec.Answers = append(p.rec.Answers, answer)
	if run.Answer == nil {
		return
	}
	if got.Delivered == nil {
		if strings.TrimSpace(answer) != *run.Answer {
			p.problem("run %d: the answer is %q, want %q", i+1, answer, *run.Answer)
		}
		return
	}
	if n := strings.Count(answer, *run.Answer); n != 1 {
		p.problem("run %d: the answer %q stands %d times among the texts delivered, want once:\n%s", i+1, *run.Answer, n, answer)
	}
}

// seen renders every request, role by role, for the golden section.
func (p *play) seen() string {
	var b strings.Builder
	for i, req := range p.rec.Requests {
		fmt.Fprintf(&b, "== request %d\n", i+1)
		for _, m := range req {
			fmt.Fprintf(&b, "%s:", m.Role)
			if m.CallID != "" {
				fmt.Fprintf(&b, " [%s %s]", m.CallID, m.Name)
			}
			for _, line := range strings.Split(m.Text, "\n") {
				fmt.Fprintf(&b, " %s\n", line)
			}
			for _, c := range m.Calls {
				fmt.Fprintf(&b, "  call %s %s %s\n", c.ID, c.Name, c.Args)
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// golden rewrites the story's file with what was seen.
func (p *play) golden(seen string) error {
	if p.story.path == "" {
		return errors.New("the story is built in: copy it to a folder and name that by TODOGUARD_STORIES")
	}
	a := p.story.archive
	for i := range a.Files {
		if a.Files[i].Name == "seen" {
			a.Files[i].Data = []byte(seen + "\n")
		}
	}
	return os.WriteFile(filepath.Clean(p.story.path), formatArchive(a), 0o644)
}
