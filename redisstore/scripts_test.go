package redisstore

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// headerFaults says what the comment at the head of a script lacks: its name and purpose, each KEYS and ARGV that the
// code uses and no other, units for numbers, and what it returns.
func headerFaults(name, source string) (faults []string) {
	var head []string
	lines := strings.Split(source, "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], "--") {
		head, lines = append(head, lines[0]), lines[1:]
	}
	comment, code := strings.Join(head, "\n"), strings.Join(lines, "\n")
	if !strings.HasPrefix(comment, "-- "+name+": ") {
		faults = append(faults, "does not begin with its name and purpose")
	}
	if !strings.Contains(comment, "docs/design.md") {
		faults = append(faults, "does not say where the rule comes from")
	}
	if !regexp.MustCompile(`(?m)^-- Returns +\S`).MatchString(comment) {
		faults = append(faults, "does not say what it returns")
	}
	arg := regexp.MustCompile(`(KEYS|ARGV)\[\d\]`)
	used, named := arg.FindAllString(code, -1), arg.FindAllString(comment, -1)
	for _, a := range used {
		if !slices.Contains(named, a) {
			faults = append(faults, a+" is used and not described")
		}
	}
	for _, a := range named {
		if !slices.Contains(used, a) {
			faults = append(faults, a+" is described and not used")
		}
	}
	for _, line := range head {
		for word, units := range map[string][]string{"time to live": {"milliseconds"}, "how long": {"milliseconds"}, "length": {"entries", "bytes"}} {
			if strings.Contains(line, "ARGV") && strings.Contains(line, word) && !slices.ContainsFunc(units, func(u string) bool { return strings.Contains(line, u) }) {
				faults = append(faults, fmt.Sprintf("%q has no unit", line))
			}
		}
	}
	return faults
}

func TestEveryScriptHasItsHeader(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		require.Empty(t, headerFaults(f, string(source)), f)
	}
	good := "-- x.lua: does it (docs/design.md).\n-- KEYS[1]  key\n-- ARGV[1]  time to live, milliseconds\n-- Returns 1 done\nreturn KEYS[1] .. ARGV[1]"
	require.Empty(t, headerFaults("x.lua", good))
	for cut, fault := range map[string]string{
		"x.lua: ": "name", " (docs/design.md)": "where", "-- KEYS[1]  key\n": "KEYS[1] is used", " .. ARGV[1]": "ARGV[1] is described",
		", milliseconds": "no unit", "-- Returns 1 done\n": "returns",
	} {
		require.Contains(t, strings.Join(headerFaults("x.lua", strings.Replace(good, cut, "", 1)), ";"), fault, "without %q", cut)
	}
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

var _ redis.Error = reply("")

// Only an answer about the commands themselves makes the store give scripts up.
func TestScriptsDenied(t *testing.T) {
	for text, want := range map[string]bool{
		"NOPERM this user has no permissions to run the 'evalsha' command":                true,
		"NOPERM this user has no permissions to run the 'eval' command or its subcommand": true,
		"NOPERM User u has no permissions to run the 'evalsha' command":                   true,
		"ERR unknown command 'EVALSHA', with args beginning with: 'x'":                    true,
		"ERR unknown command `evalsha`, with args beginning with: `x`":                    true,
		"ERR EVALSHA is not supported by this service":                                    true,
		"NOPERM this user has no permissions to access one of the keys used as arguments": false,
		"NOPERM User evaluator has no permissions to access the 'eval:{a:evalsha}' key":   false,
		"NOPERM this user has no permissions to run the 'set' command":                    false,
		"NOSCRIPT No matching script. Please use EVAL.":                                   false,
		"OOM command not allowed when used memory > 'maxmemory'.":                         false,
		"READONLY You can't write against a read only replica.":                           false,
	} {
		s := newStore(nil, (&Options{}).withDefaults())
		require.Equal(t, want, s.scriptsDenied(reply(text)), text)
		require.Equal(t, !want, s.scripted(), text)
	}
}
