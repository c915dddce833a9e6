package lcgadapter

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
)

// gate stands between the model's stream and the caller's. While items are open, or an answer is held, it is not known
// whether the text of a turn is the answer: chunks wait until it is, and the stream then holds the answer that is delivered
// and nothing else. Otherwise chunks pass live, and an answer that has passed is not corrected.
type gate struct {
	to     func(context.Context, []byte) error // nil: nobody listens
	prefix string
	hold   bool
	chunks [][]byte
	sent   bool  // text has passed live
	broken error // of the caller's function
}

// gate returns the gate of a turn and the options that lead the stream into it.
func (a *Agent) gate(t *turn, options []chains.ChainCallOption) (*gate, []chains.ChainCallOption) {
	g := &gate{to: a.listener(options), prefix: a.kind.answerPrefix()}
	if g.to == nil {
		return g, options
	}
	g.hold = t.mark.Corrected || t.run.MayHold()
	return g, append(slices.Clone(options), chains.WithStreamingFunc(g.chunk))
}

// listener is where the wrapped agent would stream to: the function of the call, or the handler of a text agent, or that
// of the call.
func (a *Agent) listener(options []chains.ChainCallOption) func(context.Context, []byte) error {
	all := options
	if h := a.handler; h != nil {
		all = append([]chains.ChainCallOption{chains.WithStreamingFunc(func(ctx context.Context, chunk []byte) error {
			h.HandleStreamingFunc(ctx, chunk)
			return nil
		})}, options...)
	}
	var o llms.CallOptions
	for _, f := range chains.GetLLMCallOptions(all...) {
		f(&o)
	}
	return o.StreamingFunc
}

func (g *gate) chunk(ctx context.Context, c []byte) error {
	if g.hold {
		g.chunks = append(g.chunks, bytes.Clone(c))
		return nil
	}
	g.sent = g.sent || len(bytes.TrimSpace(c)) > 0
	return g.pass(ctx, c)
}

func (g *gate) pass(ctx context.Context, c []byte) error {
	g.broken = g.to(ctx, c)
	return g.broken
}

// drop forgets what waits: it is not the answer.
func (g *gate) drop() { g.chunks = nil }

// flush lets the answer of this turn out as it came. said is that answer.
func (g *gate) flush(ctx context.Context, said string) error {
	if g.to == nil || !g.hold {
		return nil
	}
	text := string(bytes.Join(g.chunks, nil))
	if g.prefix == "" && text != said || strings.TrimSpace(text) == "" {
		return g.say(ctx, said) // the model did not stream, or streamed something else
	}
	for _, c := range g.chunks {
		if err := g.pass(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// say streams an answer that is not this turn's text, in the form that the handlers of the agent look for.
func (g *gate) say(ctx context.Context, answer string) error {
	if g.to == nil || answer == "" {
		return nil
	}
	if g.prefix != "" {
		answer = "\n" + g.prefix + answer // on a line of its own, behind what passed before
	}
	return g.pass(ctx, []byte(answer))
}
