package core

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func pass(context.Context, Item) CheckResult { return CheckResult{Status: CheckPassed, Output: "fine"} }
func fail(context.Context, Item) CheckResult {
	return CheckResult{Status: CheckFailed, Output: "1 test failed"}
}
func cannotRun(context.Context, Item) CheckResult {
	return CheckResult{Status: CheckNotRun, Output: "no such binary"}
}

// A write that completes items runs their checks once, before it is committed; a completed item that is sent again is not checked.
func TestChecksRunWhenAnItemBecomesCompleted(t *testing.T) {
	var ran []string
	p, rec := newTest(t, Config{Checks: ForAll(func(_ context.Context, it Item) CheckResult {
		ran = append(ran, it.ID+" "+string(it.Status)+" "+it.Content)
		return CheckResult{Status: CheckPassed, Output: "ok " + it.ID}
	})})
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B", "3 pending C")
	require.Empty(t, ran)
	res := accepted(t, turn(t, r, "1 completed A", "2 completed B", "3 in_progress C"))
	require.Equal(t, []string{"1 completed A", "2 completed B"}, ran)
	want := []CheckReport{{ID: "1", Status: CheckPassed, Output: "ok 1"}, {ID: "2", Status: CheckPassed, Output: "ok 2"}}
	require.Equal(t, want, res.Checks)
	e := rec.events(EventListChanged)
	require.Equal(t, want, e[len(e)-1].Checks)

	ran = nil
	accepted(t, turn(t, r, "1 completed A", "2 completed B", "3 in_progress C"))
	accepted(t, turn(t, r, "2 completed B", "1 completed  a!", "3 in_progress C")) // order, case and signs are no new content
	require.Empty(t, ran)
	accepted(t, turn(t, r, "2 completed B", "1 completed Something else", "3 in_progress C"))
	require.Equal(t, []string{"1 completed Something else"}, ran, "new content is new work")
	ran = nil
	accepted(t, turn(t, r, "2 completed B", "9 completed Something else", "3 in_progress C"))
	require.Equal(t, []string{"9 completed Something else"}, ran, "a new id is a new item")
	ran = nil
	refused(t, turn(t, r, "2 completed B", "3 completed C", "4 pending D"), CodeNotOneInProgress)
	refused(t, turn(t, r, "2 completed B", "3 completed C", "3 pending D"), CodeDuplicateID)
	require.Empty(t, ran, "a refused write runs none")
}

// Every outcome: what the item becomes, what is counted and what is said. The rest of the write stands.
func TestCheckOutcomes(t *testing.T) {
	hang := func(ctx context.Context, _ Item) CheckResult {
		<-ctx.Done()
		return CheckResult{Status: CheckPassed, Output: "partial"}
	}
	for _, c := range []struct {
		name     string
		check    Check
		status   CheckStatus
		output   string
		failures int
	}{
		{"passed", pass, CheckPassed, "fine", 0},
		{"failed", fail, CheckFailed, "1 test failed", 1},
		{"could not run", cannotRun, CheckNotRun, "no such binary", 0},
		{"zero value", func(context.Context, Item) CheckResult { return CheckResult{} }, CheckNotRun, "", 0},
		{"unknown status", func(context.Context, Item) CheckResult { return CheckResult{Status: "great"} }, CheckNotRun, "", 0},
		{"panic", func(context.Context, Item) CheckResult { panic("boom") }, CheckNotRun, "the check panicked: boom", 0},
		{"panic with nil", func(context.Context, Item) CheckResult { panic(nil) }, CheckNotRun, "the check panicked", 0},
		{"goexit", func(context.Context, Item) CheckResult { runtime.Goexit(); return CheckResult{} }, CheckNotRun, "", 0},
		{"time-out, heeding ctx", hang, CheckTimed, "partial", 0},
		{"its own time-out", func(context.Context, Item) CheckResult { return CheckResult{Status: CheckTimed} }, CheckTimed, "no verdict within 2m0s", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := newTest(t, Config{Checks: ByID("1", c.check)})
				r := begin(t, p)
				turn(t, r, "1 in_progress A", "2 pending B")
				res := accepted(t, turn(t, r, "1 completed A", "2 in_progress B", "3 pending New"))
				require.Len(t, res.Checks, 1)
				require.Equal(t, c.status, res.Checks[0].Status)
				require.Contains(t, res.Checks[0].Output, c.output)
				require.Equal(t, c.failures, res.Checks[0].Failures)
				first := "1 pending A" // in progress is another one now
				if c.status == CheckPassed {
					first = "1 completed A"
				}
				require.Equal(t, []string{first, "2 in_progress B", "3 pending New"}, storedLines(t, p), "the rest of the write stands")
				s, err := p.Get(t.Context(), sess)
				require.NoError(t, err)
				require.Equal(t, c.failures, s.Todos[0].Failures)

				// Alone, the item stays in progress.
				res = accepted(t, turn(t, r, "1 completed A", "2 cancelled B", "3 cancelled New"))
				if c.status == CheckFailed {
					require.Equal(t, StatusNeedsReplan, res.Todos[0].Status, "the second failure")
				} else if c.status != CheckPassed {
					require.Equal(t, StatusInProgress, res.Todos[0].Status)
				}
			})
		})
	}
}

// A picker that panics is like a check that does.
func TestCheckerPanics(t *testing.T) {
	p, _ := newTest(t, Config{Checks: When(func(it Item) bool { panic("pick " + it.ID) }, pass)})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	res := accepted(t, turn(t, r, "1 completed A"))
	require.Equal(t, CheckNotRun, res.Checks[0].Status)
	require.Contains(t, res.Checks[0].Output, "pick 1")
	require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
	s, reports, err := p.Finish(t.Context(), sess, "1")
	require.NoError(t, err)
	require.Equal(t, CheckNotRun, reports[0].Status)
	require.Equal(t, StatusInProgress, s.Todos[0].Status)
}

func TestCheckHangs(t *testing.T) {
	t.Run("heeding ctx: nothing is left behind", func(t *testing.T) {
		defer goleak.VerifyNone(t)
		p, _ := newTest(t, Config{CheckTime: time.Millisecond, Checks: ForAll(func(ctx context.Context, _ Item) CheckResult {
			<-ctx.Done()
			return CheckResult{Status: CheckFailed, Output: "so far"}
		})})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		res := accepted(t, turn(t, r, "1 completed A"))
		require.Equal(t, []CheckReport{{ID: "1", Status: CheckTimed, Output: "so far"}}, res.Checks)
		require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p))
	})
	t.Run("ignoring ctx: left behind at the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			defer close(release)
			p, _ := newTest(t, Config{CheckTime: time.Minute, Checks: ByID("1", func(context.Context, Item) CheckResult {
				<-release
				return CheckResult{Status: CheckPassed}
			})})
			r := begin(t, p)
			turn(t, r, "1 in_progress A", "2 pending B")
			start := time.Now()
			res := accepted(t, turn(t, r, "1 completed A", "2 in_progress B"))
			require.Less(t, time.Since(start), time.Minute+time.Second)
			require.Equal(t, []CheckReport{{ID: "1", Status: CheckTimed, Output: "no verdict within 1m0s"}}, res.Checks)
			require.Equal(t, []string{"1 pending A", "2 in_progress B"}, storedLines(t, p))
		})
	})
	t.Run("a cancelled run", func(t *testing.T) {
		defer goleak.VerifyNone(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		store := NewMemoryStore()
		p, rec := newTest(t, Config{Store: store, OnStoreError: goOn, Checks: ForAll(func(ctx context.Context, _ Item) CheckResult {
			cancel()
			<-ctx.Done()
			return CheckResult{Status: CheckPassed}
		})})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		doc := document(t, store)
		_, err := r.WriteTodos(ctx, "c", args("1 completed A"))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, doc, document(t, store))
		require.Len(t, rec.events(EventListChanged), 1)
		_, _, err = p.Finish(ctx, sess, "1")
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, doc, document(t, store))
	})
}

// Failures are kept by content: neither a new id nor dropping and adding the item again makes them go away.
func TestFailuresAreNotLaundered(t *testing.T) {
	start := func(t *testing.T) (*Planner, *Run) {
		p, _ := newTest(t, Config{Checks: ForAll(fail)})
		r := begin(t, p)
		turn(t, r, "1 in_progress Fix the bug", "2 pending B")
		res := accepted(t, turn(t, r, "1 completed Fix the bug", "2 in_progress B"))
		require.Equal(t, 1, res.Checks[0].Failures)
		return p, r
	}
	for name, detour := range map[string][]string{
		"as it was":         nil,
		"a new id":          {"7 in_progress Fix the bug", "2 pending B"},
		"dropped and added": {"2 in_progress B"},
		"cancelled":         {"1 cancelled Fix the bug", "2 in_progress B"},
		"another case":      {"1 in_progress FIX  the bug.", "2 pending B"},
		"id given away":     {"1 in_progress Other work", "2 pending B"},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := start(t)
			if detour != nil {
				accepted(t, turn(t, r, detour...))
			}
			res := accepted(t, turn(t, r, "9 completed fix the BUG", "2 in_progress B"))
			require.Equal(t, 2, res.Checks[0].Failures)
			require.Equal(t, StatusNeedsReplan, res.Todos[0].Status)
			// And from there neither.
			refused(t, turn(t, r, "10 pending Fix the bug", "2 in_progress B"), CodeNeedsReplan)
			accepted(t, turn(t, r, "2 in_progress B"))
			refused(t, turn(t, r, "1 pending Fix the bug", "2 in_progress B"), CodeNeedsReplan)
		})
	}
	t.Run("new content starts at zero", func(t *testing.T) {
		p, r := start(t)
		res := accepted(t, turn(t, r, "1 completed Rewrite the parser", "2 in_progress B"))
		require.Equal(t, 1, res.Checks[0].Failures)
		s, err := p.Get(t.Context(), sess)
		require.NoError(t, err)
		require.Equal(t, 1, s.Todos[0].Failures)
	})
	t.Run("a pass in between does not reset them", func(t *testing.T) {
		outcomes := []Check{fail, pass, fail}
		n := 0
		p, _ := newTest(t, Config{Checks: ForAll(func(ctx context.Context, it Item) CheckResult { n++; return outcomes[n-1](ctx, it) })})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		accepted(t, turn(t, r, "1 completed A"))
		accepted(t, turn(t, r, "1 completed A"))
		accepted(t, turn(t, r, "1 in_progress A"))
		require.Equal(t, StatusNeedsReplan, accepted(t, turn(t, r, "1 completed A")).Todos[0].Status)
	})
	t.Run("they outlive the process", func(t *testing.T) {
		p, _ := start(t)
		q, _ := newTest(t, Config{Store: p.store, Checks: ForAll(fail)})
		res := accepted(t, turn(t, begin(t, q), "1 completed Fix the bug", "2 in_progress B"))
		require.Equal(t, StatusNeedsReplan, res.Todos[0].Status)
	})
}

func TestWaysOutOfNeedsReplan(t *testing.T) {
	stuck := func(t *testing.T) (*Planner, *Run) {
		p, _ := newTest(t, Config{MaxFailures: 1, Checks: ForAll(fail)})
		r := begin(t, p)
		turn(t, r, "1 in_progress A", "2 pending B")
		res := accepted(t, turn(t, r, "1 completed A", "2 in_progress B"))
		require.Equal(t, StatusNeedsReplan, res.Todos[0].Status)
		return p, r
	}
	for name, ls := range map[string][]string{
		"new content":       {"1 pending A in another way", "2 in_progress B"},
		"new content, now":  {"1 in_progress A in another way", "2 pending B"},
		"cancelled":         {"1 cancelled A", "2 in_progress B"},
		"dropped":           {"2 in_progress B"},
		"left as it is":     {"1 needs_replan A", "2 in_progress B"},
		"left, on a new id": {"5 needs_replan A", "2 in_progress B"},
	} {
		t.Run(name, func(t *testing.T) {
			_, r := stuck(t)
			accepted(t, turn(t, r, ls...))
		})
	}
	for name, ls := range map[string][]string{
		"pending":     {"1 pending A", "2 in_progress B"},
		"in_progress": {"1 in_progress A", "2 pending B"},
		"completed":   {"1 completed A", "2 in_progress B"},
	} {
		t.Run("not "+name, func(t *testing.T) {
			_, r := stuck(t)
			refused(t, turn(t, r, ls...), CodeNeedsReplan)
		})
	}
	t.Run("the host's Replan", func(t *testing.T) {
		p, r := stuck(t)
		_, err := p.Replan(t.Context(), sess, "1", "A")
		require.NoError(t, err)
		before(t, r)
		accepted(t, writeList(t, r, "1 in_progress A", "2 pending B"))
	})
}

// A done item of the same content as a stuck one stays as it is: it needs no way out.
func TestStuckContentDoesNotTouchDoneItems(t *testing.T) {
	outcomes := []Check{pass, fail}
	n := 0
	p, _ := newTest(t, Config{MaxFailures: 1, Checks: ForAll(func(ctx context.Context, it Item) CheckResult { n++; return outcomes[n-1](ctx, it) })})
	r := begin(t, p)
	turn(t, r, "1 in_progress Run tests", "2 pending Run tests", "3 pending C")
	accepted(t, turn(t, r, "1 completed Run tests", "2 in_progress Run tests", "3 pending C"))
	res := accepted(t, turn(t, r, "1 completed Run tests", "2 completed Run tests", "3 in_progress C"))
	require.Equal(t, []string{"1 completed Run tests", "2 needs_replan Run tests", "3 in_progress C"}, lines(res.Todos))
	require.True(t, accepted(t, turn(t, r, "1 completed Run tests", "2 needs_replan Run tests", "3 in_progress C")).Unchanged)
	accepted(t, turn(t, r, "1 completed Run tests", "2 cancelled Run tests", "3 in_progress C"))
	refused(t, turn(t, r, "1 in_progress Run tests", "2 cancelled Run tests", "3 pending C"), CodeNeedsReplan)
}

// An item in progress that depends on one that failed goes back to pending, and so does all that was done behind it.
func TestDependentsGoBack(t *testing.T) {
	var ran []string
	p, _ := newTest(t, Config{Dependencies: true, Checks: ForAll(func(ctx context.Context, it Item) CheckResult {
		ran = append(ran, it.ID)
		if it.ID == "1" {
			return fail(ctx, it)
		}
		return pass(ctx, it)
	})})
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B <- 1", "3 pending C <- 2", "4 pending D")
	res := accepted(t, turn(t, r, "1 completed A", "2 completed B <- 1", "3 in_progress C <- 2", "4 pending D"))
	require.Equal(t, []string{"1"}, ran, "what depends on a failed one is not checked")
	require.Equal(t, []string{"1 in_progress A", "2 pending B <- 1", "3 pending C <- 2", "4 pending D"}, lines(res.Todos))
	// In whatever order they stand, dependencies are checked first.
	ran = nil
	q, _ := newTest(t, Config{Dependencies: true, Checks: ForAll(func(_ context.Context, it Item) CheckResult {
		ran = append(ran, it.ID)
		return CheckResult{Status: CheckPassed}
	})})
	accepted(t, turn(t, begin(t, q), "3 completed C <- 2", "2 completed B <- 1", "1 completed A"))
	require.Equal(t, []string{"1", "2", "3"}, ran)
}

func TestNoCheckForAnItem(t *testing.T) {
	p, _ := newTest(t, Config{Checks: ByID("2", fail)})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	res := accepted(t, turn(t, r, "1 completed A"))
	require.Empty(t, res.Checks)
}

func TestRoute(t *testing.T) {
	name := func(s string) Check { return func(context.Context, Item) CheckResult { return CheckResult{Output: s} } }
	route := Route(nil, ByID("1", name("by id")), When(func(it Item) bool { return strings.HasPrefix(it.Content, "Test") }, name("by predicate")), ForAll(name("for all")))
	for content, want := range map[string]string{"1 pending Test": "by id", "2 pending Test it": "by predicate", "3 pending Other": "for all"} {
		it := list(content)[0]
		require.Equal(t, want, route(it)(t.Context(), it).Output)
	}
	require.Nil(t, Route()(Item{}))
	require.Nil(t, Route(ByID("1", pass))(Item{ID: "2"}))
}

func TestAllOfAnyOf(t *testing.T) {
	var ran int
	count := func(c Check) Check {
		return func(ctx context.Context, it Item) CheckResult { ran++; return c(ctx, it) }
	}
	for _, c := range []struct {
		check  Check
		status CheckStatus
		output string
		ran    int
	}{
		{AllOf(), CheckPassed, "", 0},
		{AllOf(count(pass), count(pass)), CheckPassed, "", 2},
		{AllOf(count(pass), count(fail), count(pass)), CheckFailed, "1 test failed", 2},
		{AllOf(count(cannotRun), count(fail)), CheckNotRun, "no such binary", 1},
		{AnyOf(), CheckNotRun, "", 0},
		{AnyOf(count(fail), count(pass), count(fail)), CheckPassed, "fine", 2},
		{AnyOf(count(fail), count(cannotRun)), CheckFailed, "1 test failed\nno such binary", 2},
		{AnyOf(count(cannotRun), count(cannotRun)), CheckNotRun, "no such binary\nno such binary", 2},
	} {
		ran = 0
		require.Equal(t, CheckResult{Status: c.status, Output: c.output}, c.check(t.Context(), Item{}))
		require.Equal(t, c.ran, ran)
	}
}

func TestFileExists(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	require.Equal(t, CheckFailed, FileExists(file)(t.Context(), Item{}).Status)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.Equal(t, CheckPassed, FileExists(file)(t.Context(), Item{}).Status)
	require.Equal(t, CheckPassed, FileExists(dir)(t.Context(), Item{}).Status)
	require.Equal(t, CheckNotRun, FileExists(filepath.Join(file, "in a file"))(t.Context(), Item{}).Status)
}

// TestMain lets the test binary be the command that checks run: no shell is needed.
func TestMain(m *testing.M) {
	switch os.Getenv("CORE_TEST_COMMAND") {
	case "":
		os.Exit(m.Run())
	case "exit":
		fmt.Println("out")
		fmt.Fprintln(os.Stderr, "err")
		code, _ := strconv.Atoi(os.Args[1])
		os.Exit(code)
	case "args":
		fmt.Printf("%q", os.Args[1:])
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
	case "flood":
		chunk := strings.Repeat("x", 1<<20)
		for range 10 {
			fmt.Print(chunk)
		}
		fmt.Print("the end")
		os.Exit(1)
	case "hang":
		fmt.Println("started")
		select {} //nolint:staticcheck // killed
	case "kill":
		killSelf()
	}
}

func command(mode string, args ...string) Command {
	return Command{Path: os.Args[0], Args: args, Env: []string{"CORE_TEST_COMMAND=" + mode}}
}

func TestCommandCheck(t *testing.T) {
	run := func(c Command) CheckResult { return CommandCheck(c)(t.Context(), Item{ID: "1", Content: "A"}) }
	res := run(command("exit", "0"))
	require.Equal(t, CheckPassed, res.Status)
	require.Contains(t, res.Output, "out\n")
	require.Contains(t, res.Output, "err\n")
	res = run(command("exit", "3"))
	require.Equal(t, CheckFailed, res.Status)
	require.Contains(t, res.Output, "\nexit status 3")
	res = run(Command{Path: "no-such-binary-anywhere"})
	require.Equal(t, CheckNotRun, res.Status)
	require.Contains(t, res.Output, "no-such-binary-anywhere")
	res = run(Command{Path: os.Args[0], Dir: filepath.Join(t.TempDir(), "missing")})
	require.Equal(t, CheckNotRun, res.Status)
	res = run(command("kill"))
	require.Equal(t, CheckNotRun, res.Status, "a signal from outside is no verdict")
	res = run(command("flood"))
	require.Equal(t, CheckFailed, res.Status)
	require.LessOrEqual(t, len(res.Output), commandOutput+100)
	require.True(t, strings.HasSuffix(res.Output, "the end\nexit status 1"))
}

func TestCommandCheckHangs(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, _ := newTest(t, Config{CheckTime: 200 * time.Millisecond, Checks: ForAll(CommandCheck(command("hang")))})
	r := begin(t, p)
	turn(t, r, "1 in_progress A", "2 pending B")
	res := accepted(t, turn(t, r, "1 completed A", "2 in_progress B"))
	require.Equal(t, CheckTimed, res.Checks[0].Status)
	require.Equal(t, []string{"1 pending A", "2 in_progress B"}, storedLines(t, p))
}

// Nothing that the model writes reaches the program.
func TestCommandCheckIgnoresItemText(t *testing.T) {
	evil := Item{ID: "$(touch pwned)", Content: "; touch pwned; `id` $HOME %s {{.}}", Description: "-rf", Owner: "x", Metadata: []byte(`{"PATH":"/evil"}`)}
	clean := CommandCheck(command("args", "$HOME", "a b", "%s"))(t.Context(), Item{ID: "1", Content: "A"})
	got := CommandCheck(command("args", "$HOME", "a b", "%s"))(t.Context(), evil)
	require.Equal(t, CheckPassed, got.Status)
	require.Equal(t, clean, got)
	require.Equal(t, "[\"$HOME\" \"a b\" \"%s\"]CORE_TEST_COMMAND=args\n", got.Output)
	_, err := os.Stat("pwned")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The model sees output cut to the limit, beginning and end.
func TestCheckOutputIsCut(t *testing.T) {
	big := "BEGIN" + strings.Repeat("é", 5<<20) + "END"
	p, _ := newTest(t, Config{CheckOutput: 100, Checks: ForAll(func(context.Context, Item) CheckResult { return CheckResult{Status: CheckFailed, Output: big} })})
	r := begin(t, p)
	turn(t, r, "1 in_progress A")
	res := accepted(t, turn(t, r, "1 completed A"))
	require.True(t, strings.HasPrefix(res.Checks[0].Output, "BEGIN"))
	require.True(t, strings.HasSuffix(res.Checks[0].Output, "END"))
	require.Contains(t, res.Checks[0].Output, "[...]")
	require.Less(t, len(res.Checks[0].Output), 110)
	require.Less(t, len(document(t, p.store)), 1000)
	rapid.Check(t, func(rt *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(rt, "s"))
		most := rapid.IntRange(1, 200).Draw(rt, "most")
		got := cut(s, most)
		if !utf8.ValidString(got) || len(got) > 3*most {
			rt.Fatalf("%q", got)
		}
	})
}

func TestContentKey(t *testing.T) {
	same := [][2]string{{"Fix it", "fix  IT!"}, {"Fix it", " Fix\tit."}, {"ÄRGER", "ärger"}}
	for _, s := range same {
		require.Equal(t, contentKey(s[0]), contentKey(s[1]), s)
	}
	different := [][2]string{{"Fix it", "Fix that"}, {"Step 1", "Step 2"}, {"...", "!!!"}, {"😀", "😁"}}
	for _, s := range different {
		require.NotEqual(t, contentKey(s[0]), contentKey(s[1]), s)
	}
}

func TestContentKeySeesWordsAndSigns(t *testing.T) {
	for _, same := range [][2]string{
		{"Patch the parser", " patch  THE parser. "}, {"Patch the parser", "Patch-the-parser!"}, {"run tests (all)", "Run tests all"},
		{"...", "..."},
	} {
		require.Equal(t, contentKey(same[0]), contentKey(same[1]), "%q", same)
	}
	for _, other := range [][2]string{
		{"Port to C++", "Port to C#"}, {"Use version 1.5", "Use version 15"}, {"Raise it by 5%", "Raise it by 5"},
		{"Patch the parser", "Patch the parsers"}, {"...", "!!!"}, {"Fix a", "Fix b"},
	} {
		require.NotEqual(t, contentKey(other[0]), contentKey(other[1]), "%q", other)
	}
}

func TestOutputsOfContentsThatLeftAreForgotten(t *testing.T) {
	s := &state{Todos: []Item{{ID: "1", Content: "A"}, {ID: "2", Content: "B"}}}
	s.fail(&s.Todos[0], "of A")
	s.Todos = s.Todos[1:]
	s.fail(&s.Todos[0], "of B")
	require.Equal(t, record{ID: "1", Failures: 1}, s.Checks[contentKey("A")], "the count stays, the output does not")
	require.Equal(t, record{ID: "2", Failures: 1, Output: "of B"}, s.Checks[contentKey("B")])
}
