package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// failure is what went wrong in one attempt. errors.Is finds both the meaning and the cause.
type failure struct {
	kind  error // one of core's sentinels; nil: an error reply that this package does not know
	cause error
	again bool // the same attempt may succeed later
}

func (f *failure) Error() string {
	if f.kind == nil {
		return f.cause.Error()
	}
	return f.kind.Error() + ": " + f.cause.Error()
}

func (f *failure) Unwrap() []error {
	if f.kind == nil {
		return []error{f.cause}
	}
	return []error{f.kind, f.cause}
}

// replies sorts the error replies of a server by their code.
var replies = []struct {
	codes []string
	kind  error
	again bool
}{
	{[]string{"OOM"}, core.ErrFull, false},
	{[]string{"NOPERM", "NOAUTH", "WRONGPASS"}, core.ErrDenied, false},
	{[]string{"WRONGTYPE"}, core.ErrCorrupt, false},
	{[]string{"READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "BUSY",
		"MOVED", "ASK", "ERR max number of clients"}, core.ErrUnavailable, true},
	{[]string{"ERR The user executing the script can't", "The user executing the script can't"}, core.ErrDenied, false},
}

// classify says what an error of the driver means. lost is the meaning of an attempt without a reply: for a save
// core.ErrUnknown, even when no connection was made, since the driver repeats a command whose reply was lost and
// reports only the last error; for a load core.ErrUnavailable.
func classify(err, lost error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		if errors.Is(err, redis.ErrClosed) {
			return &failure{core.ErrUnavailable, err, false}
		}
		return &failure{lost, err, true}
	}
	for _, r := range replies {
		for _, code := range r.codes {
			if hasCode(reply.Error(), code) {
				return &failure{r.kind, err, r.again}
			}
		}
	}
	return &failure{nil, err, false}
}

// hasCode finds the code of a reply, also behind the frame that a server puts round an error inside a script:
// "ERR Error running script (call to f_...): @user_script:1: -OOM command not allowed ..." before Redis 7.
func hasCode(text, code string) bool {
	return strings.HasPrefix(text, code+" ") || text == code || strings.Contains(text, ": -"+code+" ") || strings.Contains(text, ": "+code+" ")
}

// failed is the error of a whole call. cause is the last attempt's; the context's error is added where it is done.
func failed(ctx context.Context, verb, session string, cause error) error {
	if done := doneErr(ctx); done != nil && !errors.Is(cause, done) {
		return fmt.Errorf("redisstore: %s %q: %w (%w)", verb, session, cause, done)
	}
	return fmt.Errorf("redisstore: %s %q: %w", verb, session, cause)
}

// doneErr is ctx.Err(), also in the instant between the deadline and the timer that tells ctx of it.
func doneErr(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d, ok := ctx.Deadline(); ok && !time.Now().Before(d) {
		return context.DeadlineExceeded
	}
	return nil
}

// gaveUp hides the limit that the store set itself: to the caller, context.DeadlineExceeded is news of the
// caller's own context.
func (c call) gaveUp(f *failure) *failure {
	if errors.Is(f.cause, context.DeadlineExceeded) && doneErr(c.ctx) == nil {
		return &failure{f.kind, fmt.Errorf("no answer within %v", c.store.opt.Timeout), f.again}
	}
	return f
}
