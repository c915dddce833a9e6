package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lists in tests are lines: "id status content", with " <- 1,2" behind what depends on others.

const sess = "s"

func list(lines ...string) []Item {
	var out []Item
	for _, l := range lines {
		id, rest, _ := strings.Cut(l, " ")
		status, rest, _ := strings.Cut(rest, " ")
		content, deps, _ := strings.Cut(rest, " <- ")
		it := Item{ID: id, Status: Status(status), Content: content}
		if deps != "" {
			it.DependsOn = strings.Split(deps, ",")
		}
		out = append(out, it)
	}
	return out
}

func lines(items []Item) []string {
	out := []string{}
	for _, it := range items {
		l := it.ID + " " + string(it.Status) + " " + it.Content
		if len(it.DependsOn) > 0 {
			l += " <- " + strings.Join(it.DependsOn, ",")
		}
		out = append(out, l)
	}
	return out
}

// args are the arguments of a whole-list write.
func args(ls ...string) string { return argsOf(list(ls...)) }

func argsOf(items []Item) string {
	if items == nil {
		items = []Item{}
	}
	b, err := json.Marshal(map[string]any{"todos": items})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// argsWait is args with a declared wait.
func argsWait(tasks []string, ls ...string) string {
	b, _ := json.Marshal(map[string]any{"todos": append([]Item{}, list(ls...)...), "wait_for_tasks": tasks})
	return string(b)
}

// writeOf is the decoded whole-list write of these lines.
func writeOf(t testing.TB, ls ...string) write {
	t.Helper()
	w, bad := decodeWrite(args(ls...), Replace, true)
	require.Nil(t, bad)
	return w
}

// recorder keeps events.
type recorder struct {
	mu  sync.Mutex
	all []Event
}

func (r *recorder) observe(_ context.Context, e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *recorder) events(kinds ...EventKind) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Event
	for _, e := range r.all {
		if len(kinds) == 0 || slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

func (r *recorder) kinds() []EventKind {
	var out []EventKind
	for _, e := range r.events() {
		out = append(out, e.Kind)
	}
	return out
}

// newTest makes a planner with an events recorder. The store is cfg.Store, or a new MemoryStore.
func newTest(t testing.TB, cfg Config) (*Planner, *recorder) {
	t.Helper()
	rec := &recorder{}
	cfg.OnEvent = rec.observe
	p, err := New(cfg)
	require.NoError(t, err)
	return p, rec
}

func begin(t testing.TB, p *Planner) *Run {
	t.Helper()
	r, err := p.Begin(sess, RunOptions{})
	require.NoError(t, err)
	return r
}

// seed stores a list as the host would.
func seed(t testing.TB, p *Planner, ls ...string) {
	t.Helper()
	_, err := p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return list(ls...), nil })
	require.NoError(t, err)
}

// storedLines is the list in the store.
func storedLines(t testing.TB, p *Planner) []string {
	t.Helper()
	s, err := p.Get(context.Background(), sess)
	require.NoError(t, err)
	return lines(s.Todos)
}

// document is what is stored, byte for byte.
func document(t testing.TB, s Store) string {
	t.Helper()
	doc, _, err := s.Load(context.Background(), sess)
	require.NoError(t, err)
	return string(doc)
}

// result is a tool result, read back.
type result struct {
	Error *struct {
		Code    Code
		Message string
	}
	Todos      []Item
	Summary    *Summary
	Revision   int64
	Next       *brief
	Checks     []CheckReport
	Dropped    []brief
	Reopened   []brief
	Blocked    []brief
	Waiting    []string `json:"waiting_for"`
	Unchanged  bool
	Reminder   string
	Normalized []string
	raw        string
}

func (r result) code() Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func parseResult(t testing.TB, text string) result {
	t.Helper()
	r := result{raw: text}
	require.NoError(t, json.Unmarshal([]byte(text), &r), text)
	return r
}

// call runs one tool call.
func call(t testing.TB, r *Run, c Call) result {
	t.Helper()
	text, err := r.CallTool(t.Context(), c)
	require.NoError(t, err)
	return parseResult(t, text)
}

var callSeq struct {
	sync.Mutex
	n int
}

func nextCallID() string {
	callSeq.Lock()
	defer callSeq.Unlock()
	callSeq.n++
	return fmt.Sprintf("c%d", callSeq.n)
}

// writeRaw is one write_todos call outside any response.
func writeRaw(t testing.TB, r *Run, args string) result {
	t.Helper()
	return call(t, r, Call{ID: nextCallID(), Name: r.p.cfg.ToolName, Args: args})
}

func writeList(t testing.TB, r *Run, ls ...string) result {
	t.Helper()
	return writeRaw(t, r, args(ls...))
}

func accepted(t testing.TB, res result) result {
	t.Helper()
	require.Nil(t, res.Error, "%s", res.raw)
	return res
}

func refused(t testing.TB, res result, code Code) result {
	t.Helper()
	require.Equal(t, code, res.code(), "%s", res.raw)
	return res
}

// before is BeforeModel with a boundary that stays.
func before(t testing.TB, r *Run) string {
	t.Helper()
	tail, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b1"})
	require.NoError(t, err)
	return tail
}

func after(t testing.TB, r *Run, resp Response) Verdict {
	t.Helper()
	v, err := r.AfterModel(t.Context(), resp)
	require.NoError(t, err)
	return v
}

// say is a model turn that answers in text.
func say(t testing.TB, r *Run, text string) Verdict {
	t.Helper()
	before(t, r)
	return after(t, r, Response{Text: text})
}

// work is a model turn that calls another tool.
func work(t testing.TB, r *Run) {
	t.Helper()
	before(t, r)
	v := after(t, r, Response{Calls: []Call{{ID: nextCallID(), Name: "search", Args: "{}"}}})
	require.Equal(t, Accept, v.Action)
}

// turn is a whole model turn that writes the list.
func turn(t testing.TB, r *Run, ls ...string) result {
	t.Helper()
	return turnRaw(t, r, args(ls...))
}

func turnRaw(t testing.TB, r *Run, args string) result {
	t.Helper()
	before(t, r)
	c := Call{ID: nextCallID(), Name: r.p.cfg.ToolName, Args: args}
	v := after(t, r, Response{Calls: []Call{c}})
	require.Equal(t, Accept, v.Action)
	return call(t, r, c)
}

func finish(t testing.TB, r *Run, answer string) string {
	t.Helper()
	got, err := r.Finish(t.Context(), Outcome{Answer: answer})
	require.NoError(t, err)
	return got
}

// faultyStore fails, or lets something happen in between, at a chosen call. n counts from 1.
type faultyStore struct {
	Store
	mu           sync.Mutex
	loads, saves int
	onLoad       func(n int) error
	onSave       func(n int, save func() (Version, error)) (Version, error)
}

func faulty() *faultyStore { return &faultyStore{Store: NewMemoryStore()} }

func (s *faultyStore) Load(ctx context.Context, session string) ([]byte, Version, error) {
	s.mu.Lock()
	s.loads++
	n, f := s.loads, s.onLoad
	s.mu.Unlock()
	if f != nil {
		if err := f(n); err != nil {
			return nil, "", err
		}
	}
	return s.Store.Load(ctx, session)
}

func (s *faultyStore) Save(ctx context.Context, session string, doc []byte, base Version) (Version, error) {
	s.mu.Lock()
	s.saves++
	n, f := s.saves, s.onSave
	s.mu.Unlock()
	save := func() (Version, error) { return s.Store.Save(ctx, session, doc, base) }
	if f != nil {
		return f(n, save)
	}
	return save()
}

// set changes the faults, safely.
func (s *faultyStore) set(onLoad func(int) error, onSave func(int, func() (Version, error)) (Version, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onLoad, s.onSave, s.loads, s.saves = onLoad, onSave, 0, 0
}

func (s *faultyStore) counts() (loads, saves int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads, s.saves
}
