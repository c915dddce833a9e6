package redisstore

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// tombstoneTTL is how long the feed outlives a deleted session: longer than any follower stays away from it.
const tombstoneTTL = time.Minute

// Store keeps one document a session in Redis (docs/design.md, section 8). Make one with [New] or [NewURL]; the zero
// value is not usable. Safe for concurrent use, also by many processes on the same keys.
//
// Errors are found by errors.Is:
//
//	core.ErrConflict     the stored version is another one; a *core.ConflictError carries what is stored
//	core.ErrUnavailable  the server cannot serve now (loading, read-only, cluster down), or a load got no answer
//	core.ErrUnknown      a save or delete got no answer in time: it may or may not have happened
//	core.ErrFull         the server is at its maxmemory
//	core.ErrDenied       credentials or permissions
//	core.ErrCorrupt      a foreign type or value stands under the key; it is never overwritten
//	core.ErrNoSession    the session id is empty
//
// and the error of the context beside them once it is done. An error reply that is none of these comes as it is.
type Store struct {
	client    redis.UniversalClient
	opt       Options
	ttl       string // for scripts
	feedLen   string
	punctual  bool // the client respects deadlines
	noScripts atomic.Bool
	owned     redis.UniversalClient // made by NewURL

	mu     sync.Mutex
	feed   redis.UniversalClient // serves the followers; nil before the first Watch
	closed bool
}

var (
	_ core.Store   = (*Store)(nil)
	_ core.Watcher = (*Store)(nil)
)

// newStore takes options that are complete and valid.
func newStore(client redis.UniversalClient, opt Options) *Store {
	s := &Store{client: client, opt: opt, ttl: strconv.FormatInt(opt.TTL.Milliseconds(), 10), feedLen: strconv.Itoa(opt.FeedLen), punctual: punctual(client)}
	s.noScripts.Store(opt.NoScripts)
	return s
}

// Close ends all watches and closes the clients that the store opened itself, never one that it was given.
// A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.feed != nil && s.feed != s.opt.FeedClient && s.feed != s.client {
		errs = append(errs, s.feed.Close())
	}
	if s.owned != nil {
		errs = append(errs, s.owned.Close())
	}
	return errors.Join(errs...)
}

// stored is what a load found.
type stored struct {
	stamp
	doc []byte // nil: nothing is stored
}

// Load implements core.Store in one round trip. A session with less than half of its TTL left is renewed, which
// takes one or two more, at most once in half a TTL. No answer: core.ErrUnavailable.
func (s *Store) Load(ctx context.Context, session string) ([]byte, core.Version, error) {
	if err := admit(ctx, "load", session); err != nil {
		return nil, "", err
	}
	k := s.keys(session)
	got, fail := attempts(s.begin(ctx, core.ErrUnavailable, false), func(ctx context.Context) (stored, error) { return s.read(ctx, k) })
	if fail != nil {
		return nil, "", failed(ctx, "load", session, fail)
	}
	return got.doc, got.version(), nil
}

// read reads the state and, where sessions expire, how long it lives.
func (s *Store) read(ctx context.Context, k keys) (stored, error) {
	if s.opt.TTL == 0 {
		return parseStored(s.client.Get(ctx, k.state))
	}
	var value *redis.StringCmd
	var left *redis.DurationCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		value = p.Get(ctx, k.state)
		left = p.PTTL(ctx, k.state)
		return nil
	})
	if err != nil && value.Err() == nil && left.Err() == nil {
		return stored{}, err // the driver gave up before it asked
	}
	got, err := parseStored(value)
	if err == nil && !got.none() && left.Err() == nil && left.Val() >= 0 && left.Val() < s.opt.TTL/2 {
		s.renew(ctx, k)
	}
	return got, err
}

func parseStored(cmd *redis.StringCmd) (stored, error) {
	value, err := cmd.Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return stored{}, nil
	case err != nil:
		return stored{}, err
	}
	p, doc, err := parseValue(value)
	if err != nil {
		return stored{}, &failure{core.ErrCorrupt, err, false}
	}
	return stored{p, doc[:len(doc):len(doc)]}, nil
}

// renew gives a session its full TTL. A failure costs nothing now: the next load tries again.
func (s *Store) renew(ctx context.Context, k keys) {
	if !s.opt.Feed {
		s.client.PExpire(ctx, k.state, s.opt.TTL)
		return
	}
	var feed *redis.XMessageSliceCmd
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.PExpire(ctx, k.state, s.opt.TTL)
		feed = p.XRevRangeN(ctx, k.feed, "+", "-", 1)
		return nil
	})
	if feed.Err() == nil && len(feed.Val()) > 0 { // it is a stream, so it is ours
		s.client.PExpire(ctx, k.feed, s.opt.TTL)
	}
}

// Delete implements core.Store. With a feed, followers are told. It is not repeated by the store when no answer
// comes, since a later save would be deleted too: then the error is core.ErrUnknown, and the caller may look.
func (s *Store) Delete(ctx context.Context, session string) error {
	if err := admit(ctx, "delete", session); err != nil {
		return err
	}
	k := s.keys(session)
	_, fail := attempts(s.begin(ctx, core.ErrUnknown, false), func(ctx context.Context) (struct{}, error) {
		err := s.erase(ctx, k)
		if err == nil {
			return struct{}{}, nil
		}
		fail := classify(err, core.ErrUnknown)
		fail.again = fail.again && fail.kind != core.ErrUnknown
		return struct{}{}, fail
	})
	if fail != nil {
		return failed(ctx, "delete", session, fail)
	}
	return nil
}

func (s *Store) erase(ctx context.Context, k keys) error {
	if !s.opt.Feed {
		return s.client.Del(ctx, k.state).Err()
	}
	if s.scripted() {
		err := s.runScript(ctx, deleteScript, []string{k.state, k.feed}, tombstoneTTL.Milliseconds(), s.feedLen).Err()
		if !s.scriptsDenied(err) {
			return err
		}
	}
	return s.eraseWatched(ctx, k)
}
