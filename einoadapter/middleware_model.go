package einoadapter

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// turn is one execution of the agent's model node: the same value reaches BeforeModelRewriteState, every attempt of the model
// call, and AfterModelRewriteState. eino runs these one after the other.
type turn[M adk.MessageType] struct {
	call     *modelCall[M] // the last attempt; nil: our model was not reached
	shown    bool          // tail is what core gave for this turn; a retry shows it again
	tail     string
	held     string // the answer that this turn replays; "": none
	boundary string // of the input, at the last attempt
}

// modelCall is a model call as it reached our place in the chain: inside retry, failover and eino's event sender.
type modelCall[M adk.MessageType] struct {
	inner     model.BaseModel[M]
	ctx       context.Context // carries the failover's current model
	in        []M             // without the block
	opts      []model.Option
	streaming bool
}

type turnKey[M adk.MessageType] struct{}

func turnOf[M adk.MessageType](ctx context.Context) *turn[M] {
	t, _ := ctx.Value(turnKey[M]{}).(*turn[M])
	return t
}

// todoModel adds the block of open items to each request, on a copy.
type todoModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	e     *execution
	turn  *turn[M]
}

// Generate implements model.BaseModel.
func (w *todoModel[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	req, held, err := w.before(ctx, in)
	if err != nil || !isNil(held) {
		return held, err
	}
	w.turn.call = &modelCall[M]{inner: w.inner, ctx: ctx, in: in, opts: opts}
	return w.inner.Generate(ctx, req, opts...)
}

// Stream implements model.BaseModel.
func (w *todoModel[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	req, held, err := w.before(ctx, in)
	if err != nil {
		return nil, err
	}
	if !isNil(held) {
		return schema.StreamReaderFromArray([]M{held}), nil
	}
	w.turn.call = &modelCall[M]{inner: w.inner, ctx: ctx, in: in, opts: opts, streaming: true}
	return w.inner.Stream(ctx, req, opts...)
}

// before returns the request to make, or the held answer that makes it needless.
func (w *todoModel[M]) before(ctx context.Context, in []M) (req []M, held M, err error) {
	run, _, err := w.e.begin(ctx)
	if err != nil {
		return nil, held, err
	}
	boundary := w.e.input.request(inputsOf(in))
	t := w.turn
	if !t.shown {
		if w.e.replay {
			t.held, _ = run.Held()
		}
		if t.held == "" {
			if t.tail, err = run.BeforeModel(ctx, core.Prompt{Boundary: boundary, LastTool: lastTool(in)}); err != nil {
				return nil, held, err
			}
		}
		t.shown = true
	} else if boundary != t.boundary { // the host's retry changed what the user says
		run.NewInput(boundary)
	}
	t.boundary = boundary
	if t.held != "" {
		w.e.letHeldStand()
		held = marked(assistantMessage[M](t.held), markHeld)
		adk.EnsureMessageID(held)
		return nil, held, nil
	}
	return withTail(in, t.tail), held, nil
}
