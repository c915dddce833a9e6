package storytest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
)

// A runner that lets everything pass would make every other test worthless: so it is shown stories that are wrong in one
// place each, and surfaces that do one thing wrong each.

func source(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("stories", name+".txtar"))
	require.NoError(t, err)
	return string(data)
}

func problems(t *testing.T, src string, sf storytest.Surface) string {
	t.Helper()
	s, err := storytest.Parse("self", []byte(src))
	require.NoError(t, err)
	rec := storytest.Play(t.Context(), t, s, sf, storytest.ModeReplace, core.NewMemoryStore())
	return strings.Join(rec.Problems, "\n")
}

func TestWrongStoriesFail(t *testing.T) {
	for _, c := range []struct{ name, story, old, new, want string }{
		{"model calls", "guard-keeps-the-answer", `"model_calls": 4`, `"model_calls": 3`, "model_calls: 4, want 3"},
		{"corrections", "guard-keeps-the-answer", `"corrections": 1`, `"corrections": 0`, "corrections: 1, want 0"},
		{"reminders", "guard-keeps-the-answer", `"reminders": 0`, `"reminders": 1`, "reminders: 0, want 1"},
		{"reminded before", "stale-reminder", `[7, 12]`, `[7, 13]`, "reminded_before"},
		{"a result", "guard-keeps-the-answer", `"c2": "ok"`, `"c2": "malformed"`, `c2 is "ok", want "malformed"`},
		{"a refusal", "exactly-one-in-progress", `"c1": "not_one_in_progress"`, `"c1": "ok"`, `want "ok"`},
		{"a result that is not there", "guard-keeps-the-answer", `"c2": "ok"`, `"c9": "ok"`, "c9 has no result"},
		{"result text", "dropped-items-are-said", `["dropped", "B"]`, `["dropped", "C"]`, `does not hold "C"`},
		{"list after a call", "check-fails-then-passes", `1 pending Fix the build`, `1 completed Fix the build`, "stored_after c2"},
		{"revisions", "parallel-writes-change-nothing", `"revisions": 2`, `"revisions": 3`, "revisions: 2, want 3"},
		{"shown", "plan-work-finish", `"4": []`, `"4": ["Collect"]`, "shown: the tail of request 4"},
		{"hidden", "plan-work-finish", `"hidden": {"6"`, `"hidden": {"3"`, "hidden: the tail of request 3"},
		{"tail lines", "content-is-data", `{"3": 6}`, `{"3": 2}`, "tail_lines_max"},
		{"a request that was not made", "content-is-data", `{"3": 6}`, `{"9": 6}`, `request "9": there were 4`},
		{"correction names", "guard-keeps-the-answer", `"write_todos"]`, `"read_todos"]`, "correction_names"},
		{"check runs", "check-fails-then-passes", `"check_runs": {"1": 2}`, `"check_runs": {"1": 1}`, "check_runs of 1: 2, want 1"},
		{"check outcomes", "check-fails-then-passes", `["fail: 2 tests failed", "pass"]`, `["fail: 2 tests failed"]`, "stored:"},
		{"wait outcomes", "wait-ends-the-run", `, {"status": "valid"}]`, `, {"status": "invalid"}]`, "corrections: 1, want 0"},
		{"state", "guard-explains-when-exhausted", `"todo_guard_suppressed": true`, `"todo_guard_suppressed": false`, "todo_guard_suppressed"},
		{"state that is not null", "guard-explains-when-exhausted", `"todo_guard_blocked": null`, `"todos": null`, "state: todos"},
		{"end", "guard-asks-only-once", `{"open": 1}`, `{"open": 0}`, "want 0 open items"},
		{"answer", "guard-keeps-the-answer", "-- answer --\nShipped: tagged", "-- answer --\nTagged", "the answer is"},
		{"stored", "guard-keeps-the-answer", "2 completed Publish", "2 pending Publish", "stored:"},
		{"an unused reply", "guard-no-list", `{"text": "4"}`, "{\"text\": \"4\"}\n{\"text\": \"5\"}", "1 of 2 replies were not asked for"},
		{"a call too many", "guard-asks-only-once", "{\"text\": \"As I said, it is done.\"}\n", "", "one too many"},
		{"what was seen", "guard-no-list", "-- stored --", "-- seen --\nuser: What is 3+3?\n-- stored --", "seen:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := source(t, c.story)
			require.Contains(t, src, c.old)
			require.Empty(t, problems(t, src, storytest.Core()), "the story as it is")
			require.Contains(t, problems(t, strings.Replace(src, c.old, c.new, 1), storytest.Core()), c.want)
		})
	}
}

func TestUnknownPartsAreErrors(t *testing.T) {
	for name, c := range map[string]struct{ old, new, want string }{
		"section":        {"-- answer --", "-- reply --", `section "reply"`},
		"numbered":       {"-- stored --", "-- stored 2 --", "unknown section"},
		"twice":          {"-- answer --", "-- stored --\n\n-- answer --", "stands twice"},
		"expect key":     {`"corrections"`, `"correction"`, `unknown field "correction"`},
		"config key":     {"-- input --", "-- config --\n{\"stale\": 1}\n-- input --", `unknown field "stale"`},
		"reply key":      {`{"text": "The list`, `{"say": "The list`, `unknown field "say"`},
		"input missing":  {"-- input --", "-- input 2 --", "wants both an input and replies"},
		"not JSON":       {`{"model_calls"`, `{model_calls`, "section"},
		"start not JSON": {"-- input --", "-- start --\n{\n-- input --", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(t, "guard-keeps-the-answer")
			require.Contains(t, src, c.old)
			_, err := storytest.Parse("self", []byte(strings.Replace(src, c.old, c.new, 1)))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// spoiled is the core surface with one thing done to every request, or to what comes back.
func spoiled(request func([]storytest.Message) []storytest.Message, got func(*storytest.Got)) storytest.Surface {
	sf := storytest.Core()
	play := sf.Play
	sf.Play = func(ctx context.Context, t testing.TB, env storytest.Env) (storytest.Got, error) {
		if request != nil {
			storytest.Spoil(env.Model, request)
		}
		g, err := play(ctx, t, env)
		if got != nil {
			got(&g)
		}
		return g, err
	}
	return sf
}

func TestWrongSurfacesFail(t *testing.T) {
	type msgs = []storytest.Message
	last := func(m msgs) *storytest.Message { return &m[len(m)-1] }
	for name, c := range map[string]struct {
		request func(msgs) msgs
		got     func(*storytest.Got)
		want    string
	}{
		"answer lost":            {got: func(g *storytest.Got) { g.Answer = "" }, want: "the answer is"},
		"answer told twice":      {got: func(g *storytest.Got) { g.Delivered = []string{g.Answer, g.Answer} }, want: "stands 2 times"},
		"answer never delivered": {got: func(g *storytest.Got) { g.Delivered = []string{} }, want: "stands 0 times"},
		"two system messages":    {request: func(m msgs) msgs { return slices.Insert(m, 1, m[0]) }, want: "a system message that does not lead"},
		"two user messages": {request: func(m msgs) msgs {
			return append(m, storytest.Message{Role: "user", Text: "x"}, storytest.Message{Role: "user", Text: "y"})
		}, want: "two user messages in a row"},
		"two assistant messages": {request: func(m msgs) msgs {
			return append(m, storytest.Message{Role: "assistant", Text: "x"}, storytest.Message{Role: "assistant", Text: "y"})
		}, want: "an assistant message after"},
		"an empty assistant message": {request: func(m msgs) msgs { return append(m, storytest.Message{Role: "assistant"}) }, want: "an empty assistant message"},
		"the model's turn is over":   {request: func(m msgs) msgs { return append(m, storytest.Message{Role: "assistant", Text: "x"}) }, want: "the last message has the role"},
		"an unknown role":            {request: func(m msgs) msgs { return append(m, storytest.Message{Role: "critic", Text: "x"}) }, want: `the role "critic"`},
		"an invented call": {request: func(m msgs) msgs {
			return append(m, storytest.Message{Role: "assistant", Calls: []core.Call{{ID: "z1", Name: "write_todos"}}},
				storytest.Message{Role: "tool", CallID: "z1", Name: "write_todos", Text: "{}"})
		}, want: "which the model did not make"},
		"a call not answered": {request: func(m msgs) msgs {
			return slices.DeleteFunc(m, func(x storytest.Message) bool { return x.Role == "tool" })
		}, want: "is not answered"},
		"a call without id": {request: func(m msgs) msgs {
			for i := range m {
				if len(m[i].Calls) > 0 {
					m[i].Calls = []core.Call{{Name: "write_todos"}}
				}
			}
			return m
		}, want: "a call without id or name"},
		"a result with another name": {request: func(m msgs) msgs {
			for i := range m {
				if m[i].Role == "tool" {
					m[i].Name = "search"
				}
			}
			return m
		}, want: `names "search"`},
		"a result out of place": {request: func(m msgs) msgs {
			return append(m, storytest.Message{Role: "user", Text: "x"}, storytest.Message{Role: "tool", CallID: "c1", Text: "y"})
		}, want: "answers no call before it"},
		"two blocks": {request: func(m msgs) msgs {
			last(m).Text += "\n<todos>\n1 x\n</todos>\n<todos>\n1 x\n</todos>"
			return m
		}, want: "list blocks in one request"},
		"a changed prefix": {request: func(m msgs) msgs {
			m[0].Text += strings.Repeat("!", len(m))
			return m
		}, want: "differs from the one before it at message 1"},
		"a history that shrinks": {request: func(m msgs) msgs {
			if len(m) > 4 {
				return m[:1]
			}
			return m
		}, want: "has 1 messages, the one before it"},
		"a correction that is not sent": {request: func(m msgs) msgs {
			for i := range m {
				m[i].Text = strings.ReplaceAll(m[i].Text, "Automatic check", "Nothing")
			}
			return m
		}, want: "no request holds it"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, problems(t, source(t, "guard-keeps-the-answer"), spoiled(c.request, c.got)), c.want)
		})
	}
}

func TestEveryRunEndsOnce(t *testing.T) {
	sf := storytest.Core()
	sf.Play = func(ctx context.Context, t testing.TB, env storytest.Env) (storytest.Got, error) {
		r, err := env.Model.Next(ctx, []storytest.Message{{Role: "user", Text: env.Input}})
		return storytest.Got{Answer: r.Text}, err
	}
	require.Contains(t, problems(t, source(t, "guard-no-list"), sf), "0 end-of-run events, want 1")
}

// The table of stories that are still to come may not hide one that passes.
func TestNotYetStoriesFail(t *testing.T) {
	stories, err := storytest.Builtin()
	require.NoError(t, err)
	for name, why := range storytest.NotYet {
		i := slices.IndexFunc(stories, func(s *storytest.Story) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0, "the table names %s, which is no story", name)
		rec := storytest.Play(t.Context(), t, stories[i], storytest.Core(), storytest.ModeReplace, core.NewMemoryStore())
		require.NotEmpty(t, rec.Problems, "%s passes: take it out of the table (%s)", name, why)
	}
}

func TestStoriesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := storytest.ReadDir(dir)
	require.ErrorContains(t, err, "no .txtar file")
	_, err = storytest.ReadDir(filepath.Join(dir, "none"))
	require.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "own.txtar"), []byte(source(t, "guard-no-list")), 0o600))
	stories, err := storytest.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, stories, 1)
	require.Equal(t, "own", stories[0].Name)
}

func TestGoldenIsWrittenAndHeld(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "own.txtar")
	require.NoError(t, os.WriteFile(file, []byte(source(t, "guard-no-list")+"-- seen --\n"), 0o600))
	play := func() []string {
		stories, err := storytest.ReadDir(dir)
		require.NoError(t, err)
		return storytest.Play(t.Context(), t, stories[0], storytest.Core(), storytest.ModeReplace, core.NewMemoryStore()).Problems
	}
	require.NotEmpty(t, play(), "an empty golden section is not what was seen")
	t.Setenv("UPDATE_GOLDEN", "1")
	require.Empty(t, play())
	t.Setenv("UPDATE_GOLDEN", "")
	require.Empty(t, play())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), "user: What is 2+2?")
}
