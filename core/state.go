package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
)

// schemaNow is the schema that this version writes. Every earlier one stays readable (testdata/state).
//
//	0  no "schema" key: todos and the todo_* keys alone
//	1  adds schema, revision, run_id, checks, held_answer
const schemaNow = 1

// state is the one JSON document of a session (docs/design.md, section 2). Its keys are stable for ever.
type state struct {
	Schema     int    `json:"schema"`
	Revision   int64  `json:"revision"`
	RunID      string `json:"run_id"`
	Todos      []Item `json:"todos"`
	Retries    int    `json:"todo_guard_retries"`
	Suppressed bool   `json:"todo_guard_suppressed"`
	Stale      int    `json:"todo_stale_iterations"`

	Blocked     bool         `json:"todo_guard_blocked,omitempty"`           // an explanation was asked for and has not come
	Correction  bool         `json:"todo_finalization_correction,omitempty"` // a correction was made and the run has not ended
	Wait        *WaitBinding `json:"todo_task_wait,omitempty"`
	WaitOutcome *WaitOutcome `json:"todo_task_wait_outcome,omitempty"`
	Checks      ledger       `json:"checks,omitempty"`
	Held        *string      `json:"held_answer,omitempty"`

	extra map[string]json.RawMessage // top-level keys that this version does not know
}

var (
	stateKeys = []string{"schema", "revision", "run_id", "todos", "todo_guard_retries", "todo_guard_suppressed",
		"todo_stale_iterations", "todo_guard_blocked", "todo_finalization_correction", "todo_task_wait",
		"todo_task_wait_outcome", "checks", "held_answer"}
	itemKeys = []string{"id", "content", "status", "depends_on", "description", "activeForm", "owner", "metadata"}
)

// decodeState reads a stored document; nil or empty is the state of a session without one. Whatever it cannot
// read is an ErrCorrupt.
func decodeState(doc []byte) (*state, error) {
	s := &state{Schema: schemaNow}
	if len(doc) == 0 {
		return s, nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		return nil, corrupt("%v", err)
	}
	if top == nil {
		return nil, corrupt("it is null")
	}
	s.Schema = 0
	if raw, ok := top["schema"]; ok {
		if err := json.Unmarshal(raw, &s.Schema); err != nil {
			return nil, corrupt("schema: %v", err)
		}
	}
	if s.Schema < 0 || s.Schema > schemaNow {
		return nil, corrupt("schema %d, want 0 to %d: a newer version wrote it", s.Schema, schemaNow)
	}
	if err := json.Unmarshal(doc, s); err != nil {
		return nil, corrupt("%v", err)
	}
	s.Schema = schemaNow
	for _, k := range stateKeys {
		delete(top, k)
	}
	if len(top) > 0 {
		s.extra = top
	}
	if err := s.checkItems(); err != nil {
		return nil, err
	}
	return s, s.readItemExtras(doc)
}

func (s *state) checkItems() error {
	seen := make(map[string]struct{}, len(s.Todos))
	for i := range s.Todos {
		it := &s.Todos[i]
		if _, twice := seen[it.ID]; twice || it.ID == "" || it.Content == "" || !slices.Contains(Statuses(), it.Status) {
			return corrupt("item %d (id %q, status %q)", i+1, it.ID, it.Status)
		}
		seen[it.ID] = struct{}{}
		if string(it.Metadata) == "null" {
			it.Metadata = nil
		}
	}
	return nil
}

// readItemExtras keeps the unknown keys of each item.
func (s *state) readItemExtras(doc []byte) error {
	var raw struct {
		Todos []map[string]json.RawMessage `json:"todos"`
	}
	if err := json.Unmarshal(doc, &raw); err != nil {
		return corrupt("%v", err)
	}
	for i, m := range raw.Todos {
		for _, k := range itemKeys {
			delete(m, k)
		}
		if len(m) > 0 {
			s.Todos[i].extra = m
		}
	}
	return nil
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("core: decode state: %w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// encode writes the document. It fails only on a raw value that is no JSON, which the rules let nothing bring in.
func (s *state) encode() ([]byte, error) {
	out := *s
	out.Schema = schemaNow
	if out.Todos == nil {
		out.Todos = []Item{}
	}
	if !slices.ContainsFunc(out.Todos, func(it Item) bool { return it.extra != nil }) {
		b, err := json.Marshal(&out)
		return withExtra(b, s.extra), err
	}
	// The list is put in afterwards: encoding/json would reformat what it does not know.
	items := []byte(`"todos":[`)
	for i := range out.Todos {
		b, err := json.Marshal(&out.Todos[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			items = append(items, ',')
		}
		items = append(items, withExtra(b, out.Todos[i].extra)...)
	}
	out.Todos = []Item{}
	b, err := json.Marshal(&out)
	b = bytes.Replace(b, []byte(`"todos":[]`), append(items, ']'), 1) // the first is the key: in a string its quotes would be escaped
	return withExtra(b, s.extra), err
}

// withExtra puts further keys at the end of an encoded, non-empty object, in sorted order.
func withExtra(obj []byte, extra map[string]json.RawMessage) []byte {
	if len(extra) == 0 || len(obj) == 0 {
		return obj
	}
	obj = obj[:len(obj)-1]
	for _, k := range slices.Sorted(maps.Keys(extra)) {
		key, _ := json.Marshal(k) // a string always encodes
		obj = append(append(append(append(obj, ','), key...), ':'), extra[k]...)
	}
	return append(obj, '}')
}

// clone copies a state so that changing one leaves the other as it is. Items' raw values are shared: nobody writes to them.
func (s *state) clone() *state { return s.with(cloneItems(s.Todos)) }

// with is clone with another list, which becomes the copy's own.
func (s *state) with(items []Item) *state {
	c := *s
	c.Todos = items
	c.Checks = maps.Clone(s.Checks)
	return &c
}

// sum tells lists apart that have the same revision: after a failover that lost writes, or a delete, another list may have it.
func (s *state) sum() uint64 {
	h := fnv.New64a()
	var buf [256]byte
	put := func(text string) {
		b := append(buf[:0], text...)
		_, _ = h.Write(append(b, 0)) // never fails
	}
	for i := range s.Todos {
		it := &s.Todos[i]
		put(it.ID)
		put(it.Content)
		put(string(it.Status))
		for _, id := range it.DependsOn {
			put(id)
		}
		put("")
	}
	return h.Sum64() | 1
}

// items returns the list with what the check ledger knows filled in. The result is the caller's.
func (s *state) items() []Item {
	out := cloneItems(s.Todos)
	if len(s.Checks) == 0 {
		return out
	}
	for i := range out {
		if rec, ok := s.Checks[contentKey(out[i].Content)]; ok {
			out[i].Failures, out[i].LastOutput = rec.Failures, rec.Output
		}
	}
	return out
}

// mirror copies what outlives the process from the run into the document.
func (s *state) mirror(rs *RunState) {
	s.RunID = rs.ID
	s.Retries = rs.Corrections
	s.Suppressed = rs.Suppressed
	s.Stale = rs.Stale
	s.Blocked = rs.Blocked
	s.Correction = rs.Holding
	s.Held = nil
	if rs.Holding {
		held := rs.Held
		s.Held = &held
	}
}

// mirrors reports whether the document says already what mirror would write, the run's id aside.
func (s *state) mirrors(rs *RunState) bool {
	return s.Retries == rs.Corrections && s.Suppressed == rs.Suppressed && s.Stale == rs.Stale &&
		s.Blocked == rs.Blocked && s.Correction == rs.Holding && (s.Held != nil) == rs.Holding &&
		(s.Held == nil || *s.Held == rs.Held)
}
