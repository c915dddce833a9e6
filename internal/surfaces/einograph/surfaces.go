// Package einograph plays stories on the surfaces of eino that graph builders use: a compose.Graph with the loop and the react
// agent, each in Invoke and in Stream.
package einograph

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/einoadapter"
)

// maxSteps is more than any story takes.
const maxSteps = 200

// All are the surfaces of this package.
func All() []storytest.Surface { return append(Graph(), React()...) }

// Graph is a compose.Graph with the loop: its Invoke, its Stream, and its Stream with Live.
func Graph() []storytest.Surface {
	return []storytest.Surface{
		{Name: "eino graph invoke", Golden: true, Play: play(graph(false), invoke)},
		{Name: "eino graph stream", Golden: true, Play: play(graph(false), stream)},
		{Name: "eino graph live stream", Golden: true, Play: play(graph(true), stream), Cannot: liveCannot},
	}
}

// React is the react agent: its Generate, its Stream, and its Stream with Live.
func React() []storytest.Surface {
	return []storytest.Surface{
		{Name: "eino react invoke", Golden: true, Play: play(agent(false), invoke)},
		{Name: "eino react stream", Golden: true, Play: play(agent(false), stream)},
		{Name: "eino react live stream", Golden: true, Play: play(agent(true), stream), Cannot: liveCannot},
	}
}

var liveCannot = map[string]string{
	storytest.TextWithCalls: "Live takes a response that starts with text for an answer",
}

type runnable = compose.Runnable[[]*schema.Message, *schema.Message]

func play(build func(context.Context, storytest.Env) (runnable, error), call func(context.Context, runnable, []*schema.Message) (string, error)) func(context.Context, testing.TB, storytest.Env) (storytest.Got, error) {
	return func(ctx context.Context, _ testing.TB, env storytest.Env) (storytest.Got, error) {
		r, err := build(ctx, env)
		if err != nil {
			return storytest.Got{}, err
		}
		answer, err := call(core.WithSession(ctx, env.Session), r, []*schema.Message{schema.UserMessage(env.Input)})
		return storytest.Got{Answer: answer}, err
	}
}

// graph builds START -> loop -> END.
func graph(live bool) func(context.Context, storytest.Env) (runnable, error) {
	return func(ctx context.Context, env storytest.Env) (runnable, error) {
		planner, err := core.New(env.Config)
		if err != nil {
			return nil, err
		}
		g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(einoadapter.NewGraphState))
		loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{
			Planner:     planner,
			Model:       scripted{env.Model},
			Tools:       compose.ToolsNodeConfig{Tools: tools(env.Tools)},
			MaxRunSteps: maxSteps,
			Live:        live,
		})
		if err != nil {
			return nil, err
		}
		if err := g.AddEdge(compose.START, einoadapter.DefaultModelKey); err != nil {
			return nil, err
		}
		return g.Compile(ctx, loop.CompileOptions()...)
	}
}

// agent builds a react agent.
func agent(live bool) func(context.Context, storytest.Env) (runnable, error) {
	return func(ctx context.Context, env storytest.Env) (runnable, error) {
		planner, err := core.New(env.Config)
		if err != nil {
			return nil, err
		}
		cfg, err := einoadapter.React(ctx, &einoadapter.ReactConfig{
			Planner: planner,
			Agent: react.AgentConfig{
				ToolCallingModel: scripted{env.Model},
				ToolsConfig:      compose.ToolsNodeConfig{Tools: tools(env.Tools)},
				MaxStep:          maxSteps,
			},
			Live: live,
		})
		if err != nil {
			return nil, err
		}
		a, err := react.NewAgent(ctx, cfg)
		if err != nil {
			return nil, err
		}
		return reactRunnable{Agent: a}, nil
	}
}

// reactRunnable shows an agent as the graph that it is.
type reactRunnable struct {
	runnable
	*react.Agent
}

func (r reactRunnable) Invoke(ctx context.Context, in []*schema.Message, _ ...compose.Option) (*schema.Message, error) {
	return r.Generate(ctx, in)
}

func (r reactRunnable) Stream(ctx context.Context, in []*schema.Message, _ ...compose.Option) (*schema.StreamReader[*schema.Message], error) {
	return r.Agent.Stream(ctx, in)
}

func invoke(ctx context.Context, r runnable, in []*schema.Message) (string, error) {
	out, err := r.Invoke(ctx, in)
	if err != nil {
		return "", err
	}
	return out.Content, nil
}

func stream(ctx context.Context, r runnable, in []*schema.Message) (string, error) {
	out, err := r.Stream(ctx, in)
	if err != nil {
		return "", err
	}
	defer out.Close()
	var text strings.Builder
	for {
		chunk, err := out.Recv()
		if errors.Is(err, io.EOF) {
			return text.String(), nil
		}
		if err != nil {
			return "", err
		}
		text.WriteString(chunk.Content)
	}
}
