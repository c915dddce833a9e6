package core

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func newTasks(t testing.TB, cfg Config) (*Planner, *Run, *recorder) {
	t.Helper()
	cfg.Tools = ToolsTasks
	p, rec := newTest(t, cfg)
	return p, begin(t, p), rec
}

// task is one turn that calls one task tool.
func taskTurn(t testing.TB, r *Run, name, args string) result {
	t.Helper()
	before(t, r)
	c := Call{ID: nextCallID(), Name: name, Args: args}
	after(t, r, Response{Calls: []Call{c}})
	return call(t, r, c)
}

func TestTaskToolsCycle(t *testing.T) {
	p, r, rec := newTasks(t, Config{})
	for i, s := range []string{"Read", "Fix", "Test"} {
		res := accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"`+s+`","description":"in full"}`))
		require.Equal(t, fmt.Sprint(i+1), res.Todos[0].ID)
		require.Equal(t, int64(i+1), res.Revision)
	}
	res := accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","status":"in_progress"}`))
	require.Equal(t, []string{"1 in_progress Read"}, lines(res.Todos))
	res = accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":1,"status":"completed"}`))
	require.Equal(t, &brief{"2", "Fix"}, res.Next)
	require.Equal(t, []string{"1 completed Read", "2 pending Fix", "3 pending Test"}, storedLines(t, p), "at most one in progress; none is fine")
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"2","status":"in_progress","subject":"Fix it","activeForm":"Fixing"}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"3","status":"deleted"}`))
	require.Equal(t, []string{"1 completed Read", "2 in_progress Fix it", "3 cancelled Test"}, storedLines(t, p))
	require.Equal(t, Correct, say(t, r, "Done.").Action)
	res = accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"2","status":"done"}`))
	require.Equal(t, DefaultTexts().Verify, res.Reminder)
	require.Equal(t, "Done.", finish(t, r, "Updated."))
	require.Len(t, rec.events(EventListChanged), 8)
}

func TestTaskReads(t *testing.T) {
	store := faulty()
	p, r, _ := newTasks(t, Config{Store: store, Checks: ForAll(fail)})
	accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"A","description":"d","metadata":{"k":1}}`))
	accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"B"}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","status":"completed"}`))
	doc := document(t, store)
	res := accepted(t, taskTurn(t, r, TaskList, ``))
	require.Equal(t, storedLines(t, p), lines(res.Todos))
	require.NotNil(t, res.Summary)
	res = accepted(t, taskTurn(t, r, TaskGet, `{"taskId":"1"}`))
	require.Len(t, res.Todos, 1)
	require.Equal(t, "d", res.Todos[0].Description)
	require.JSONEq(t, `{"k":1}`, string(res.Todos[0].Metadata))
	require.Equal(t, []CheckReport{{ID: "1", Status: CheckFailed, Output: "1 test failed", Failures: 1}}, res.Checks)
	res = refused(t, taskTurn(t, r, TaskGet, `{"taskId":"9"}`), CodeUnknownItem)
	require.Contains(t, res.Error.Message, "1, 2")
	for _, key := range []string{"todos", "revision"} {
		require.Equal(t, jsonKey(t, doc, key), jsonKey(t, document(t, store), key))
	}
}

func jsonKey(t *testing.T, doc, key string) string {
	t.Helper()
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(doc), &m))
	return string(m[key])
}

func TestTaskRefusals(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		code       Code
		says       []string
	}{
		{TaskCreate, ``, CodeMalformed, []string{"subject is missing"}},
		{TaskCreate, `{"content":"x"}`, CodeMalformed, []string{"subject is missing"}},
		{TaskCreate, `{"subject":" "}`, CodeEmptyContent, nil},
		{TaskCreate, `{"subject":7}`, CodeMalformed, []string{"subject is a number"}},
		{TaskCreate, `{"subject":"a","subject":"b"}`, CodeMalformed, []string{`"subject"`, "twice"}},
		{TaskCreate, `{"subject":"a","metadata":[]}`, CodeMalformed, []string{"metadata is an array"}},
		{TaskUpdate, `{}`, CodeMalformed, []string{"taskId is missing"}},
		{TaskUpdate, `{"taskId":" "}`, CodeMalformed, []string{"taskId is missing"}},
		{TaskUpdate, `{"taskId":"1"`, CodeMalformed, []string{"not one complete JSON value"}},
		{TaskUpdate, `[]`, CodeMalformed, []string{"an array"}},
		{TaskUpdate, `{"taskId":"9","status":"completed"}`, CodeUnknownItem, []string{`"9"`, "1, 2"}},
		{TaskUpdate, `{"taskId":"1","status":"banana"}`, CodeBadStatus, []string{"banana"}},
		{TaskUpdate, `{"taskId":"1","status":7}`, CodeMalformed, []string{"status is a number"}},
		{TaskUpdate, `{"taskId":"1","status":"needs_replan"}`, CodeReservedStatus, nil},
		{TaskUpdate, `{"taskId":"2","status":"in_progress"}`, CodeNotOneInProgress, []string{`Item 1 ("A")`, "Finish it", "before you start 2"}},
		{TaskUpdate, `{"taskId":"2","addBlockedBy":["7"]}`, CodeUnknownDependency, []string{`"7"`}},
		{TaskUpdate, `{"taskId":"2","addBlocks":["7"]}`, CodeUnknownDependency, []string{`"7"`}},
		{TaskUpdate, `{"taskId":"2","addBlocks":["2"]}`, CodeDependencyCycle, []string{"2 -> 2"}},
		{TaskUpdate, `{"taskId":"2","addBlockedBy":["1"],"status":"in_progress"}`, CodeBlocked, nil},
		{TaskUpdate, `{"taskId":"2","addBlockedBy":["1"],"addBlocks":["1"]}`, CodeDependencyCycle, nil},
		{TaskUpdate, `{"taskId":"1","addBlocks":"2"}`, CodeMalformed, []string{"addBlocks is a string"}},
	} {
		t.Run(c.tool+" "+c.args, func(t *testing.T) {
			p, r, _ := newTasks(t, Config{Dependencies: true})
			start := []string{"1 in_progress A", "2 pending B"}
			seed(t, p, start...)
			res := refused(t, taskTurn(t, r, c.tool, c.args), c.code)
			for _, s := range c.says {
				require.Contains(t, res.Error.Message, s)
			}
			require.Equal(t, start, storedLines(t, p))
		})
	}
}

func TestTaskArgsLeniency(t *testing.T) {
	for _, a := range []string{`{"__arg1":"{\"taskId\":\"1\",\"status\":\"completed\"}"}`, `{"__arg1":{"taskId":1,"status":"completed"}}`,
		"```json\n{\"taskId\":\"1\",\"status\":\"Completed\"}\n```", `{"taskId":" 1 ","status":"done","note":"x"}`} {
		p, r, _ := newTasks(t, Config{})
		seed(t, p, "1 in_progress A")
		accepted(t, taskTurn(t, r, TaskUpdate, a))
		require.Equal(t, []string{"1 completed A"}, storedLines(t, p))
	}
	p, r, _ := newTasks(t, Config{})
	seed(t, p, "1 in_progress A")
	for _, a := range []string{``, `{}`, `null`, `{"__arg1":""}`, `{"__arg1":"{}"}`} {
		if a == `null` {
			refused(t, taskTurn(t, r, TaskList, a), CodeMalformed)
			continue
		}
		accepted(t, taskTurn(t, r, TaskList, a))
	}
}

// A new task is new, also when its words are those of another one.
func TestTaskCreateNeverChangesAnother(t *testing.T) {
	p, r, _ := newTasks(t, Config{})
	accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"Run the tests","metadata":{"k":1},"description":"first"}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","status":"in_progress","owner":"ann"}`))
	res := accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"Run the tests"}`))
	require.Equal(t, []string{"2 pending Run the tests"}, lines(res.Todos))
	require.Equal(t, []string{"1 in_progress Run the tests", "2 pending Run the tests"}, storedLines(t, p))
	res = accepted(t, taskTurn(t, r, TaskGet, `{"taskId":"1"}`))
	require.Equal(t, "first", res.Todos[0].Description)
	require.Equal(t, "ann", res.Todos[0].Owner)
}

func TestTaskFieldsAreKept(t *testing.T) {
	p, r, _ := newTasks(t, Config{})
	accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"A","description":"d","activeForm":"Doing","metadata":{"k":1,"gone":true}}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","owner":"ann","metadata":{"more":[1],"gone":null}}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","status":"in_progress"}`))
	get := func() Item {
		s, err := p.Get(t.Context(), sess)
		require.NoError(t, err)
		return s.Todos[0]
	}
	it := get()
	require.Equal(t, Item{ID: "1", Content: "A", Status: StatusInProgress, Description: "d", ActiveForm: "Doing", Owner: "ann", Metadata: it.Metadata}, it)
	require.JSONEq(t, `{"k":1,"more":[1]}`, string(it.Metadata))
	// A write of the whole list by another planner keeps them as well.
	q, _ := newTest(t, Config{Store: p.store})
	accepted(t, turn(t, begin(t, q), "1 completed A"))
	it = get()
	require.Equal(t, "ann", it.Owner)
	require.JSONEq(t, `{"k":1,"more":[1]}`, string(it.Metadata))
	// They may be emptied, and are bounded.
	r = begin(t, p)
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","owner":"","metadata":{"k":null,"more":null}}`))
	it = get()
	require.Empty(t, it.Owner)
	require.Nil(t, it.Metadata)
	big, _ := json.Marshal(map[string]any{"taskId": "1", "metadata": map[string]string{"k": string(make([]byte, 4000))}})
	refused(t, taskTurn(t, r, TaskUpdate, string(big)), CodeContentTooLong)
	long, _ := json.Marshal(map[string]any{"taskId": "1", "description": fmt.Sprintf("%04001d", 7)})
	refused(t, taskTurn(t, r, TaskUpdate, string(long)), CodeContentTooLong)
}

func TestTaskDependencies(t *testing.T) {
	p, r, _ := newTasks(t, Config{Dependencies: true})
	for _, s := range []string{"A", "B", "C"} {
		accepted(t, taskTurn(t, r, TaskCreate, `{"subject":"`+s+`"}`))
	}
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"3","addBlockedBy":["1","2","1"]}`))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","addBlocks":["2","3"]}`))
	require.Equal(t, []string{"1 pending A", "2 pending B <- 1", "3 pending C <- 1,2"}, storedLines(t, p))
	accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"3","removeBlockedBy":["1"]}`))
	require.Equal(t, []string{"1 pending A", "2 pending B <- 1", "3 pending C <- 2"}, storedLines(t, p))
	// Deleting what others depend on is said.
	res := accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","status":"deleted"}`))
	require.Equal(t, []brief{{"2", "B"}}, res.Blocked)
	require.Nil(t, res.Next, "nothing can go on")
}

// Numbers sort as numbers, and are never given twice.
func TestTaskIDsAreNumbers(t *testing.T) {
	p, r, _ := newTasks(t, Config{Limits: Limits{Items: 12}})
	seen := map[string]bool{}
	for i := range 25 {
		res := accepted(t, taskTurn(t, r, TaskCreate, fmt.Sprintf(`{"subject":"Task %d"}`, i)))
		id := res.Todos[0].ID
		require.Equal(t, fmt.Sprint(i+1), id)
		require.False(t, seen[id])
		seen[id] = true
		accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"`+id+`","status":"deleted"}`))
	}
	s := storedLines(t, p)
	require.Len(t, s, 12)
	require.Equal(t, "14 cancelled Task 13", s[0], "room was made from the oldest")
	require.Equal(t, "25 cancelled Task 24", s[11])
}

// Parallel calls of one response are applied in the order of the response, whatever order the framework runs them in.
func TestTaskCallsAreAppliedInResponseOrder(t *testing.T) {
	batch := func() []Call {
		return []Call{
			{ID: "a", Name: TaskUpdate, Args: `{"taskId":"1","status":"completed"}`},
			{ID: "b", Name: TaskCreate, Args: `{"subject":"New one"}`},
			{ID: "c", Name: TaskUpdate, Args: `{"taskId":"2","status":"in_progress"}`},
			{ID: "d", Name: TaskUpdate, Args: `{"taskId":"3","status":"in_progress"}`}, // a second one
			{ID: "s", Name: "search", Args: `{}`},
			{ID: "e", Name: TaskUpdate, Args: `{"taskId":"4","subject":"New one, renamed"}`},
			{ID: "f", Name: TaskUpdate, Args: `{"taskId":"2","status":"completed"}`},
			{ID: "g", Name: TaskUpdate, Args: `{"taskId":"3","status":"in_progress"}`},
			{ID: "", Name: TaskCreate, Args: `{"subject":"No call id"}`},
			{ID: "h", Name: TaskList, Args: ``},
			{ID: "i", Name: TaskUpdate, Args: `{"taskId":"9","status":"completed"}`},
		}
	}
	calls := batch()
	play := func(t *testing.T, order []int, parallel bool) (results []string, list []string, checks map[string]int) {
		checks = map[string]int{}
		var mu sync.Mutex
		p, r, _ := newTasks(t, Config{Checks: ForAll(func(_ context.Context, it Item) CheckResult {
			mu.Lock()
			defer mu.Unlock()
			checks[it.ID]++
			return CheckResult{Status: CheckPassed}
		})})
		seed(t, p, "1 in_progress A", "2 pending B", "3 pending C")
		before(t, r)
		after(t, r, Response{Calls: batch()})
		results = make([]string, len(calls))
		var wg sync.WaitGroup
		for _, i := range order {
			if !p.IsTool(calls[i].Name) {
				continue
			}
			one := func() {
				text, err := r.CallTool(context.Background(), calls[i])
				if err != nil {
					t.Error(err)
				}
				results[i] = text
			}
			if parallel {
				wg.Go(one)
			} else {
				one()
			}
		}
		wg.Wait()
		return results, storedLines(t, p), checks
	}
	var straight []int
	for i := range calls {
		straight = append(straight, i)
	}
	want, list, checks := play(t, straight, false)
	require.Equal(t, []string{"1 completed A", "2 completed B", "3 in_progress C", "4 pending New one, renamed", "5 pending No call id"}, list)
	codes := map[string]Code{}
	for i, text := range want {
		if text != "" {
			codes[calls[i].ID] = parseResult(t, text).code()
		}
	}
	require.Equal(t, map[string]Code{"a": "", "b": "", "c": "", "d": CodeNotOneInProgress, "e": "", "f": "", "g": "", "": "", "h": "", "i": CodeUnknownItem}, codes)
	require.Equal(t, map[string]int{"1": 1, "2": 1}, checks)
	for i := range 1000 {
		order := rand.New(rand.NewPCG(uint64(i), 1)).Perm(len(calls))
		got, gotList, gotChecks := play(t, order, i%2 == 0)
		require.Equal(t, want, got, "order %v", order)
		require.Equal(t, list, gotList)
		require.Equal(t, checks, gotChecks, "each check once")
	}
}

// A run that is resumed between two calls of a response has the results that are still to be handed out.
func TestTaskBatchSurvivesResume(t *testing.T) {
	p, r, _ := newTasks(t, Config{})
	seed(t, p, "1 in_progress A", "2 pending B")
	before(t, r)
	calls := []Call{{ID: "a", Name: TaskUpdate, Args: `{"taskId":"1","status":"completed"}`}, {ID: "b", Name: TaskUpdate, Args: `{"taskId":"2","status":"in_progress"}`}}
	after(t, r, Response{Calls: calls})
	accepted(t, call(t, r, calls[1])) // applies both
	again, err := p.Resume(r.State())
	require.NoError(t, err)
	res := accepted(t, call(t, again, calls[0]))
	require.Equal(t, []string{"1 completed A"}, lines(res.Todos))
	require.Equal(t, int64(2), res.Revision)
	require.Equal(t, []string{"1 completed A", "2 in_progress B"}, storedLines(t, p))
	s, err := p.Get(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, int64(3), s.Revision, "applied once")
}

// Rules that look at the list hold in the tasks mode alike: guard, reminder, wait, stale.
func TestTasksUnderTheRules(t *testing.T) {
	p, r, _ := newTasks(t, Config{ValidateWait: validWait, Reminder: &Reminder{After: 2}})
	seed(t, p, "1 in_progress A")
	work(t, r)
	work(t, r)
	tail := before(t, r)
	require.Contains(t, tail, "2 turns")
	require.Contains(t, tail, TaskUpdate)
	v := say(t, r, "x")
	require.Equal(t, Correct, v.Action)
	require.Contains(t, v.Message, TaskUpdate)
	res := accepted(t, taskTurn(t, r, TaskUpdate, `{"taskId":"1","wait_for_tasks":["t"]}`))
	require.Equal(t, []string{"t"}, res.Waiting)
	require.Equal(t, Accept, say(t, r, "y").Action)

	p, r, _ = newTasks(t, Config{})
	seed(t, p, "1 in_progress A")
	before(t, r)
	seed(t, p, "1 in_progress A", "2 pending B")
	c := Call{ID: "c", Name: TaskUpdate, Args: `{"taskId":"1","status":"completed"}`}
	after(t, r, Response{Calls: []Call{c}})
	refused(t, call(t, r, c), CodeStaleWrite)
}

func TestIsTool(t *testing.T) {
	p, _ := newTest(t, Config{ToolName: "plan"})
	require.True(t, p.IsTool("plan"))
	require.True(t, p.IsTool("PLAN"))
	require.False(t, p.IsTool(DefaultToolName))
	require.False(t, p.IsTool(TaskList))
	require.False(t, p.IsTool(""))
	p, _, _ = newTasks(t, Config{})
	for _, s := range []string{TaskCreate, TaskGet, TaskUpdate, TaskList, "tasklist"} {
		require.True(t, p.IsTool(s))
	}
	require.False(t, p.IsTool(DefaultToolName))
}
