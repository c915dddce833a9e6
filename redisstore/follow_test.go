package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

func entry(at string, p stamp) redis.XMessage {
	return redis.XMessage{ID: at, Values: map[string]any{entryVersion: string(p.version())}}
}

// Which entries of the feed are proven to be the next change, from each state that a follower can be in.
func TestWhatAFollowerTakes(t *testing.T) {
	history := []stamp{{}} // by number
	for n := range 12 {
		history = append(history, history[n].next(newWID()))
	}
	fork := history[4].next(newWID())
	for name, tc := range map[string]struct {
		last      stamp
		next      stamp
		delivered bool
		proven    bool
	}{
		"the next save":                           {history[4], history[5], true, true},
		"the first save after nothing":            {stamp{}, history[1], true, true},
		"a delete":                                {history[4], stamp{}, true, true},
		"the save that the snapshot showed":       {history[4], history[4], false, true},
		"an older one that the snapshot contains": {history[9], history[5], false, true},
		"a delete that the snapshot showed":       {stamp{}, stamp{}, false, true},
		"a gap":                                   {history[4], history[6], false, false},
		"a gap after nothing":                     {stamp{}, history[2], false, false},
		"the next number in another history":      {fork, history[6], false, false},
		"the same number in another history":      {fork, history[5], false, false},
		"one too old to tell":                     {history[12], history[2], false, false},
		"a new session without its delete":        {history[4], stamp{}.next(newWID()), false, false},
	} {
		out := make(chan core.Change, 1)
		f := &follower{out: out, last: tc.last, at: "1-0", seen: time.Now()}
		proven, err := f.take(t.Context(), entry("2-0", tc.next))
		require.NoError(t, err, name)
		require.Equal(t, tc.proven, proven, name)
		require.Equal(t, tc.delivered, len(out) == 1, name)
		if tc.delivered {
			require.Equal(t, core.Change{Version: tc.next.version(), Token: "2-0"}, <-out, name)
			require.Equal(t, tc.next, f.last, name)
		}
	}
	f := &follower{}
	for _, values := range []map[string]any{{}, {"v": "nonsense"}, {"x": "1"}} {
		proven, err := f.take(t.Context(), redis.XMessage{ID: "2-0", Values: values})
		require.NoError(t, err)
		require.False(t, proven, "%v", values)
	}
}

func TestEntryIDs(t *testing.T) {
	for token, want := range map[string]bool{"1-0": true, "1700000000000-12": true, "": false, "1": false, "-": false, "1-": false, "-1": false,
		"a-b": false, "1-2-3": false, "+": false, "$": false, "1-0 ": false, "99999999999999999999-0": false} {
		require.Equal(t, want, isEntryID(token), "%q", token)
	}
}
