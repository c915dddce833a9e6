package redisstore

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/todoguard/todoguard/core"
)

func id(c string) string { return strings.Repeat(c, widLen) }

func stamps() *rapid.Generator[stamp] {
	return rapid.Custom(func(t *rapid.T) stamp {
		p := stamp{}
		for range rapid.IntRange(0, 20).Draw(t, "writes") {
			p = p.next(newWID())
		}
		if !p.none() {
			p.rev += rapid.Int64Range(0, 1<<62).Draw(t, "older writes")
		}
		return p
	})
}

func TestStampRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := stamps().Draw(t, "stamp")
		doc := rapid.SliceOf(rapid.Byte()).Draw(t, "document")
		back, ok := parseVersion(p.version())
		require.True(t, ok)
		require.Equal(t, p.version(), back.version())
		if p.none() {
			return
		}
		header := p.appendHeader(nil)
		require.Less(t, len(header), headerMax)
		require.True(t, strings.HasPrefix(string(header), p.prefix()))
		q, d, err := parseValue(append(bytes.Clone(header), doc...))
		require.NoError(t, err)
		require.Equal(t, p, q)
		require.True(t, bytes.Equal(doc, d))
		for _, id := range p.ids {
			require.Contains(t, string(header), " "+id+" ", "how the script finds a replay")
		}
	})
}

func TestStampOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := stamps().Draw(t, "stamp")
		n := p.next(newWID())
		require.True(t, n.follows(p))
		require.False(t, p.follows(n))
		require.Equal(t, !p.none(), n.contains(p))
		require.True(t, n.contains(n))
		require.False(t, p.contains(n))
		require.NotEqual(t, p.version(), n.version())
		fork := p.next(newWID()) // the same number in another history
		require.False(t, fork.contains(n))
		require.False(t, n.next(newWID()).follows(fork))
		require.False(t, n.next(newWID()).follows(p))
		for range history {
			n = n.next(newWID())
		}
		require.LessOrEqual(t, len(n.ids), history)
		require.False(t, n.contains(p), "too old to be proven")
	})
}

func TestVersionsThatNobodyGaveOut(t *testing.T) {
	for _, v := range []core.Version{
		"1", "1.", ".", "x", "0." + core.Version(id("A")), "-1." + core.Version(id("A")), "+1." + core.Version(id("A")), "01." + core.Version(id("A")),
		"1." + core.Version(id("A")) + ".", "1." + core.Version(id("A")) + "A", "1." + core.Version(id(" ")), "1." + core.Version(id("\n")),
		"1." + core.Version(id("A")+"."+id("B")), // a first write has no predecessor
		"99999999999999999999." + core.Version(id("A")),
		core.Version("9." + strings.Join([]string{id("A"), id("B"), id("C"), id("D"), id("E"), id("F"), id("G"), id("H"), id("I")}, ".")),
	} {
		_, ok := parseVersion(v)
		require.False(t, ok, "%q", v)
	}
}

func TestValuesThatAreNotOurs(t *testing.T) {
	for _, value := range []string{
		"", "\n", "{}", "1 1 " + id("A") + " ", "1 1\n", "1 1 \n", "1  " + id("A") + " \n", "1 1 " + id("A") + "\n", "1 x " + id("A") + " \n",
		"2 1 " + id("A") + " \n", " 1 1 " + id("A") + " \n", "1 1 " + id("A") + "  \n", "1 1 " + id("A") + " x \n",
		"1 1 " + id("A") + strings.Repeat(" ", 300) + "\n",
	} {
		_, _, err := parseValue([]byte(value))
		require.ErrorIs(t, err, core.ErrCorrupt, "%q", value)
	}
	_, _, err := parseValue([]byte("2 1 " + id("A") + " \n"))
	require.ErrorContains(t, err, `header of format "2", want "1"`, "a newer program wrote it")
}

func FuzzParseValue(f *testing.F) {
	f.Add([]byte("1 1 AAAAAAAAAAAAAAAA \n{}"))
	f.Add([]byte("1 2 AAAAAAAAAAAAAAAA BBBBBBBBBBBBBBBB \n"))
	f.Add([]byte("not ours"))
	f.Fuzz(func(t *testing.T, value []byte) {
		p, doc, err := parseValue(value)
		if err != nil {
			require.ErrorIs(t, err, core.ErrCorrupt)
			return
		}
		if again := append(p.appendHeader(nil), doc...); !bytes.Equal(again, value) {
			t.Errorf("%q reads as %q: one state has one spelling", value, again)
		}
	})
}

func TestWriteIDsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 10_000 {
		w := newWID()
		require.False(t, seen[w])
		seen[w] = true
		_, ok := newStamp("1", []string{w})
		require.True(t, ok, "%q", w)
	}
}
