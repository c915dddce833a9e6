package einoadapter

import (
	"context"

	"github.com/todoguard/todoguard/core"
)

// seams are the seams of a run: a *core.Run, or the ones of an agent that has no list.
type seams interface {
	BeforeModel(ctx context.Context, p core.Prompt) (string, error)
	AfterModel(ctx context.Context, r core.Response) (core.Verdict, error)
	CallTool(ctx context.Context, c core.Call) (string, error)
	Finish(ctx context.Context, o core.Outcome) (string, error)
	MayHold() bool
}

// noList are the seams of an agent that runs inside another under the same session: the list is the outer agent's (section 2).
type noList struct{}

func (noList) BeforeModel(context.Context, core.Prompt) (string, error) { return "", nil }

func (noList) AfterModel(context.Context, core.Response) (core.Verdict, error) {
	return core.Verdict{}, nil
}

func (noList) CallTool(context.Context, core.Call) (string, error) {
	return "The list belongs to the agent that called you; you have none. Do your task without it.", nil
}

func (noList) MayHold() bool { return false }

func (noList) Finish(_ context.Context, o core.Outcome) (string, error) { return o.Answer, nil }

// withinRun marks what runs inside a tool of a run on session, for the agents of every kind in there.
func withinRun(ctx context.Context, session string) context.Context {
	return context.WithValue(ctx, executionKey{}, &execution{session: session})
}

// nested reports whether ctx is inside a tool of a run, and under no other session than that one's.
func nested(ctx context.Context) bool {
	outer := executionOf(ctx)
	session, own := core.SessionFrom(ctx)
	return outer != nil && (!own || session == outer.session)
}
