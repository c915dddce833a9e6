// Package einoadk plays stories on the ADK of Eino: a real agent and runner round a scripted model, invoked and streamed, on
// both message types.
package einoadk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/einoadapter"
)

// Surfaces are all ways in which the ADK runs an agent.
func Surfaces() []storytest.Surface {
	return []storytest.Surface{
		surface[*schema.Message]("eino adk invoke", false),
		surface[*schema.Message]("eino adk stream", true),
		surface[*schema.AgenticMessage]("eino adk agentic invoke", false),
		surface[*schema.AgenticMessage]("eino adk agentic stream", true),
	}
}

func surface[M adk.MessageType](name string, stream bool) storytest.Surface {
	return storytest.Surface{Name: name, Play: func(ctx context.Context, _ testing.TB, env storytest.Env) (storytest.Got, error) {
		return play[M](ctx, env, stream)
	}}
}

func play[M adk.MessageType](ctx context.Context, env storytest.Env, stream bool) (storytest.Got, error) {
	planner, err := core.New(env.Config)
	if err != nil {
		return storytest.Got{}, err
	}
	cfg := &adk.TypedChatModelAgentConfig[M]{
		Name: "agent", Description: "plays a story", MaxIterations: 100,
		Model: &Model[M]{Next: env.Model.Next},
	}
	for _, t := range env.Tools {
		cfg.ToolsConfig.Tools = append(cfg.ToolsConfig.Tools, fixedTool(t))
	}
	if err := einoadapter.Attach(ctx, cfg, &einoadapter.Config{Planner: planner}); err != nil {
		return storytest.Got{}, err
	}
	agent, err := adk.NewTypedChatModelAgent(ctx, cfg)
	if err != nil {
		return storytest.Got{}, err
	}
	runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: stream})
	return Consume(runner.Query(ctx, env.Input))
}

// Consume reads events as a user interface does and returns the texts of the model, in order.
func Consume[M adk.MessageType](events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (storytest.Got, error) {
	got := storytest.Got{Delivered: []string{}}
	var failed error
	for {
		ev, ok := events.Next()
		if !ok {
			return got, failed
		}
		if ev.Err != nil {
			failed = errors.Join(failed, ev.Err)
		}
		if ev.Output == nil || ev.Output.MessageOutput == nil {
			continue
		}
		msg, err := read(ev.Output.MessageOutput)
		var again *adk.WillRetryError
		if errors.As(err, &again) {
			continue
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		m, err := Plain(msg)
		if err != nil {
			return got, err
		}
		if m.Role == "assistant" && m.Text != "" {
			got.Delivered = append(got.Delivered, m.Text)
			got.Answer = m.Text
		}
	}
}

func read[M adk.MessageType](out *adk.TypedMessageVariant[M]) (m M, err error) {
	if !out.IsStreaming {
		return out.Message, nil
	}
	defer out.MessageStream.Close()
	var chunks []M
	for {
		chunk, err := out.MessageStream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return m, err
		}
		chunks = append(chunks, chunk)
	}
	switch c := any(chunks).(type) {
	case []*schema.Message:
		msg, err := schema.ConcatMessages(c)
		if err != nil {
			return m, err
		}
		return any(msg).(M), nil
	default:
		msg, err := schema.ConcatAgenticMessages(any(chunks).([]*schema.AgenticMessage))
		if err != nil {
			return m, err
		}
		return any(msg).(M), nil
	}
}

type fixed struct {
	info   *schema.ToolInfo
	result string
}

func fixedTool(t storytest.Tool) tool.InvokableTool {
	return &fixed{info: &schema.ToolInfo{Name: t.Name, Desc: "a tool of the story", ParamsOneOf: schema.NewParamsOneOfByParams(nil)}, result: t.Result}
}

func (t *fixed) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

func (t *fixed) InvokableRun(_ context.Context, args string, _ ...tool.Option) (string, error) {
	if args != "" && !json.Valid([]byte(args)) {
		return "", fmt.Errorf("the tool %q got %q", t.info.Name, args)
	}
	return t.result, nil
}
