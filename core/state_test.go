package core

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func golden(t *testing.T, name string) []byte {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("testdata", "state", name))
	require.NoError(t, err)
	return bytes.TrimSpace(doc)
}

// The golden documents of every schema are readable for ever. They are never edited: a new schema adds files.
func TestGoldenStates(t *testing.T) {
	held := "It is <done>."
	for name, want := range map[string]struct {
		lines []string
		check func(*testing.T, *state)
	}{
		"schema0_plain.json": {[]string{"1 completed Read the code", "2 in_progress Write the fix", "3 pending Run the tests"}, func(t *testing.T, s *state) {
			require.Equal(t, state{Schema: schemaNow, Todos: s.Todos, Retries: 1, Suppressed: true, Stale: 4, Correction: true}, *s)
		}},
		"schema0_wait.json": {[]string{"1 in_progress Wait for the build"}, func(t *testing.T, s *state) {
			require.Equal(t, &WaitBinding{Tasks: []string{"task-a"}, Revision: 3, RunID: "r1", Boundary: "b1", Evidence: json.RawMessage(`{ "generation": 7 }`)}, s.Wait)
			require.Equal(t, &WaitOutcome{Status: WaitCancelled, Reason: "the user stopped it"}, s.WaitOutcome)
		}},
		"schema1_empty.json": {[]string{}, func(t *testing.T, s *state) {
			require.Equal(t, int64(2), s.Revision)
			require.Equal(t, "r1", s.RunID)
		}},
		"schema1_full.json": {[]string{"1 completed Write the <fix>", "a needs_replan Run the tests <- 1", "3 pending Report <- 1,a", "4 cancelled Celebrate",
			"5 in_progress Clean up"}, func(t *testing.T, s *state) {
			require.Equal(t, int64(42), s.Revision)
			require.Equal(t, "r9", s.RunID)
			require.Equal(t, 3, s.Retries)
			require.Equal(t, 7, s.Stale)
			require.True(t, s.Suppressed && s.Blocked && s.Correction)
			require.Equal(t, &held, s.Held)
			require.Equal(t, &WaitOutcome{Status: WaitValid, Reason: "still running"}, s.WaitOutcome)
			require.Equal(t, json.RawMessage(`{"g": 7.0}`), s.Wait.Evidence)
			require.Equal(t, record{ID: "a", Failures: 2, Output: "1 test failed"}, s.Checks["6a3c0ef9f1d6c0b2a7d1e0f5"])
			require.Equal(t, "all of them", s.Todos[1].Description)
			require.Equal(t, "Running the tests", s.Todos[1].ActiveForm)
			require.Equal(t, "ann", s.Todos[1].Owner)
			require.JSONEq(t, `{"p":1}`, string(s.Todos[1].Metadata))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := golden(t, name)
			s, err := decodeState(doc)
			require.NoError(t, err)
			require.Equal(t, want.lines, lines(s.Todos))
			want.check(t, s)

			// The way back loses nothing, and the second way back changes nothing.
			out, err := s.encode()
			require.NoError(t, err)
			require.True(t, json.Valid(out))
			again, err := decodeState(out)
			require.NoError(t, err)
			require.Equal(t, s, again)
			twice, err := again.encode()
			require.NoError(t, err)
			require.Equal(t, string(out), string(twice))
			sameUnknown(t, doc, out)
			if strings.HasPrefix(name, "schema1_") {
				require.JSONEq(t, string(doc), string(out))
			}
			// It is what a planner shows and goes on from.
			store := NewMemoryStore()
			_, err = store.Save(t.Context(), sess, doc, "")
			require.NoError(t, err)
			p, _ := newTest(t, Config{Store: store, Dependencies: true})
			_, err = p.Update(t.Context(), sess, func(items []Item) ([]Item, error) {
				return append(items, Item{Content: "One more"}), nil
			})
			require.NoError(t, err)
			sameUnknown(t, doc, []byte(document(t, store)))
			require.Len(t, storedLines(t, p), len(want.lines)+1)
		})
	}
	files, err := os.ReadDir("testdata/state")
	require.NoError(t, err)
	require.Len(t, files, 4, "a golden file without a test")
}

// sameUnknown holds unknown keys, of the document and of its items, to be the same byte for byte.
func sameUnknown(t *testing.T, was, is []byte) {
	t.Helper()
	unknown := func(obj []byte, known []string) map[string]string {
		var m map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(obj, &m))
		out := map[string]string{}
		for k, v := range m {
			if !slices.Contains(known, k) {
				out[k] = string(v)
			}
		}
		return out
	}
	items := func(obj []byte) []json.RawMessage {
		var m struct{ Todos []json.RawMessage }
		require.NoError(t, json.Unmarshal(obj, &m))
		return m.Todos
	}
	require.Equal(t, unknown(was, stateKeys), unknown(is, stateKeys))
	a, b := items(was), items(is)
	for i := range a {
		require.Equal(t, unknown(a[i], itemKeys), unknown(b[i], itemKeys))
	}
}

// Unknown keys of an item stay with it while writes of the model change and move it.
func TestUnknownKeysSurviveWrites(t *testing.T) {
	store := NewMemoryStore()
	_, err := store.Save(t.Context(), sess, golden(t, "schema0_wait.json"), "")
	require.NoError(t, err)
	p, _ := newTest(t, Config{Store: store})
	r := begin(t, p)
	turn(t, r, "9 in_progress New", "1 pending Wait for the second build")
	finish(t, r, "x")
	doc := document(t, store)
	require.Contains(t, doc, `"host_note":{ "b" : 1, "a" : [1,  2], "html": "<b>&" }`)
	require.Contains(t, doc, `"host_key":{"keep":  ["me",  "<exactly>"], "n": 1.50}`)
	require.Equal(t, 1, strings.Count(doc, "host_note"))
}

// A run id that looks like the document cannot confuse the encoder.
func TestEncodeOddValues(t *testing.T) {
	for _, odd := range []string{`"todos":[]`, `\"todos\":[]`, `","todos":[],"x":"`, "\u2028</script>"} {
		s := &state{Schema: schemaNow, RunID: odd, Todos: []Item{{ID: odd, Content: odd, Status: StatusPending, extra: map[string]json.RawMessage{odd: json.RawMessage(`[ 1 ]`)}}},
			Held: &odd, extra: map[string]json.RawMessage{odd: json.RawMessage(`{ }`)}}
		b, err := s.encode()
		require.NoError(t, err)
		again, err := decodeState(b)
		require.NoError(t, err)
		require.Equal(t, s, again)
	}
}

// Documents that this version cannot read: a typed error, apart from "not found", and never overwritten.
func unreadable() map[string]string {
	return map[string]string{
		"garbage":          `not json`,
		"cut off":          `{"schema":1,"todos":[{"id":"1"`,
		"null":             `null`,
		"an array":         `[]`,
		"a number":         `7`,
		"newer schema":     `{"schema":2,"todos":[]}`,
		"far newer schema": `{"schema":99999999999999999999,"todos":[]}`,
		"negative schema":  `{"schema":-1,"todos":[]}`,
		"schema text":      `{"schema":"1","todos":[]}`,
		"unknown status":   `{"schema":1,"todos":[{"id":"1","content":"A","status":"paused"}]}`,
		"no status":        `{"schema":1,"todos":[{"id":"1","content":"A"}]}`,
		"no id":            `{"todos":[{"content":"A","status":"pending"}]}`,
		"no content":       `{"todos":[{"id":"1","status":"pending"}]}`,
		"doubled id":       `{"todos":[{"id":"1","content":"A","status":"pending"},{"id":"1","content":"B","status":"pending"}]}`,
		"todos an object":  `{"todos":{}}`,
		"todos text":       `{"todos":"[]"}`,
		"revision text":    `{"revision":"1","todos":[]}`,
		"checks a list":    `{"checks":[],"todos":[]}`,
		"wait a number":    `{"todo_task_wait":7,"todos":[]}`,
		"item a number":    `{"todos":[7]}`,
		"item null":        `{"todos":[null]}`,
	}
}

func TestUnreadableStateIsCorrupt(t *testing.T) {
	for name, doc := range unreadable() {
		t.Run(name, func(t *testing.T) {
			_, err := decodeState([]byte(doc))
			require.ErrorIs(t, err, ErrCorrupt)

			seams := map[string]func(p *Planner, r *Run) error{
				"Get": func(p *Planner, _ *Run) error { _, err := p.Get(t.Context(), sess); return err },
				"Update": func(p *Planner, _ *Run) error {
					_, err := p.Update(t.Context(), sess, func(i []Item) ([]Item, error) { return i, nil })
					return err
				},
				"Start":          func(p *Planner, _ *Run) error { _, err := p.Start(t.Context(), sess, "1"); return err },
				"Finish (host)":  func(p *Planner, _ *Run) error { _, _, err := p.Finish(t.Context(), sess, "1"); return err },
				"Replan":         func(p *Planner, _ *Run) error { _, err := p.Replan(t.Context(), sess, "1", "B"); return err },
				"NextPending":    func(p *Planner, _ *Run) error { _, _, err := p.NextPending(t.Context(), sess); return err },
				"NextActionable": func(p *Planner, _ *Run) error { _, _, err := p.NextActionable(t.Context(), sess); return err },
				"BeforeModel":    func(_ *Planner, r *Run) error { _, err := r.BeforeModel(t.Context(), Prompt{}); return err },
				"AfterModel":     func(_ *Planner, r *Run) error { _, err := r.AfterModel(t.Context(), Response{Text: "x"}); return err },
				"CallTool": func(_ *Planner, r *Run) error {
					_, err := r.WriteTodos(t.Context(), "c", args("1 in_progress A"))
					return err
				},
				"Finish": func(_ *Planner, r *Run) error { _, err := r.Finish(t.Context(), Outcome{Answer: "x"}); return err },
			}
			for seam, f := range seams {
				store := NewMemoryStore()
				_, err := store.Save(t.Context(), sess, []byte(doc), "")
				require.NoError(t, err)
				p, _ := newTest(t, Config{Store: store})
				require.ErrorIs(t, f(p, begin(t, p)), ErrCorrupt, seam)
				require.Equal(t, doc, document(t, store), seam)
			}
			// Also where the host lets the run go on.
			store := NewMemoryStore()
			_, err = store.Save(t.Context(), sess, []byte(doc), "")
			require.NoError(t, err)
			p, rec := newTest(t, Config{Store: store, OnStoreError: goOn})
			r := begin(t, p)
			require.Empty(t, before(t, r))
			refused(t, writeList(t, r, "1 in_progress A"), CodeNotSaved)
			require.Equal(t, Accept, say(t, r, "done").Action)
			require.Equal(t, "done", finish(t, r, "done"))
			require.Equal(t, doc, document(t, store))
			require.Empty(t, rec.events(EventListChanged))
			require.Len(t, rec.events(EventRunEnded), 1)
			// The host may clear it.
			require.NoError(t, p.Clear(t.Context(), sess))
			require.Empty(t, storedLines(t, p))
		})
	}
}

// "Not found" is no error: it is an empty session.
func TestMissingStateIsEmpty(t *testing.T) {
	for _, doc := range [][]byte{nil, {}} {
		s, err := decodeState(doc)
		require.NoError(t, err)
		require.Equal(t, &state{Schema: schemaNow}, s)
	}
	p, _ := newTest(t, Config{})
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, Snapshot{}, s)
}

// A conflict that brings back a document that cannot be read ends in ErrCorrupt as well, with nothing overwritten.
func TestCorruptInAConflict(t *testing.T) {
	store := faulty()
	p, _ := newTest(t, Config{Store: store})
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	before(t, r)
	store.set(nil, func(n int, save func() (Version, error)) (Version, error) {
		if n == 1 {
			_, v, err := store.Store.Load(t.Context(), sess)
			require.NoError(t, err)
			_, err = store.Store.Save(t.Context(), sess, []byte("garbage"), v)
			require.NoError(t, err)
		}
		return save()
	})
	_, err := r.WriteTodos(t.Context(), "c", args("1 completed A"))
	require.ErrorIs(t, err, ErrCorrupt)
	require.Equal(t, "garbage", document(t, store))
}
