package core

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// testRules are the rules that write_todos is judged by, with the default limits.
var testRules = rules{limits: Limits{Items: 100, Content: 1000, ID: 80}, maxFailures: 2, exactlyOne: true}

// stateOf is a state with this list; an item that needs replanning has failed as often as it takes.
func stateOf(ls ...string) *state {
	s := &state{Schema: schemaNow, Revision: 7, Todos: list(ls...)}
	for i := range s.Todos {
		for s.Todos[i].Status == StatusNeedsReplan && s.Checks[contentKey(s.Todos[i].Content)].Failures < testRules.maxFailures {
			s.fail(&s.Todos[i], "why")
		}
	}
	return s
}

// Every status to every status, one item of the same content: a new status has no row here and fails the test.
func TestEveryStatusToEveryStatus(t *testing.T) {
	const ok = Code("")
	type row map[Status]Code
	free := row{StatusPending: CodeNotOneInProgress, StatusInProgress: ok, StatusNeedsReplan: CodeReservedStatus, StatusCompleted: ok, StatusCancelled: ok}
	table := map[Status]row{
		"":               free, // no such item before
		StatusPending:    free,
		StatusInProgress: free,
		StatusNeedsReplan: {StatusPending: CodeNeedsReplan, StatusInProgress: CodeNeedsReplan, StatusNeedsReplan: ok,
			StatusCompleted: CodeNeedsReplan, StatusCancelled: ok},
		StatusCompleted: free,
		StatusCancelled: free,
	}
	for _, from := range append([]Status{""}, Statuses()...) {
		require.Contains(t, table, from)
		for _, to := range Statuses() {
			want, known := table[from][to]
			require.True(t, known, "%q to %q is in no row: decide", from, to)
			prev := stateOf()
			if from != "" {
				prev = stateOf("1 " + string(from) + " A")
			}
			next, rep, bad := apply(testRules, prev, writeOf(t, "1 "+string(to)+" A"))
			if want != ok {
				require.NotNil(t, bad, "%q to %q", from, to)
				require.Equal(t, want, bad.Code, "%q to %q", from, to)
				require.Equal(t, "1", bad.Item)
				continue
			}
			require.Nil(t, bad, "%q to %q", from, to)
			require.Equal(t, to, next.Todos[0].Status)
			require.Equal(t, from == to, rep.unchanged, "%q to %q", from, to)
			require.Equal(t, to == StatusCompleted && from != StatusCompleted, len(rep.completed) == 1, "%q to %q", from, to)
			closedBefore := from == StatusCompleted || from == StatusCancelled
			require.Equal(t, closedBefore && to == StatusInProgress, len(rep.reopened) == 1, "%q to %q", from, to)
			require.Empty(t, rep.dropped)
		}
	}
	// New content is a new approach: from needs_replan everything is as from any other status.
	for _, to := range Statuses() {
		_, _, bad := apply(testRules, stateOf("1 needs_replan A"), writeOf(t, "1 "+string(to)+" B"))
		if free[to] == ok {
			require.Nil(t, bad, to)
		} else {
			require.NotNil(t, bad, to)
			require.Equal(t, free[to], bad.Code, to)
		}
	}
}

// All pairs of statuses to all pairs, two items, against the rules said in another way.
func TestEveryPairToEveryPair(t *testing.T) {
	n := 0
	for _, a := range Statuses() {
		for _, b := range Statuses() {
			for _, c := range Statuses() {
				for _, d := range Statuses() {
					n++
					name := fmt.Sprintf("%s,%s to %s,%s", a, b, c, d)
					prev := stateOf("1 "+string(a)+" A", "2 "+string(b)+" B")
					next, rep, bad := apply(testRules, prev, writeOf(t, "1 "+string(c)+" A", "2 "+string(d)+" B"))
					var want Code
					for _, s := range [][2]Status{{b, d}, {a, c}} { // the first item's trouble comes first
						switch {
						case s[0] != StatusNeedsReplan && s[1] == StatusNeedsReplan:
							want = CodeReservedStatus
						case s[0] == StatusNeedsReplan && s[1] != StatusNeedsReplan && s[1] != StatusCancelled:
							want = CodeNeedsReplan
						}
					}
					both := c == StatusInProgress && d == StatusInProgress
					idle := c != StatusInProgress && d != StatusInProgress && (c == StatusPending || d == StatusPending)
					if want == "" && (both || idle) {
						want = CodeNotOneInProgress
					}
					if want != "" {
						require.NotNil(t, bad, name)
						require.Equal(t, want, bad.Code, name)
						continue
					}
					require.Nil(t, bad, name)
					require.Equal(t, a == c && b == d, rep.unchanged, name)
					require.Equal(t, []string{"1 " + string(c) + " A", "2 " + string(d) + " B"}, lines(next.Todos))
				}
			}
		}
	}
	require.Equal(t, 625, n)
}

// codes reads the codes from the source, so that none can be forgotten.
func codes(t *testing.T) map[string]Code {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	require.NoError(t, err)
	out := map[string]Code{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Code" {
				s, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				out[v.Names[0].Name] = Code(s)
			}
		}
		return true
	})
	require.Greater(t, len(out), 15)
	return out
}

// Each code comes of something that a model can do, its message names the item and says what to send, and nothing changes.
func TestEveryRefusal(t *testing.T) {
	long := strings.Repeat("x", 1001)
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("%d pending Item %d", i+1, i+1))
	}
	start := []string{"1 in_progress A", "2 pending B"}
	for _, c := range []struct {
		code  Code
		cfg   Config
		start []string
		send  string
		says  []string
		do    func(*testing.T, *Run) result // in place of send
	}{
		{code: CodeMalformed, send: `{"todos":`, says: []string{"Send the whole list again"}},
		{code: CodeEmptyContent, send: `{"todos":[{"id":"7","content":" ","status":"in_progress"}]}`, says: []string{"item 1 (id 7)", "what is to be done"}},
		{code: CodeContentTooLong, send: args("1 in_progress " + long), says: []string{"item 1 (id 1)", "1001", "1000"}},
		{code: CodeIDTooLong, send: args(strings.Repeat("i", 81) + " in_progress A"), says: []string{"item 1", "81", "80"}},
		{code: CodeTooManyItems, send: args(many...), says: []string{"101", "100"}},
		{code: CodeBadStatus, send: args("1 doing A"), says: []string{"item 1 (id 1)", `"doing"`, "pending, in_progress, completed or cancelled"}},
		{code: CodeDuplicateID, send: args("1 in_progress A", "2 pending B", "1 pending C"), says: []string{`"1"`, "items 1 and 3"}},
		{code: CodeDuplicateID, send: `{"todos":[{"id":1,"content":"A","status":"in_progress"},{"id":" 1","content":"B","status":"pending"}]}`, says: []string{`"1"`, "items 1 and 2"}},
		{code: CodeNotOneInProgress, send: args("1 in_progress A", "2 in_progress B"), says: []string{"Items 1 and 2", "Keep one"}},
		{code: CodeNotOneInProgress, send: args("1 pending A", "2 pending B"), says: []string{"No item is in_progress", `1 ("A")`}},
		{code: CodeEmptyList, send: `{"todos":[]}`, says: []string{"2 items are open (1, 2)"}},
		{code: CodeNeedsReplan, start: []string{"1 needs_replan A", "2 in_progress B"}, send: args("1 pending A", "2 in_progress B"), says: []string{`Item 1 ("A")`, "new approach"}},
		{code: CodeReservedStatus, send: args("1 needs_replan A", "2 in_progress B"), says: []string{"Item 1", "only failed checks set"}},
		{code: CodeUnknownDependency, cfg: Config{Dependencies: true}, send: args("1 in_progress A", "2 pending B <- 9"), says: []string{"Item 2", `"9"`}},
		{code: CodeDependencyCycle, cfg: Config{Dependencies: true}, send: args("1 pending A <- 3", "2 pending B <- 1", "3 pending C <- 2", "4 in_progress D"), says: []string{"1 -> 3 -> 2 -> 1"}},
		{code: CodeDependencyCycle, cfg: Config{Dependencies: true}, send: args("1 pending A <- 1", "4 in_progress D"), says: []string{"1 -> 1"}},
		{code: CodeBlocked, cfg: Config{Dependencies: true}, send: args("1 pending A", "2 in_progress B <- 1"), says: []string{"Item 2 is in_progress", "depends on 1"}},
		{code: CodeBlocked, cfg: Config{Dependencies: true}, send: args("1 in_progress A", "2 completed B <- 1"), says: []string{"Item 2 is completed", "depends on 1"}},
		{code: CodeBlocked, cfg: Config{Dependencies: true}, send: args("1 cancelled A", "2 in_progress B <- 1"), says: []string{"depends on 1"}},
		{code: CodeOpenItemsDropped, cfg: Config{KeepOpenItems: true}, send: args("1 in_progress A"), says: []string{`Item 2 ("B")`, "cancelled"}},
		{code: CodeWaitNotConfigured, send: argsWait([]string{"t"}, start...), says: []string{"Leave wait_for_tasks out"}},
		{code: CodeWaitInvalid, cfg: Config{ValidateWait: validWait}, send: argsWait([]string{" "}, start...), says: []string{"wait_for_tasks[0] is blank"}},
		{code: CodeUnknownItem, cfg: Config{Updates: Merge}, send: `{"todos":[{"id":"9","status":"completed"}]}`, says: []string{`"9"`, "the ids are 1, 2"}},
		{code: CodeStaleWrite, says: []string{"changed by somebody else"}, do: func(t *testing.T, r *Run) result {
			before(t, r)
			seed(t, r.p, "1 in_progress A", "2 pending B", "3 pending C")
			res := writeList(t, r, "1 completed A", "2 in_progress B")
			require.Len(t, res.Todos, 3, "it shows the list as it is now")
			seed(t, r.p, start...)
			return res
		}},
		{code: CodeParallelWrite, says: []string{"2 times in one response", "none of the calls took effect"}, do: func(t *testing.T, r *Run) result {
			before(t, r)
			calls := []Call{{ID: "a", Name: DefaultToolName, Args: args("1 completed A")}, {ID: "b", Name: DefaultToolName, Args: args("1 completed A")}}
			after(t, r, Response{Calls: calls})
			refused(t, call(t, r, calls[1]), CodeParallelWrite)
			return call(t, r, calls[0])
		}},
		{code: CodeNotSaved, says: []string{"nothing was saved"}, do: func(t *testing.T, r *Run) result {
			s := faulty()
			s.set(func(int) error { return ErrUnavailable }, nil)
			p, _ := newTest(t, Config{Store: s, OnStoreError: goOn})
			return writeList(t, begin(t, p), start...)
		}},
	} {
		t.Run(string(c.code), func(t *testing.T) {
			p, rec := newTest(t, c.cfg)
			if c.start == nil {
				c.start = start
			}
			seed(t, p, c.start...)
			if c.code == CodeNeedsReplan {
				stuckNow(t, p, "1")
			}
			r := begin(t, p)
			var res result
			if c.do == nil {
				res = refused(t, writeRaw(t, r, c.send), c.code)
				require.Equal(t, c.start, lines(res.Todos))
				refusals := rec.events(EventWriteRefused)
				require.Len(t, refusals, 1)
				require.Equal(t, c.code, refusals[0].Refusal.Code)
				require.Nil(t, refusals[0].Todos, "a refusal's event has no list")
			} else {
				res = refused(t, c.do(t, r), c.code)
			}
			for _, s := range c.says {
				require.Contains(t, res.Error.Message, s)
			}
			require.Equal(t, c.start, storedLines(t, p))
			seenCodes[c.code] = true
		})
	}
	for name, code := range codes(t) {
		require.True(t, seenCodes[code], "%s (%s) has no case here", name, code)
	}
}

var seenCodes = map[Code]bool{}

// stuckNow makes the ledger agree with a seeded needs_replan item.
func stuckNow(t *testing.T, p *Planner, id string) {
	t.Helper()
	st, v, err := p.load(t.Context(), sess)
	require.NoError(t, err)
	it := &st.Todos[find(st.Todos, id)]
	for range p.cfg.MaxFailures {
		st.fail(it, "why")
	}
	_, err = p.save(t.Context(), sess, st, v, nil)
	require.NoError(t, err)
}

func TestLimitsAreConfigurable(t *testing.T) {
	p, _ := newTest(t, Config{Limits: Limits{Items: 2, Content: 3, ID: 2}})
	r := begin(t, p)
	refused(t, writeList(t, r, "1 in_progress A", "2 pending B", "3 pending C"), CodeTooManyItems)
	refused(t, writeList(t, r, "1 in_progress AAAA"), CodeContentTooLong)
	refused(t, writeList(t, r, "123 in_progress A"), CodeIDTooLong)
	accepted(t, writeList(t, r, "12 in_progress ÄÖÜ", "ÄÖ pending B")) // characters, not bytes
}

func TestMissingIDs(t *testing.T) {
	noID := func(status, content string) string {
		return fmt.Sprintf(`{"content":%q,"status":%q}`, content, status)
	}
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	res := accepted(t, writeRaw(t, r, `{"todos":[`+noID("in_progress", "A")+`,`+noID("pending", "B")+`]}`))
	require.Equal(t, []string{"1 in_progress A", "2 pending B"}, lines(res.Todos))
	// The same content keeps its id wherever it stands; a new one gets the next integer.
	res = accepted(t, writeRaw(t, r, `{"todos":[`+noID("in_progress", "C")+`,`+noID("pending", "B")+`,`+noID("completed", "A")+`]}`))
	require.Equal(t, []string{"3 in_progress C", "2 pending B", "1 completed A"}, lines(res.Todos))
	// Doubled contents get their ids in order, the rest new ones.
	res = accepted(t, writeRaw(t, r, `{"todos":[`+noID("in_progress", "A")+`,`+noID("pending", "A")+`,`+noID("pending", "B")+`,`+noID("cancelled", "C")+`]}`))
	require.Equal(t, []string{"1 in_progress A", "4 pending A", "2 pending B", "3 cancelled C"}, lines(res.Todos))
	// An id that was sent is not given away a second time.
	res = accepted(t, writeRaw(t, r, `{"todos":[{"id":"1","content":"Z","status":"in_progress"},`+noID("pending", "A")+`,`+noID("pending", "A")+`,`+noID("pending", "B")+`]}`))
	require.Equal(t, []string{"1 in_progress Z", "4 pending A", "5 pending A", "2 pending B"}, lines(res.Todos))
}

func TestIDsGrowAsNumbersNotAsText(t *testing.T) {
	p, _ := newTest(t, Config{})
	seed(t, p, "8 completed A", "9 in_progress B", "x pending C")
	res := accepted(t, writeRaw(t, begin(t, p), `{"todos":[{"id":"9","content":"B","status":"in_progress"},{"id":"x","content":"C","status":"pending"},`+
		`{"content":"D","status":"pending"},{"content":"E","status":"pending"}]}`))
	require.Equal(t, []string{"9 in_progress B", "x pending C", "10 pending D", "11 pending E"}, lines(res.Todos))
}

// Ids at the end of what an integer holds: new ids are still new.
func TestHugeIDs(t *testing.T) {
	for _, huge := range []string{"4611686018427387902", "4611686018427387903", "4611686018427387904", "9223372036854775807", "9223372036854775808", "-9223372036854775808"} {
		for _, mode := range []Updates{Replace, Merge} {
			t.Run(huge+" "+string(mode), func(t *testing.T) {
				p, _ := newTest(t, Config{Updates: mode})
				r := begin(t, p)
				accepted(t, writeRaw(t, r, `{"todos":[{"id":`+huge+`,"content":"A","status":"in_progress"},{"content":"B","status":"pending"},{"content":"C","status":"pending"}]}`))
				s, err := p.Get(t.Context(), sess)
				require.NoError(t, err)
				items := s.Todos
				ids := map[string]bool{}
				for _, it := range items {
					it.DependsOn = nil
					ids[it.ID] = true
				}
				require.Len(t, ids, 3)
				b := argsOf(items)
				b = strings.TrimSuffix(b, "]}") + `,{"content":"D","status":"pending"},{"content":"E","status":"pending"}]}`
				accepted(t, writeRaw(t, r, b))
				s, err = p.Get(t.Context(), sess)
				require.NoError(t, err, "the document can still be read")
				require.Len(t, s.Todos, 5)
			})
		}
	}
}

func TestDroppedIsSaid(t *testing.T) {
	p, rec := newTest(t, Config{})
	r := begin(t, p)
	accepted(t, writeList(t, r, "1 in_progress A", "2 pending B", "3 completed C"))
	res := accepted(t, writeList(t, r, "1 in_progress A"))
	require.Equal(t, []brief{{"2", "B"}}, res.Dropped, "open items that are missing; not closed ones")
	e := rec.events(EventListChanged)
	require.Equal(t, []string{"2 pending B"}, lines(e[len(e)-1].Dropped))
	// A renamed item is not dropped.
	res = accepted(t, writeList(t, r, "7 in_progress A"))
	require.Empty(t, res.Dropped)
	// Of two items with one content, one that goes is dropped.
	accepted(t, writeList(t, r, "7 in_progress A", "8 pending A"))
	res = accepted(t, writeList(t, r, "9 in_progress A"))
	require.Len(t, res.Dropped, 1)
}

func TestReopenedIsSaid(t *testing.T) {
	for _, closed := range []string{"completed", "cancelled"} {
		p, rec := newTest(t, Config{})
		r := begin(t, p)
		accepted(t, writeList(t, r, "1 in_progress A", "2 "+closed+" B"))
		res := accepted(t, writeList(t, r, "1 in_progress A", "2 pending B"))
		require.Equal(t, []brief{{"2", "B"}}, res.Reopened)
		e := rec.events(EventListChanged)
		require.Equal(t, []string{"2 pending B"}, lines(e[len(e)-1].Reopened))
		res = accepted(t, writeList(t, r, "1 in_progress A", "2 cancelled B"))
		require.Empty(t, res.Reopened)
	}
}

func TestKeepOpenItems(t *testing.T) {
	p, _ := newTest(t, Config{KeepOpenItems: true})
	r := begin(t, p)
	accepted(t, writeList(t, r, "1 in_progress A", "2 pending B", "3 completed C"))
	refused(t, writeList(t, r, "1 in_progress A", "3 completed C"), CodeOpenItemsDropped)
	accepted(t, writeList(t, r, "1 in_progress A", "2 pending B"))                          // a closed one may go
	accepted(t, writeList(t, r, "1 in_progress A", "2 cancelled B"))                        // cancelled is not dropped
	accepted(t, writeList(t, r, "7 in_progress A"))                                         // a new id for the same content
	_, err := p.Update(t.Context(), sess, func([]Item) ([]Item, error) { return nil, nil }) // the host may
	require.NoError(t, err)
}

func TestEmptyList(t *testing.T) {
	p, _ := newTest(t, Config{})
	r := begin(t, p)
	res := accepted(t, writeList(t, r))
	require.True(t, res.Unchanged)
	require.Zero(t, res.Revision)
	accepted(t, writeList(t, r, "1 in_progress A"))
	res = refused(t, writeList(t, r), CodeEmptyList)
	require.Contains(t, res.Error.Message, "item 1 is open")
	accepted(t, writeList(t, r, "1 completed A"))
	res = accepted(t, writeList(t, r))
	require.Empty(t, res.Todos)
	require.Contains(t, res.raw, `"todos":[]`)
	require.Equal(t, int64(3), res.Revision)
}

// Rule 6: no new revision, no event, no save.
func TestIdenticalWriteChangesNothing(t *testing.T) {
	store := faulty()
	p, rec := newTest(t, Config{Store: store, Dependencies: true})
	r := begin(t, p)
	ls := []string{"1 in_progress A", "2 pending B <- 1"}
	turn(t, r, ls...)
	doc, n := document(t, store), len(rec.events(EventListChanged))
	store.set(nil, nil)
	res := accepted(t, turn(t, r, ls...))
	require.True(t, res.Unchanged)
	require.Equal(t, int64(1), res.Revision)
	require.Equal(t, ls, lines(res.Todos))
	_, saves := store.counts()
	require.Zero(t, saves)
	require.Equal(t, doc, document(t, store))
	require.Len(t, rec.events(EventListChanged), n)
	// Whatever the shape it came in.
	res = accepted(t, writeRaw(t, r, `{"todos":[{"content":" A","status":"In Progress"},{"id":2,"content":"B","status":"todo","depends_on":[1,1,""]}]}`))
	require.True(t, res.Unchanged)
	// The order is priority: another order is another list.
	res = accepted(t, writeList(t, r, ls[1], ls[0]))
	require.False(t, res.Unchanged)
	require.Equal(t, int64(2), res.Revision)
}

func TestResultSaysNext(t *testing.T) {
	p, _ := newTest(t, Config{Dependencies: true})
	r := begin(t, p)
	res := accepted(t, writeList(t, r, "1 pending A <- 2", "2 in_progress B"))
	require.Equal(t, &brief{"2", "B"}, res.Next)
	res = accepted(t, writeList(t, r, "1 cancelled A", "2 completed B"))
	require.Nil(t, res.Next)
	require.Empty(t, res.Reminder, "two items")
	res = accepted(t, writeList(t, r, "1 cancelled A", "2 completed B", "3 completed C"))
	require.Equal(t, DefaultTexts().Verify, res.Reminder)
	res = accepted(t, writeList(t, r, "1 cancelled A", "2 completed B", "3 completed C"))
	require.Empty(t, res.Reminder, "said once")
	res = accepted(t, writeList(t, r, "1 in_progress A", "2 completed B", "3 completed C"))
	require.Empty(t, res.Reminder)
}

// The keys of a result stand in the order of docs/design.md, section 3.
func TestResultOrder(t *testing.T) {
	p, _ := newTest(t, Config{Dependencies: true})
	r := begin(t, p)
	res := accepted(t, writeList(t, r, "1 in_progress A", "2 completed B"))
	require.Equal(t, `{"todos":[{"id":"1","content":"A","status":"in_progress"},{"id":"2","content":"B","status":"completed"}],`+
		`"summary":{"total":2,"pending":0,"in_progress":1,"completed":1,"cancelled":0,"needs_replan":0},"revision":1,"next":{"id":"1","content":"A"}}`, res.raw)
	res = refused(t, writeRaw(t, r, `{"todos":[]}`), CodeEmptyList)
	require.Regexp(t, `^\{"error":\{"code":"empty_list","message":".*"\},"todos":\[.*\],"summary":\{.*\},"revision":1\}$`, res.raw)
}

// Rule 3, decided from the response: whatever the order in which the tools run, none takes effect.
func TestParallelWritesChangeNothing(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		store := NewMemoryStore()
		p, _ := newTest(t, Config{Store: store})
		r := begin(t, p)
		turn(t, r, "1 in_progress A")
		before(t, r)
		doc := document(t, store)
		calls := []Call{
			{ID: "x", Name: "write_todos", Args: args("1 completed A")},
			{ID: "y", Name: "WRITE_TODOS", Args: args("1 cancelled A")},
		}
		after(t, r, Response{Calls: append([]Call{{ID: "s", Name: "search"}}, calls...)})
		for _, i := range order {
			res := refused(t, call(t, r, calls[i]), CodeParallelWrite)
			require.Equal(t, []string{"1 in_progress A"}, lines(res.Todos))
			require.Equal(t, int64(1), res.Revision)
		}
		st, err := decodeState([]byte(document(t, store)))
		require.NoError(t, err)
		was, err := decodeState([]byte(doc))
		require.NoError(t, err)
		require.Equal(t, was.Todos, st.Todos)
		require.Equal(t, was.Revision, st.Revision)
		accepted(t, turn(t, r, "1 completed A")) // the next response is judged by itself
	}
}

// Rule 10.
func TestStaleWrite(t *testing.T) {
	change := map[string]func(*testing.T, *Planner){
		"the host": func(t *testing.T, p *Planner) { seed(t, p, "1 in_progress A", "2 pending New") },
		"another run": func(t *testing.T, p *Planner) {
			accepted(t, turn(t, begin(t, p), "1 in_progress A", "2 pending New"))
		},
		"another process": func(t *testing.T, p *Planner) {
			other, _ := newTest(t, Config{Store: p.store})
			accepted(t, turn(t, begin(t, other), "1 in_progress A", "2 pending New"))
		},
	}
	for who, by := range change {
		t.Run(who, func(t *testing.T) {
			p, _ := newTest(t, Config{})
			seed(t, p, "1 in_progress A")
			r := begin(t, p)
			before(t, r)
			by(t, p)
			after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
			res := refused(t, writeList(t, r, "1 completed A"), CodeStaleWrite)
			require.Equal(t, []string{"1 in_progress A", "2 pending New"}, lines(res.Todos))
			require.Equal(t, int64(2), res.Revision)
			// The refusal has shown the list: built on it, the write is good.
			accepted(t, writeList(t, r, "1 completed A", "2 in_progress New"))
		})
		t.Run(who+", identical write", func(t *testing.T) {
			p, _ := newTest(t, Config{})
			seed(t, p, "1 in_progress A")
			r := begin(t, p)
			before(t, r)
			by(t, p)
			after(t, r, Response{Calls: []Call{{ID: "c", Name: DefaultToolName}}})
			refused(t, writeList(t, r, "1 in_progress A"), CodeStaleWrite)
		})
	}
}

func TestBaseRevision(t *testing.T) {
	t.Run("nothing was shown: the stored list", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		seed(t, p, "1 in_progress A")
		accepted(t, writeList(t, begin(t, p), "1 completed A"))
	})
	t.Run("what BeforeModel showed last", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		seed(t, p, "1 in_progress A", "2 pending B")
		before(t, r) // shown now
		accepted(t, writeList(t, r, "1 completed A", "2 in_progress B"))
	})
	t.Run("what its own write made", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		r := begin(t, p)
		accepted(t, writeList(t, r, "1 in_progress A"))
		accepted(t, writeList(t, r, "1 in_progress A", "2 pending B"))
		seed(t, p, "1 in_progress A")
		refused(t, writeList(t, r, "1 completed A", "2 in_progress B"), CodeStaleWrite)
	})
	t.Run("shown in this run, not in an earlier one", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		r := begin(t, p)
		accepted(t, writeList(t, r, "1 in_progress A"))
		seed(t, p, "1 in_progress A", "2 pending B")
		accepted(t, writeList(t, begin(t, p), "1 in_progress A", "2 cancelled B"))
	})
	t.Run("it survives in the run's state", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		seed(t, p, "1 in_progress A", "2 pending B")
		again, err := p.Resume(r.State())
		require.NoError(t, err)
		refused(t, writeList(t, again, "1 completed A"), CodeStaleWrite)
	})
	t.Run("another list of the same number", func(t *testing.T) {
		p, _ := newTest(t, Config{})
		seed(t, p, "1 in_progress A")
		r := begin(t, p)
		before(t, r)
		require.NoError(t, p.Clear(t.Context(), sess))
		seed(t, p, "1 in_progress Other")
		refused(t, writeList(t, r, "1 completed A"), CodeStaleWrite)
	})
}

// The pure step leaves what it is given as it is.
func TestApplyIsPure(t *testing.T) {
	r := testRules
	r.dependencies = true
	rapid.Check(t, func(rt *rapid.T) {
		prev := genState(rt)
		w := genWrite(rt, prev)
		before, _ := prev.encode()
		sent := fmt.Sprint(w)
		next, _, bad := apply(r, prev, w)
		if bad == nil {
			for i := range next.Todos {
				next.Todos[i].Content += "!"
				for j := range next.Todos[i].DependsOn {
					next.Todos[i].DependsOn[j] += "!"
				}
			}
		}
		after, _ := prev.encode()
		if string(before) != string(after) {
			rt.Fatalf("the state changed:\n%s\n%s", before, after)
		}
		if w.merge && sent != fmt.Sprint(w) {
			rt.Fatalf("the write changed:\n%s\n%s", sent, fmt.Sprint(w))
		}
	})
}

// genState is a state that the rules with dependencies could have made.
func genState(rt *rapid.T) *state {
	n := rapid.IntRange(0, 8).Draw(rt, "items")
	s := &state{Schema: schemaNow, Revision: int64(n)}
	for i := range n {
		it := Item{ID: strconv.Itoa(i + 1), Content: "Content " + string(rune('a'+i)), Status: rapid.SampledFrom(Statuses()).Draw(rt, "status")}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(rt, "edge") == 0 {
				it.DependsOn = append(it.DependsOn, strconv.Itoa(j+1))
			}
		}
		s.Todos = append(s.Todos, it)
	}
	demote(s.Todos)
	for i, found := 0, false; i < n; i++ {
		if s.Todos[i].Status == StatusInProgress {
			if found {
				s.Todos[i].Status = StatusPending
			}
			found = true
		}
		if s.Todos[i].Status == StatusNeedsReplan {
			s.fail(&s.Todos[i], "x")
			s.fail(&s.Todos[i], "x")
		}
	}
	return s
}

// genWrite is a write that may or may not be good.
func genWrite(rt *rapid.T, prev *state) write {
	w := write{merge: rapid.Bool().Draw(rt, "merge")}
	items := cloneItems(prev.Todos)
	for range rapid.IntRange(0, 2).Draw(rt, "more") {
		items = append(items, Item{Content: rapid.SampledFrom([]string{"New", "Newer", "Content a"}).Draw(rt, "content"), Status: StatusPending})
	}
	for i := range items {
		if rapid.IntRange(0, 5).Draw(rt, "skip") == 0 {
			continue
		}
		it := items[i]
		if rapid.IntRange(0, 2).Draw(rt, "change") == 0 {
			it.Status = rapid.SampledFrom(Statuses()).Draw(rt, "to")
		}
		if rapid.IntRange(0, 9).Draw(rt, "rewrite") == 0 {
			it.Content += " anew"
		}
		if rapid.IntRange(0, 9).Draw(rt, "edge") == 0 {
			it.DependsOn = append(slices.Clone(it.DependsOn), strconv.Itoa(rapid.IntRange(1, 9).Draw(rt, "dep")))
		}
		has := hasContent | hasStatus | hasDeps
		if it.ID != "" && rapid.IntRange(0, 9).Draw(rt, "noid") > 0 {
			has |= hasID
		} else {
			it.ID = ""
		}
		w.items = append(w.items, writeItem{has: has, item: it, status: string(it.Status)})
	}
	return w
}
