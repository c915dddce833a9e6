package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/examples/internal/demo"
)

func TestTheClaimIsCheckedByARealGoTest(t *testing.T) {
	var out bytes.Buffer
	model := script()
	require.NoError(t, run(t.Context(), &out, model))
	require.Zero(t, model.Left())
	said := out.String()

	before, after, found := strings.Cut(said, "wrote mean.go")
	require.True(t, found, said)
	require.Contains(t, before, `the host   checks "Make the tests pass": failed`)
	require.Contains(t, before, "mean_test.go:7: Mean(1, 2, 6) is 4.5, want 3")
	require.NotContains(t, before, "[x] Make the tests pass")
	require.Contains(t, after, `the host   checks "Make the tests pass": passed`)
	require.Equal(t, 1, strings.Count(after, "the host   checks"), "a completed item is not checked again")
	require.Contains(t, after, "[x] Make the tests pass\n           [x] Say what was wrong")
	require.NotContains(t, after, "is open")

	// The refused claim came back to the model with the output of the test, the item still in progress and the note with it.
	result := last(model, 2)
	require.Contains(t, result, `"id":"tests","content":"Make the tests pass","status":"in_progress"`)
	require.Contains(t, result, `"id":"note","content":"Say what was wrong","status":"pending"`)
	require.Contains(t, result, "Mean(1, 2, 6) is 4.5, want 3")
	require.NotContains(t, result, `"error"`, "the rest of the write stands")
}

func TestClaimsWithoutWorkLeadNowhere(t *testing.T) {
	var out bytes.Buffer
	claim := list("completed", "in_progress")
	model := demo.Script(
		demo.Call("write_todos", claim),
		demo.Call("write_todos", claim),
		demo.Call("write_todos", claim),
		demo.Say("All done."),
		demo.Say("The tests still fail."),
	)
	require.NoError(t, run(t.Context(), &out, model))
	require.Zero(t, model.Left())
	require.Contains(t, out.String(), "[!] Make the tests pass")
	require.NotContains(t, out.String(), "[x]")
	require.Equal(t, 2, strings.Count(out.String(), "the host   checks"), "after the second failure it needs a new approach")
	require.Contains(t, last(model, 4), `"code":"needs_replan"`)
	require.Contains(t, out.String(), "2 items are open")
}

// last is the last message of request n, from 1.
func last(m *demo.Model, n int) string {
	msgs := m.Requests()[n-1]
	return msgs[len(msgs)-1].Content
}
