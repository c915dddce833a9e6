package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/examples/internal/demo"
)

// untilSaid is a writer that opens a gate when a text comes.
type untilSaid struct {
	bytes.Buffer
	text string
	once sync.Once
	gate chan struct{}
}

func (u *untilSaid) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(u.text)) {
		u.once.Do(func() { close(u.gate) })
	}
	return u.Buffer.Write(p)
}

func TestTheRunEndsOnTheJobAndTheNextOneHasItsResult(t *testing.T) {
	out := &untilSaid{text: "the run ends on background work", gate: make(chan struct{})}
	export := func() string { <-out.gate; return "7 rows in orders.csv" } // it cannot be done before run 1 has ended
	first, second := firstRun(), secondRun()
	require.NoError(t, run(t.Context(), out, export, first, second))
	require.Zero(t, first.Left())
	require.Zero(t, second.Left())

	one, two, found := strings.Cut(out.String(), "starts run 2")
	require.True(t, found, out.String())
	require.Equal(t, 2, strings.Count(one, "is asked whether job-1 still runs: valid"), "at the declaration and at the end")
	require.NotContains(t, one, "the model is asked once more")
	require.Contains(t, one, "the run ends on background work, 2 items are open")
	require.Contains(t, two, "job-1 is done: 7 rows in orders.csv.")
	require.Contains(t, two, "[x] Report the number of rows")
	require.NotContains(t, two, "is open")

	// Run 2 is told of the result by the host, and of what is open by the block.
	asked := second.Requests()[0]
	said := asked[len(asked)-1].Content
	require.Contains(t, said, "job-1 is done: 7 rows in orders.csv.")
	require.Contains(t, said, "1 [in_progress] Export the orders\n2 [pending] Report the number of rows\n</todos>")
}

func TestWithoutAJobTheGuardAsks(t *testing.T) {
	plan := demo.List([2]string{">", "Export the orders"})
	first := demo.Script(
		demo.Call("write_todos", map[string]any{"todos": plan}),
		demo.Call("write_todos", map[string]any{"todos": plan, "wait_for_tasks": []string{"job-9"}}),
		demo.Say("It is running."),
		demo.Say("I have started nothing."),
	)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, nil, first, demo.Script()))
	require.Zero(t, first.Left())
	require.Contains(t, out.String(), `there is no job "job-9"`)
	require.Contains(t, out.String(), "the model is asked once more")
	require.NotContains(t, out.String(), "run 2")
}

func TestValidate(t *testing.T) {
	j, release := newJobs(), make(chan struct{})
	running := j.start("mine", "a", func() string { <-release; return "" })
	done := j.start("mine", "b", func() string { return "42" })
	other := j.start("other", "c", func() string { <-release; return "" })
	defer close(release)
	_, err := j.wait(t.Context(), done)
	require.NoError(t, err)

	for _, c := range []struct {
		ids    []string
		status core.WaitStatus
		reason string
	}{
		{[]string{running}, core.WaitValid, ""},
		{[]string{running, done}, core.WaitInvalid, `the job "job-2" is done: 42`},
		{[]string{other}, core.WaitInvalid, `there is no job "job-3"`},
		{[]string{"job-9"}, core.WaitInvalid, `there is no job "job-9"`},
	} {
		v, err := j.validate(t.Context(), c.ids, core.WaitInfo{Session: "mine"}, nil)
		require.NoError(t, err)
		require.Equal(t, c.status, v.Status, c.ids)
		require.Equal(t, c.reason, v.Reason)
		if c.status == core.WaitValid {
			require.JSONEq(t, `[{"session":"mine","what":"a"}]`, string(v.Evidence))
		}
	}
}
