// Package lcg has the surfaces on which LangChainGo agents play stories (docs/design.md, section 9).
package lcg

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/lcgadapter"
)

// All returns every surface.
func All() []storytest.Surface {
	return []storytest.Surface{
		Functions(), FunctionsStream(), MRKL(), MRKLStream(), Conversational(), ConversationalStream(),
	}
}

// Functions is an OpenAIFunctionsAgent.
func Functions() storytest.Surface { return surface("lcg functions invoke", functions, false) }

// FunctionsStream is an OpenAIFunctionsAgent whose caller listens to the stream.
func FunctionsStream() storytest.Surface { return surface("lcg functions stream", functions, true) }

// MRKL is a OneShotZeroAgent.
func MRKL() storytest.Surface { return surface("lcg mrkl invoke", mrkl, false) }

// MRKLStream is a OneShotZeroAgent whose caller listens to the stream.
func MRKLStream() storytest.Surface { return surface("lcg mrkl stream", mrkl, true) }

// Conversational is a ConversationalAgent.
func Conversational() storytest.Surface {
	return surface("lcg conversational invoke", conversational, false)
}

// ConversationalStream is a ConversationalAgent whose caller listens to the stream.
func ConversationalStream() storytest.Surface {
	return surface("lcg conversational stream", conversational, true)
}

// TextAgentsCannot is what stories may ask and text agents cannot do.
var TextAgentsCannot = map[string]string{
	storytest.ParallelCalls: "the format has one action in each output, and the parser makes one call of it",
}

type kind int

const (
	functions kind = iota
	mrkl
	conversational
)

// iterations is enough for any story.
const iterations = 60

func surface(name string, k kind, stream bool) storytest.Surface {
	s := storytest.Surface{Name: name, Play: func(ctx context.Context, _ testing.TB, env storytest.Env) (storytest.Got, error) {
		return play(ctx, env, k, stream)
	}}
	if k != functions {
		s.Cannot = TextAgentsCannot
	}
	return s
}

func play(ctx context.Context, env storytest.Env, k kind, stream bool) (storytest.Got, error) {
	p, err := lcgadapter.New(lcgadapter.WithConfig(env.Config))
	if err != nil {
		return storytest.Got{}, err
	}
	var ts []tools.Tool
	for _, t := range env.Tools {
		ts = append(ts, fixed{t})
	}
	var inner agents.Agent
	var model interface {
		llms.Model
		mixed() bool
	}
	switch k {
	case functions:
		m := &chatModel{script: env.Model}
		model, inner = m, agents.NewOpenAIFunctionsAgent(m, ts)
	case mrkl:
		m := newTextModel(env.Model, mrklFormat)
		model, inner = m, agents.NewOneShotAgent(m, append(ts, p.Tools()...))
	case conversational:
		m := newTextModel(env.Model, conversationalFormat)
		model, inner = m, agents.NewConversationalAgent(m, append(ts, p.Tools()...))
	}
	agent, err := p.Wrap(inner)
	if err != nil {
		return storytest.Got{}, err
	}
	executor := lcgadapter.NewExecutor(agent, agents.WithMaxIterations(iterations))
	var seen strings.Builder
	var options []chains.ChainCallOption
	if stream {
		options = append(options, chains.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			seen.Write(chunk)
			return nil
		}))
	}
	answer, err := chains.Run(ctx, executor, env.Input, options...)
	if err != nil {
		return storytest.Got{}, err
	}
	if stream {
		err = sameAnswer(k, seen.String(), answer, model.mixed())
	}
	return storytest.Got{Answer: answer}, err
}

// sameAnswer holds that the stream's answer is the caller's. Where no text was made beside calls, a functions agent's
// stream holds nothing else; a text agent's stream holds its calls too, and one answer, behind its mark on a line of its own.
func sameAnswer(k kind, stream, answer string, mixed bool) error {
	got, answer := strings.TrimSpace(stream), strings.TrimSpace(answer)
	if mark := (map[kind]string{mrkl: mrklFormat.answer, conversational: conversationalFormat.answer})[k]; mark != "" {
		if n := strings.Count("\n"+got, "\n"+mark); n != 1 {
			return fmt.Errorf("the stream holds %d answers: %q", n, stream)
		}
		got = strings.TrimSpace(got[strings.LastIndex("\n"+got, "\n"+mark)+len(mark):])
		mixed = false
	}
	if got != answer && !(mixed && strings.HasSuffix(got, answer)) {
		return fmt.Errorf("the stream holds %q, the answer is %q", got, answer)
	}
	return nil
}

// fixed is a tool with one result.
type fixed struct{ tool storytest.Tool }

func (f fixed) Name() string                                 { return f.tool.Name }
func (f fixed) Description() string                          { return "Gives a fixed result." }
func (f fixed) Call(context.Context, string) (string, error) { return f.tool.Result, nil }
