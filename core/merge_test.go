package core

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func newMerge(t *testing.T, cfg Config, ls ...string) (*Planner, *Run) {
	t.Helper()
	cfg.Updates = Merge
	p, _ := newTest(t, cfg)
	if ls != nil {
		seed(t, p, ls...)
	}
	return p, begin(t, p)
}

func TestMergeUpdatesByID(t *testing.T) {
	p, r := newMerge(t, Config{Dependencies: true}, "1 in_progress A", "2 pending B <- 1", "3 pending C")
	res := accepted(t, turnRaw(t, r, `{"todos":[{"id":"1","status":"completed"},{"id":"2","status":"in_progress"}]}`))
	require.Equal(t, []string{"1 completed A", "2 in_progress B <- 1"}, lines(res.Todos), "the changed items")
	require.Equal(t, 3, res.Summary.Total)
	require.Equal(t, []string{"1 completed A", "2 in_progress B <- 1", "3 pending C"}, storedLines(t, p), "fields that are absent keep their value")
	accepted(t, turnRaw(t, r, `{"todos":[{"id":"3","content":"C, reworded"}]}`))
	accepted(t, turnRaw(t, r, `{"todos":[{"id":"3","depends_on":["2"]}],"merge":true}`))
	accepted(t, turnRaw(t, r, `[{"id":2,"depends_on":[]}]`))
	require.Equal(t, []string{"1 completed A", "2 in_progress B", "3 pending C, reworded <- 2"}, storedLines(t, p))
}

func TestMergeAppends(t *testing.T) {
	p, r := newMerge(t, Config{}, "9 in_progress A", "x pending B")
	res := accepted(t, turnRaw(t, r, `{"todos":[{"content":"New","status":"pending"},{"id":"b","content":"Own id","status":"pending"},{"content":"Newer","status":"pending"}]}`))
	require.Equal(t, []string{"10 pending New", "b pending Own id", "11 pending Newer"}, lines(res.Todos))
	require.Equal(t, []string{"9 in_progress A", "x pending B", "10 pending New", "b pending Own id", "11 pending Newer"}, storedLines(t, p))
	// Without an id the item with the same content is meant.
	accepted(t, turnRaw(t, r, `{"todos":[{"content":"A","status":"completed"},{"content":"New","status":"in_progress"}]}`))
	require.Equal(t, []string{"9 completed A", "x pending B", "10 in_progress New", "b pending Own id", "11 pending Newer"}, storedLines(t, p))
}

func TestMergeRefuses(t *testing.T) {
	start := []string{"1 in_progress A", "2 pending B"}
	for _, c := range []struct {
		send string
		code Code
		says string
	}{
		{`{"todos":[{"id":"7","status":"completed"}]}`, CodeUnknownItem, `"7"`},
		{`{"todos":[{"id":"1","status":"completed"},{"id":"7","depends_on":[]}]}`, CodeUnknownItem, "1, 2"},
		{`{"todos":[{"content":"New"}]}`, CodeBadStatus, "item 1 has no status"},
		{`{"todos":[{"id":"1","content":" "}]}`, CodeEmptyContent, "item 1 (id 1)"},
		{`{"todos":[{"id":"1","status":"banana"}]}`, CodeBadStatus, `"banana"`},
		{`{"todos":[{"id":"1","status":"needs_replan"}]}`, CodeReservedStatus, "Item 1"},
		{`{"todos":[{"id":"2","status":"in_progress"}]}`, CodeNotOneInProgress, "1 and 2"},
		{`{"todos":[{"id":"1","status":"pending"}]}`, CodeNotOneInProgress, "No item"},
		{`{"todos":[{"id":"1","status":"completed"},{"id":"1","status":"pending"}]}`, CodeDuplicateID, `"1"`},
		{`{"todos":[{"id":"1"},{"content":"A","status":"completed"},{"content":"A","status":"pending"},{"content":"A","status":"pending","id":"4"},{"id":"4"}]}`, CodeDuplicateID, `"4"`},
		{`{"todos":[],"merge":false}`, CodeEmptyList, "2 items are open"},
	} {
		p, r := newMerge(t, Config{}, start...)
		res := refused(t, turnRaw(t, r, c.send), c.code)
		require.Contains(t, res.Error.Message, c.says)
		require.Equal(t, start, lines(res.Todos), "a refusal shows the whole list")
		require.Equal(t, start, storedLines(t, p))
	}
}

// An item is removed only by cancelled: what is left out stays.
func TestMergeRemovesNothing(t *testing.T) {
	p, r := newMerge(t, Config{}, "1 in_progress A", "2 pending B")
	res := accepted(t, turnRaw(t, r, `{"todos":[]}`))
	require.True(t, res.Unchanged)
	accepted(t, turnRaw(t, r, `{"todos":[{"id":"2","status":"cancelled"}]}`))
	require.Equal(t, []string{"1 in_progress A", "2 cancelled B"}, storedLines(t, p))
	res = accepted(t, turnRaw(t, r, `{"todos":[{"id":"1","content":"A","status":"in_progress"}],"merge":false}`))
	require.Equal(t, []string{"1 in_progress A"}, lines(res.Todos))
	require.Equal(t, []string{"1 in_progress A"}, storedLines(t, p), "false replaces")
}

// Room for new items is made from the oldest closed items that nothing depends on, and from no other.
func TestMergeMakesRoom(t *testing.T) {
	limits := Limits{Items: 4}
	p, r := newMerge(t, Config{Limits: limits, Dependencies: true}, "1 completed A", "2 completed B", "3 cancelled C", "4 in_progress D <- 1")
	accepted(t, turnRaw(t, r, `{"todos":[{"content":"E","status":"pending"}]}`))
	require.Equal(t, []string{"1 completed A", "3 cancelled C", "4 in_progress D <- 1", "5 pending E"}, storedLines(t, p))
	accepted(t, turnRaw(t, r, `{"todos":[{"content":"F","status":"pending"}]}`))
	require.Equal(t, []string{"1 completed A", "4 in_progress D <- 1", "5 pending E", "6 pending F"}, storedLines(t, p))
	res := refused(t, turnRaw(t, r, `{"todos":[{"content":"G","status":"pending"}]}`), CodeTooManyItems)
	require.Contains(t, res.Error.Message, "at most 4")
	// What this write closes is not what makes the room: it would vanish unseen, and unchecked.
	q, rr := newMerge(t, Config{Limits: limits, Checks: ForAll(fail)}, "1 in_progress A", "2 pending B", "3 pending C", "4 pending D")
	refused(t, turnRaw(t, rr, `{"todos":[{"id":"1","status":"completed"},{"id":"2","status":"in_progress"},{"content":"E","status":"pending"}]}`), CodeTooManyItems)
	refused(t, turnRaw(t, rr, `{"todos":[{"content":"E","status":"completed"}]}`), CodeTooManyItems)
	require.Len(t, storedLines(t, q), 4)
}

func TestMergeRead(t *testing.T) {
	store := faulty()
	p, r := newMerge(t, Config{Store: store}, "1 completed A", "2 in_progress B")
	for _, a := range []string{"{}", "", " "} {
		before(t, r)
		c := Call{ID: nextCallID(), Name: DefaultToolName, Args: a}
		after(t, r, Response{Calls: []Call{c}})
		doc := document(t, store)
		res := accepted(t, call(t, r, c))
		require.Equal(t, []string{"1 completed A", "2 in_progress B"}, lines(res.Todos), "the whole list")
		require.Equal(t, 2, res.Summary.Total)
		require.Equal(t, int64(1), res.Revision)
		require.Equal(t, doc, document(t, store))
		tail, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b1", LastTool: c})
		require.NoError(t, err)
		require.Empty(t, tail, "it has just been shown")
	}
	require.False(t, r.State().Wrote)
	// In Replace mode a lost payload looks the same: it is refused, with the list.
	q, _ := newTest(t, Config{Store: p.store})
	res := refused(t, turnRaw(t, begin(t, q), "{}"), CodeMalformed)
	require.Equal(t, []string{"1 completed A", "2 in_progress B"}, lines(res.Todos))
}

// Replanning by id: new content alone is the way out.
func TestMergeReplan(t *testing.T) {
	p, r := newMerge(t, Config{MaxFailures: 1, Checks: ForAll(fail)}, "1 in_progress A", "2 pending B")
	res := accepted(t, turnRaw(t, r, `{"todos":[{"id":"1","status":"completed"},{"id":"2","status":"in_progress"}]}`))
	require.Equal(t, []string{"1 needs_replan A", "2 in_progress B"}, lines(res.Todos))
	refused(t, turnRaw(t, r, `{"todos":[{"id":"1","status":"pending"}]}`), CodeNeedsReplan)
	refused(t, turnRaw(t, r, `{"todos":[{"content":"A","status":"pending"}]}`), CodeNeedsReplan)
	accepted(t, turnRaw(t, r, `{"todos":[{"id":"1","content":"Another way"}]}`))
	require.Equal(t, []string{"1 pending Another way", "2 in_progress B"}, storedLines(t, p))
}

// A check sends an item back: the result shows it although it is as before.
func TestMergeShowsWhatAChecksSendsBack(t *testing.T) {
	_, r := newMerge(t, Config{Checks: ForAll(fail)}, "1 in_progress A")
	res := accepted(t, turnRaw(t, r, `{"todos":[{"id":"1","status":"completed"}]}`))
	require.Equal(t, []string{"1 in_progress A"}, lines(res.Todos))
	require.Len(t, res.Checks, 1)
	require.False(t, res.Unchanged)
}

func TestMergeWait(t *testing.T) {
	_, r := newMerge(t, Config{ValidateWait: validWait}, "1 in_progress A")
	res := accepted(t, turnRaw(t, r, `{"wait_for_tasks":["t"]}`))
	require.Equal(t, []string{"t"}, res.Waiting)
	require.Equal(t, Accept, say(t, r, "x").Action)
}

// Results Brief: revision, summary, next and what was noteworthy, not the list; the block then shows it.
func TestBriefResults(t *testing.T) {
	for _, mode := range []Updates{Replace, Merge} {
		p, _ := newTest(t, Config{Updates: mode, Results: ResultsBrief})
		r := begin(t, p)
		before(t, r)
		c := Call{ID: "c1", Name: DefaultToolName, Args: args("1 in_progress A", "2 pending B", "3 pending C")}
		after(t, r, Response{Calls: []Call{c}})
		res := accepted(t, call(t, r, c))
		require.Equal(t, `{"summary":{"total":3,"pending":2,"in_progress":1,"completed":0,"cancelled":0,"needs_replan":0},"revision":1,"next":{"id":"1","content":"A"}}`, res.raw)
		tail, err := r.BeforeModel(t.Context(), Prompt{Boundary: "b1", LastTool: c})
		require.NoError(t, err)
		require.Contains(t, tail, "2 [pending] B")
		res = refused(t, turnRaw(t, r, `{"todos":[{"content":7}]}`), CodeMalformed)
		require.Len(t, res.Todos, 3, "a refusal carries the list")
		res = accepted(t, turnRaw(t, r, `{"merge":false,"todos":[{"id":"1","content":"A","status":"completed"},{"id":"2","content":"B","status":"in_progress"}]}`))
		require.Equal(t, []brief{{"3", "C"}}, res.Dropped)
		require.Nil(t, res.Todos)
	}
	_, r := newMerge(t, Config{Results: ResultsBrief}, "1 in_progress A")
	res := accepted(t, turnRaw(t, r, "{}"))
	require.Equal(t, []string{"1 in_progress A"}, lines(res.Todos), "a read shows the list")
}

// One tick on 40 items: merge writes a fifth of what replace does, and its result is short.
func TestMergeIsCheapOnLongLists(t *testing.T) {
	var ls []string
	for i := range 40 {
		status := "pending"
		if i == 0 {
			status = "in_progress"
		}
		ls = append(ls, fmt.Sprintf("%d %s Step number %d of a long plan", i+1, status, i+1))
	}
	p, r := newMerge(t, Config{}, ls...)
	tick := `{"todos":[{"id":"1","status":"completed"},{"id":"2","status":"in_progress"}]}`
	res := accepted(t, turnRaw(t, r, tick))
	whole := args(storedLines(t, p)...)
	require.Less(t, 5*len(tick), len(whole))
	require.Less(t, 5*len(res.raw), len(whole))
	require.Equal(t, 40, strings.Count(whole, `"id"`))
}
