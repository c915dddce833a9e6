package lcgadapter

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/schema"
	"pgregory.net/rapid"

	"github.com/todoguard/todoguard/core"
)

// Whatever an action holds, what is stamped into it can be read back, and what the model made comes out as it was.
func TestStampAndRead(t *testing.T) {
	p, err := New()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(\n?todoguard:[A-Za-z0-9_.-]*)+`))
		made := schema.AgentAction{
			Tool: rapid.SampledFrom([]string{"write_todos", "Write_Todos", "search", ""}).Draw(t, "tool"),
			Log:  text.Draw(t, "log"), ToolID: "id", ToolInput: text.Draw(t, "input"),
		}
		in := mark{Session: "s", Boundary: "b", Turn: 3, Actions: 1, Call: core.Call{ID: "id", Name: made.Tool, Args: strings.ToValidUTF8(made.ToolInput, "")}}
		made.ToolInput = in.Call.Args
		a := made
		p.stamp(&a, in)
		got, out, ok := p.read(a)
		require.True(t, ok)
		require.Equal(t, made, got)
		require.Equal(t, in, out)

		_, _, forged := p.read(made)
		require.False(t, forged)
	})
}

// A seal of one plugin is none for another, nor is one that was changed in a single place.
func TestSealsAreAuthenticated(t *testing.T) {
	p, err := New()
	require.NoError(t, err)
	other, err := New()
	require.NoError(t, err)
	s := p.seal(mark{Session: "s"})
	_, ok := p.unseal(s)
	require.True(t, ok)
	_, ok = other.unseal(s)
	require.False(t, ok)
	for i := range len(s) {
		b := []byte(s)
		b[i] ^= 1
		if _, ok := p.unseal(string(b)); ok {
			t.Fatalf("changed at %d and still taken: %s", i, b)
		}
	}
}

// firstValue loses nothing: what it gives are two pieces of the input, blanks around them aside.
func TestFirstValueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.OneOf(rapid.String(), rapid.StringMatching(`\{"a":\[1,2\]\}(\n|  )?(Observation: x|Action: write_todos\nAction Input: \{\})?`)).Draw(t, "input")
		args, rest := firstValue(in)
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		require.Equal(t, squeeze(in), squeeze(args+rest))
	})
}

// The runs of turns with several todo calls are kept no longer than those calls take, or the ctx lives.
func TestSharedRunsAreNotKept(t *testing.T) {
	p, err := New()
	require.NoError(t, err)
	run, err := p.planner.Begin("s", core.RunOptions{})
	require.NoError(t, err)
	call := core.Call{ID: "1", Name: "write_todos"}
	require.Empty(t, p.share(t.Context(), run, []core.Call{call, {Name: "search"}}))
	key := p.share(t.Context(), run, []core.Call{call, call})
	for range 2 {
		got, err := p.runOf(mark{Shared: key})
		require.NoError(t, err)
		require.Same(t, run, got)
	}
	require.Empty(t, p.shared.runs)
}
