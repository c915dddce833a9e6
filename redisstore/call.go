package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// call is one call of a method of the store: what it may take and how it is repeated.
type call struct {
	store  *Store
	ctx    context.Context // the caller's
	limit  time.Time       // when the call ends, whatever happened
	giveUp time.Time       // when it stops to ask a server that says "later"
	lost   error           // the meaning of an attempt without a reply
}

// begin starts a call. With patience it may take until the deadline of ctx, if there is one, else Options.Timeout.
//
// A call that would change something gives up well before its time is up: an attempt that is cut short has an unknown
// outcome, a server that said "later" has not.
func (s *Store) begin(ctx context.Context, lost error, patience bool) call {
	now := time.Now()
	c := call{store: s, ctx: ctx, limit: now.Add(s.opt.Timeout), giveUp: now.Add(s.opt.Timeout / 2), lost: lost}
	if d, ok := ctx.Deadline(); ok && (patience || d.Before(c.limit)) {
		c.limit = d
	}
	return c
}

// attempts repeats f until it succeeds, fails for good, or the time is up.
func attempts[T any](c call, f func(context.Context) (T, error)) (T, *failure) {
	for try := backoff(0); ; try++ {
		v, err := attempt(c, try, f)
		if err == nil {
			return v, nil
		}
		fail := classify(err, c.lost)
		again := fail.again && (fail.kind == c.lost || time.Now().Before(c.giveUp))
		if !again || !c.pause(try) {
			var none T
			return none, c.gaveUp(fail)
		}
	}
}

// attempt runs f, the try-th time, until the time is up. To hand each command to another goroutine, only to be able to leave
// it, or to set a timer for it, would cost a good part of what the command costs. So the first try with a client that respects
// deadlines runs here, under the caller's own context: the driver leaves at its deadline and sees that it is cancelled. What only
// Options.Timeout ends is then exact on the connection, and late by as long as the driver goes on to dial a server that is away.
func attempt[T any](c call, try backoff, f func(context.Context) (T, error)) (T, error) {
	if c.store.punctual && try == 0 {
		if d, ok := c.ctx.Deadline(); ok && d.Equal(c.limit) {
			return f(c.ctx)
		}
		return f(limited{c.ctx, c.limit})
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.limit)
	defer cancel()
	return within(ctx, func() (T, error) { return f(ctx) })
}

// over reports whether the time is up. As long as it is not, no attempt was left behind.
func (c call) over() bool { return c.ctx.Err() != nil || !time.Now().Before(c.limit) }

// pause waits between two attempts. False: the time is up.
func (c call) pause(try backoff) bool {
	t := time.NewTimer(min(try.wait(), time.Until(c.limit)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-c.ctx.Done():
	}
	return !c.over()
}

// backoff counts the failures in a row.
type backoff int

// wait is 5 ms and, with each failure, twice as long up to half a second, half of it at random.
func (b backoff) wait() time.Duration {
	d := min(5*time.Millisecond<<min(b, 10), 500*time.Millisecond)
	return d/2 + rand.N(d/2)
}

// limited is a context with an earlier deadline and no timer for it.
type limited struct {
	context.Context
	limit time.Time
}

func (l limited) Deadline() (time.Time, bool) { return l.limit, true }

func (l limited) Err() error {
	if err := l.Context.Err(); err != nil || time.Now().Before(l.limit) {
		return err
	}
	return context.DeadlineExceeded
}

// within runs f and leaves it behind when ctx is done. What is left behind ends by the client's own time-outs.
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

// punctual reports whether the reads of a client end at the deadline of their context.
func punctual(client redis.UniversalClient) bool {
	switch c := client.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
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
