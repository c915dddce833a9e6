package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/todoguard/todoguard/core"
)

// within runs f and leaves it behind when ctx is done: the driver looks at a cancelled context only between
// commands, and at a deadline only if its client was made so. What is left behind ends by the client's own time-outs.
func within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done: // both were ready: an outcome that is known is worth more
		return r.v, r.err
	default:
		var none T
		return none, ctx.Err()
	}
}

// attempts repeats f until it succeeds, fails for good, or bounded is done. ctx is the caller's context, bounded the
// same or shorter. lost is the meaning of an attempt without a reply.
func attempts[T any](ctx, bounded context.Context, s *Store, lost error, f func() (T, error)) (T, *failure) {
	giveUp := s.giveUp()
	for wait := backoff(0); ; wait++ {
		v, err := within(bounded, f)
		if err == nil {
			return v, nil
		}
		fail := classify(err, lost)
		again := fail.again && (fail.kind == lost || time.Now().Before(giveUp))
		if !again || !wait.pause(bounded) {
			var none T
			return none, s.gaveUp(ctx, fail)
		}
	}
}

// giveUp is when a call that would change something stops to ask a server that says "later": well before its time is
// up, since an attempt that is cut short has an unknown outcome.
func (s *Store) giveUp() time.Time { return time.Now().Add(s.opt.Timeout / 2) }

// backoff counts the failures in a row.
type backoff int

// pause waits 5 ms and, with each failure, twice as long up to half a second, half of it at random. False: ctx is done.
func (b backoff) pause(ctx context.Context) bool {
	d := min(5*time.Millisecond<<min(b, 10), 500*time.Millisecond)
	t := time.NewTimer(d/2 + rand.N(d/2))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// admit refuses a call that cannot be started.
func admit(ctx context.Context, verb, session string) error {
	if session == "" {
		return fmt.Errorf("redisstore: %s: %w", verb, core.ErrNoSession)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("redisstore: %s %q: %w", verb, session, err)
	}
	return nil
}
