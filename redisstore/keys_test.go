package redisstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func keysOf(prefix, tenant, session string) keys {
	return newStore(nil, (&Options{Prefix: prefix, Tenant: tenant}).withDefaults()).keys(session)
}

func TestKeyLayout(t *testing.T) {
	k := keysOf("", "acme", "s1")
	require.Equal(t, keys{state: "todo:{acme:s1}", feed: "todo:{acme:s1}:f"}, k)
	require.Equal(t, "todo:{acme:s1}:AAAAAAAAAAAAAAAA", k.stage(id("A")))
	require.Equal(t, "todo:{:s1}", keysOf("", "", "s1").state)
	require.Equal(t, "app:{a%3Ab:%7Bs%7D%25}", keysOf("app", "a:b", "{s}%").state)
	require.Equal(t, "todo:cp:{a%3A1}", checkPointKey("todo", "a:1"))
}

// All keys of a session lie in one slot, and no two sessions share a key.
func TestKeysOfAnyNames(t *testing.T) {
	names := rapid.StringMatching(`[a%{}:3AB7DF5 é]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		tenant, session := names.Draw(t, "tenant"), names.Draw(t, "session")
		k := keysOf("", tenant, session)
		tag := tagOf(k.state)
		require.NotEmpty(t, tag)
		for _, key := range []string{k.feed, k.stage(newWID())} {
			require.Equal(t, tag, tagOf(key))
		}
		tenant2, session2 := names.Draw(t, "other tenant"), names.Draw(t, "other session")
		same := tenant == tenant2 && session == session2
		k2 := keysOf("", tenant2, session2)
		require.Equal(t, same, k == k2)
		require.NotEqual(t, k.state, k2.feed)
		require.NotEqual(t, k.state, k2.stage(id("A")))
		require.NotEqual(t, k.state, checkPointKey("todo", session2))
		require.NotEqual(t, k.state, checkPointKey("todo", tenant2+":"+session2))
	})
}

// One text, cut into tenant and session at each of its colons, is a different session each time.
func TestKeysOfOneTextCutDifferently(t *testing.T) {
	for _, text := range []string{"a:b:c", "::", ":a:", "a%3Ab:c:d", "{:}:"} {
		seen := map[keys]string{}
		for i := range len(text) {
			if text[i] != ':' {
				continue
			}
			k := keysOf("", text[:i], text[i+1:])
			require.Empty(t, seen[k], "%q and %q share the key %q", text[:i], seen[k], k.state)
			seen[k] = text[:i] + " and " + text[i+1:]
		}
		require.Greater(t, len(seen), 1)
	}
}

// tagOf is the rule of Redis: what stands between the first { and the first } after it.
func tagOf(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}
