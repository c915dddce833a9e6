package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/redisstore/redistest"
)

// build makes the program as a user would: kill -9 needs a process of its own.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "resume")
	out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return bin
}

func TestKilledRunGoesOn(t *testing.T) {
	redistest.Require(t)
	c := exec.Command(build(t))
	c.Env = without("TODOGUARD_REDIS_URL")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("%s", out)

	parts := bytes.Split(out, []byte("== process 2"))
	require.Len(t, parts, 2)
	first, second := string(parts[0]), string(parts[1])
	require.Contains(t, first, "started a redis-server")
	require.Contains(t, first, "kill -9")
	require.NotContains(t, first, "answer:")
	require.Contains(t, second, "model:   2 [in_progress] orders\n  model:   3 [pending] invoices\n")
	require.NotContains(t, second, "I plan")
	require.NotContains(t, second, "migrating users", "what was done is not done again")
	require.Contains(t, second, "answer: All three tables are migrated.")
	require.Contains(t, second, "== what was migrated, in order: users, orders, invoices\n== open items: 0")
}

func TestWithoutServerItSaysSo(t *testing.T) {
	bin := build(t)
	c := exec.Command(bin)
	c.Env = append(without("TODOGUARD_REDIS_URL"), "PATH="+t.TempDir())
	out, err := c.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, c.ProcessState.ExitCode())
	require.Contains(t, string(out), "there is no redis-server on PATH")
	require.Equal(t, 1, bytes.Count(out, []byte("\n")), "one clear line: %s", out)
}

func without(name string) []string {
	var out []string
	for _, v := range os.Environ() {
		if len(v) <= len(name) || v[:len(name)+1] != name+"=" {
			out = append(out, v)
		}
	}
	return out
}
