package core

import "context"

type sessionKey struct{}

// WithSession returns a ctx that carries the session id. The id is used as it is; "" is as good as none:
// adapters then fail with [ErrNoSession] (docs/design.md, section 2).
func WithSession(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, sessionKey{}, id)
}

// SessionFrom returns the session id that [WithSession] put into ctx; ok is false if there is none or it is empty.
func SessionFrom(ctx context.Context) (id string, ok bool) {
	id, _ = ctx.Value(sessionKey{}).(string)
	return id, id != ""
}

type guardKey struct{}

// WithGuard switches the finalization guard on or off for what runs under ctx. Without it the guard is on.
func WithGuard(ctx context.Context, on bool) context.Context {
	return context.WithValue(ctx, guardKey{}, on)
}

func guardOn(ctx context.Context) bool {
	on, set := ctx.Value(guardKey{}).(bool)
	return on || !set
}
