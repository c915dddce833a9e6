package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// This file saves and deletes without scripts: WATCH, look, MULTI ... EXEC. The layout is the same, so writers of
// both kinds may work on one session.

// saveWatched is [Store.saveStaged] in three round trips.
func (s *Store) saveWatched(ctx context.Context, w *write) error {
	return s.watching(ctx, w.keys, func(tx *redis.Tx) error {
		value, feedOK, err := s.look(ctx, tx, w)
		if err != nil {
			return err
		}
		if value != nil && w.base.none() || !strings.HasPrefix(string(value), w.base.prefix()) {
			header, _, _ := strings.Cut(string(value), "\n")
			if strings.Contains(header, " "+w.wid()+" ") {
				return nil // a replay
			}
			return s.conflictIn(ctx, tx, w.keys)
		}
		return s.exec(ctx, tx, func(p redis.Pipeliner) {
			p.Set(ctx, w.keys.state, w.value, s.opt.TTL)
			if feedOK {
				s.addEntry(ctx, p, w.keys, string(w.next.version()))
				if s.opt.TTL > 0 {
					p.PExpire(ctx, w.keys.feed, s.opt.TTL)
				} else {
					p.Persist(ctx, w.keys.feed)
				}
			}
		})
	})
}

// eraseWatched is delete.lua without a script.
func (s *Store) eraseWatched(ctx context.Context, k keys) error {
	return s.watching(ctx, k, func(tx *redis.Tx) error {
		var state *redis.StringCmd
		var feed *redis.XMessageSliceCmd
		_, err := tx.Pipelined(ctx, func(p redis.Pipeliner) error {
			state = p.Get(ctx, k.state)
			feed = p.XRevRangeN(ctx, k.feed, "+", "-", 1)
			return nil
		})
		if errors.Is(state.Err(), redis.Nil) {
			return nil
		}
		if redis.HasErrorPrefix(state.Err(), "WRONGTYPE") { // Delete removes whatever stands under the key
			err = nil
		}
		if err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
		return s.exec(ctx, tx, func(p redis.Pipeliner) {
			p.Del(ctx, k.state)
			if feed.Err() == nil {
				s.addEntry(ctx, p, k, "")
				p.PExpire(ctx, k.feed, tombstoneTTL)
			}
		})
	})
}

// watching runs f under WATCH of the state, again as long as the state changes between look and EXEC.
func (s *Store) watching(ctx context.Context, k keys, f func(*redis.Tx) error) error {
	for {
		err := s.client.Watch(ctx, f, k.state)
		if !errors.Is(err, redis.TxFailedErr) || ctx.Err() != nil {
			return err
		}
	}
}

// look reads as much of the state as the comparison needs, nil if there is none, and whether the feed can be
// written: in MULTI a foreign type under its key would be seen too late to leave its expiry alone.
func (s *Store) look(ctx context.Context, tx *redis.Tx, w *write) (value []byte, feedOK bool, err error) {
	var state *redis.StringCmd
	var feed *redis.XMessageSliceCmd
	_, err = tx.Pipelined(ctx, func(p redis.Pipeliner) error {
		if w.base.none() {
			state = p.Get(ctx, w.keys.state)
		} else {
			state = p.GetRange(ctx, w.keys.state, 0, headerMax-1)
		}
		if s.opt.Feed {
			feed = p.XRevRangeN(ctx, w.keys.feed, "+", "-", 1)
		}
		return nil
	})
	if err != nil && state.Err() == nil && (feed == nil || feed.Err() == nil) {
		return nil, false, err
	}
	feedOK = feed != nil && feed.Err() == nil
	value, err = state.Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, feedOK, nil
	}
	return value, feedOK, err
}

func (s *Store) conflictIn(ctx context.Context, tx *redis.Tx, k keys) error {
	value, err := tx.Get(ctx, k.state).Bytes()
	if errors.Is(err, redis.Nil) {
		return &core.ConflictError{}
	}
	if err != nil {
		return err
	}
	return conflictWith(value)
}

// exec runs MULTI ... EXEC. The first command decides: the feed must not fail a save that is stored.
func (s *Store) exec(ctx context.Context, tx *redis.Tx, queue func(redis.Pipeliner)) error {
	cmds, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { queue(p); return nil })
	if err == nil || errors.Is(err, redis.TxFailedErr) || len(cmds) == 0 {
		return err
	}
	if redis.IsExecAbortError(err) { // the reason stands on the command that could not be queued
		for _, c := range cmds {
			if c.Err() != nil && !redis.IsExecAbortError(c.Err()) {
				return c.Err()
			}
		}
		return err
	}
	if _, reply := errors.AsType[redis.Error](err); !reply {
		return err
	}
	return cmds[0].Err()
}

func (s *Store) addEntry(ctx context.Context, p redis.Pipeliner, k keys, version string) {
	p.XAdd(ctx, &redis.XAddArgs{Stream: k.feed, MaxLen: int64(s.opt.FeedLen), Approx: true, Values: []any{entryVersion, version}})
}
