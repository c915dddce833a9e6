package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

const (
	stageTTL   = time.Minute // an upload whose script never ran is gone after that
	stageTries = 3           // how often an upload may vanish before its script runs
	bufferMax  = 1 << 20     // larger buffers are left to the garbage collector, bytes
)

// buffers hold header and document of a save, which would else be allocated again for each.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// write is one logical save. Repeated, it keeps its id, by which the server knows that it was applied before.
type write struct {
	keys  keys
	base  stamp
	next  stamp
	value []byte // header and document
}

func (w *write) wid() string { return w.next.ids[0] }

// Save implements core.Store in one round trip. A conflict is a *core.ConflictError with what is stored, at no
// further round trip. An attempt without an answer is repeated as the same write until the context is done
// (Options.Timeout where it has no deadline); then the error is core.ErrUnknown. A request that is executed after
// that changes nothing if anyone saved in between.
//
// An error reply that means "later" (a replica, a server that loads its data) is waited out for half of
// Options.Timeout and is then core.ErrUnavailable: nothing was changed. A server without room is core.ErrFull at once.
func (s *Store) Save(ctx context.Context, session string, doc []byte, base core.Version) (core.Version, error) {
	if err := admit(ctx, "save", session); err != nil {
		return "", err
	}
	k := s.keys(session)
	from, ok := parseVersion(base)
	if !ok {
		return "", s.foreignVersion(ctx, session, k)
	}

	c := s.begin(ctx, core.ErrUnknown, true)
	buf := buffers.Get().(*[]byte)
	w := &write{keys: k, base: from, next: from.next(newWID())}
	w.value = append(w.next.appendHeader((*buf)[:0]), doc...)
	err := s.repeat(c, w)
	if !c.over() && cap(w.value) <= bufferMax { // else an attempt that was left behind may still send it
		*buf = w.value
		buffers.Put(buf)
	}
	if err != nil {
		return "", failed(ctx, "save", session, err)
	}
	return w.next.version(), nil
}

// repeat sends w until its outcome is known or the time is up.
func (s *Store) repeat(c call, w *write) error {
	unknown := false // an earlier attempt may have been applied, or may be yet
	for try := backoff(0); ; try++ {
		_, err := attempt(c, try, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.send(ctx, w) })
		if err == nil {
			return nil
		}
		if conflict, ok := errors.AsType[*core.ConflictError](err); ok {
			return conflict
		}
		fail := classify(err, c.lost)
		unknown = unknown || fail.kind == core.ErrUnknown
		again := fail.again && (unknown || time.Now().Before(c.giveUp))
		if again && c.pause(try) {
			continue
		}
		fail = c.gaveUp(fail)
		if unknown && fail.kind != core.ErrUnknown {
			return fmt.Errorf("%w: %w", core.ErrUnknown, fail)
		}
		return fail
	}
}

func (s *Store) send(ctx context.Context, w *write) error {
	if !s.scripted() {
		return s.saveWatched(ctx, w)
	}
	return s.saveStaged(ctx, w)
}

// saveStaged uploads the value under a name of its own and lets the script move it into place.
func (s *Store) saveStaged(ctx context.Context, w *write) error {
	stage := w.keys.stage(w.wid())
	names := []string{w.keys.state, stage}
	if s.opt.Feed {
		names = append(names, w.keys.feed)
	}
	args := []any{w.base.prefix(), w.wid(), s.ttl, s.feedLen, string(w.next.version())}
	for range stageTries {
		var set *redis.StatusCmd
		var script *redis.Cmd
		_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			set = p.Set(ctx, stage, w.value, stageTTL)
			script = p.EvalSha(ctx, saveScript.Hash(), names, args...)
			return nil
		})
		if err != nil && set.Err() == nil && script.Err() == nil {
			return err // the driver gave up before it asked
		}
		if set.Err() == nil && redis.HasErrorPrefix(script.Err(), "NOSCRIPT") {
			script = saveScript.Eval(ctx, s.client, names, args...) // the document is there already
		}
		reply, err := script.Result()
		if set.Err() != nil { // a plain write, so what forbids writes comes unwrapped: no room, a replica, permissions
			if err == nil && reply == int64(replyReplay) {
				return nil
			}
			return set.Err()
		}
		if err != nil {
			if !s.scriptsDenied(err) {
				return err
			}
			_ = s.client.Del(ctx, stage).Err() // it would expire by itself
			return s.saveWatched(ctx, w)
		}
		if reply != int64(replyNoStage) {
			return outcome(reply)
		}
	}
	return &failure{core.ErrUnavailable, fmt.Errorf("the upload vanished %d times before it was moved into place", stageTries), true}
}

// Replies of save.lua.
const (
	replyNoStage = 0
	replyApplied = 1
	replyReplay  = 2
)

// outcome reads the reply of save.lua. Nil: the write is stored.
func outcome(reply any) error {
	switch r := reply.(type) {
	case int64:
		if r == replyApplied || r == replyReplay {
			return nil
		}
	case []any:
		if len(r) == 0 || r[0] == nil {
			return &core.ConflictError{}
		}
		if value, ok := r[0].(string); ok {
			return conflictWith([]byte(value))
		}
	}
	return &failure{core.ErrUnknown, fmt.Errorf("the script replied %v, want an integer or an array", reply), false}
}

// conflictWith is the conflict with a stored value, or the failure to read that value.
func conflictWith(value []byte) error {
	p, doc, err := parseValue(value)
	if err != nil {
		return &failure{core.ErrCorrupt, err, false}
	}
	return &core.ConflictError{Doc: doc, Version: p.version()}
}

// foreignVersion answers a save on a version that no store of this package gave out. It must not renew the session,
// so it is no Load.
func (s *Store) foreignVersion(ctx context.Context, session string, k keys) error {
	got, fail := attempts(s.begin(ctx, core.ErrUnavailable, false), func(ctx context.Context) (stored, error) {
		return parseStored(s.client.Get(ctx, k.state))
	})
	if fail != nil {
		return failed(ctx, "save", session, fail)
	}
	return failed(ctx, "save", session, &core.ConflictError{Doc: got.doc, Version: got.version()})
}
