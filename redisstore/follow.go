package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// entryVersion is the one field of a feed entry: the version that the save produced, "" for a delete.
// The document is never in the feed.
const entryVersion = "v"

// followMax is how many entries one read takes.
const followMax = 100

// follower reads the feed of one session. It delivers an entry only if it is proven to be the next one, by its number
// and by the write it names as its predecessor, and a snapshot in every other case.
type follower struct {
	client redis.UniversalClient
	keys   keys
	block  time.Duration
	out    chan<- core.Change

	placed bool      // at and last are known
	at     string    // id of the last entry that was dealt with
	last   stamp     // the state that was delivered last
	seen   time.Time // when the feed was last read to its end
}

// follow runs until ctx is done (nil) or reading on is of no use (the error).
func (f *follower) follow(ctx context.Context, token string) error {
	for fails := backoff(0); ctx.Err() == nil; {
		err := f.step(ctx, token)
		if err == nil {
			fails = 0
			continue
		}
		fail := classify(err, core.ErrUnavailable)
		if ctx.Err() != nil {
			break
		}
		if !fail.again {
			return fail
		}
		select {
		case <-time.After(fails.wait()):
		case <-ctx.Done():
		}
		fails++
	}
	return nil
}

func (f *follower) step(ctx context.Context, token string) error {
	if !f.placed {
		return f.place(ctx, token)
	}
	if f.last.none() && time.Since(f.seen) > tombstoneTTL/2 {
		// Nothing was stored when we last looked. Since then a session may have come and gone, feed and all.
		return f.snapshot(ctx)
	}
	entries, err := f.read(ctx, f.block)
	if err != nil {
		return err
	}
	if len(entries) == 0 { // quiet: what the feed cannot say (expiry, a failover, a writer without feed) the state can
		same, err := f.unchanged(ctx)
		if err != nil || same {
			return err
		}
		if entries, err = f.read(ctx, -1); err != nil { // a save between the two reads is in the feed by now
			return err
		}
		if len(entries) == 0 {
			return f.snapshot(ctx)
		}
	}
	for _, e := range entries {
		proven, err := f.take(ctx, e)
		if err != nil {
			return err
		}
		if !proven {
			return f.snapshot(ctx)
		}
	}
	return nil
}

// place finds the entry that token names, to continue behind it, or begins with a snapshot.
func (f *follower) place(ctx context.Context, token string) error {
	if !isEntryID(token) {
		return f.snapshot(ctx)
	}
	found, err := within(ctx, func() ([]redis.XMessage, error) {
		return f.client.XRevRangeN(ctx, f.keys.feed, token, token, 1).Result()
	})
	if err != nil {
		return err
	}
	if len(found) == 1 {
		if p, ok := entryStamp(found[0]); ok {
			f.placed, f.at, f.last, f.seen = true, token, p, time.Now()
			return nil
		}
	}
	return f.snapshot(ctx)
}

// snapshot delivers what is stored now and continues behind it. The place in the feed is read before the state: a
// save in between is then seen twice, which take notices, and never missed.
func (f *follower) snapshot(ctx context.Context) error {
	type both struct {
		newest []redis.XMessage
		stored
	}
	got, err := within(ctx, func() (both, error) {
		var newest *redis.XMessageSliceCmd
		var state *redis.StringCmd
		_, err := f.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			newest = p.XRevRangeN(ctx, f.keys.feed, "+", "-", 1)
			state = p.Get(ctx, f.keys.state)
			return nil
		})
		if newest.Err() != nil {
			return both{}, newest.Err()
		}
		if err != nil && state.Err() == nil {
			return both{}, err
		}
		st, err := parseStored(state)
		return both{newest.Val(), st}, err
	})
	if err != nil {
		return err
	}
	c := core.Change{Version: got.version(), Snapshot: true, Doc: got.doc}
	at := "0-0"
	if len(got.newest) > 0 {
		at = got.newest[0].ID
		c.Token = at
	}
	f.placed, f.at, f.last, f.seen = true, at, got.stamp, time.Now()
	f.send(ctx, c)
	return nil
}

// read returns the entries behind the place; none after waiting for block, or at once if block is negative.
func (f *follower) read(ctx context.Context, block time.Duration) ([]redis.XMessage, error) {
	at := f.at // the read may outlive this call
	streams, err := within(ctx, func() ([]redis.XStream, error) {
		return f.client.XRead(ctx, &redis.XReadArgs{Streams: []string{f.keys.feed, at}, Count: followMax, Block: block}).Result()
	})
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		f.seen = time.Now()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.seen = time.Now()
	return streams[0].Messages, nil
}

// take delivers one entry. False: it is not proven to be the next change.
func (f *follower) take(ctx context.Context, e redis.XMessage) (bool, error) {
	p, ok := entryStamp(e)
	if !ok {
		return false, nil
	}
	f.at = e.ID
	switch {
	case f.last.contains(p), p.none() && f.last.none():
		return true, nil // the snapshot showed it
	case p.none(), p.follows(f.last):
		f.last = p
		f.send(ctx, core.Change{Version: p.version(), Token: e.ID})
		return true, ctx.Err()
	default:
		return false, nil
	}
}

// unchanged compares the header of the state with what was delivered last.
func (f *follower) unchanged(ctx context.Context) (bool, error) {
	head, err := within(ctx, func() (string, error) {
		return f.client.GetRange(ctx, f.keys.state, 0, headerMax-1).Result()
	})
	if err != nil {
		return false, err
	}
	if f.last.none() {
		return head == "", nil
	}
	return strings.HasPrefix(head, f.last.prefix()), nil
}

// send waits for the consumer, however slow: no save waits for it.
func (f *follower) send(ctx context.Context, c core.Change) {
	select {
	case f.out <- c:
	case <-ctx.Done():
	}
}

// entryStamp reads an entry. The zero stamp is a delete. False: the entry is not ours.
func entryStamp(e redis.XMessage) (stamp, bool) {
	text, ok := e.Values[entryVersion].(string)
	if !ok {
		return stamp{}, false
	}
	return parseVersion(core.Version(text))
}

// isEntryID reports whether token is a complete id of a stream entry, as an earlier change carried it.
func isEntryID(token string) bool {
	ms, seq, ok := strings.Cut(token, "-")
	for _, n := range []string{ms, seq} {
		if _, err := strconv.ParseUint(n, 10, 64); err != nil {
			return false
		}
	}
	return ok
}
