package cost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/prebuilt/deep"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"github.com/todoguard/todoguard/core"
)

// recorder is a scripted model that keeps the requests it gets. A blind one does not look at them.
type recorder struct {
	replies  []*schema.Message
	asked    int
	blind    bool
	requests []request
}

func (r *recorder) Generate(_ context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if r.asked == len(r.replies) {
		return nil, errors.New("a request too many")
	}
	reply := r.replies[r.asked]
	r.asked++
	if r.blind {
		return reply, nil
	}
	var req request
	for _, info := range model.GetCommonOptions(nil, opts...).Tools {
		js, err := info.ParamsOneOf.ToJSONSchema()
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(js)
		if err != nil {
			return nil, err
		}
		req.tools = append(req.tools, core.ToolSpec{Name: info.Name, Description: info.Desc, Schema: raw})
	}
	for _, m := range in {
		msg := message{role: string(m.Role), text: m.Content, callID: m.ToolCallID, name: m.ToolName}
		for _, c := range m.ToolCalls {
			msg.calls = append(msg.calls, core.Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		req.messages = append(req.messages, msg)
	}
	r.requests = append(r.requests, req)
	return reply, nil
}

func (r *recorder) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := r.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

type stepTool struct {
	w    work
	done int
}

func (s *stepTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: s.w.Tool.Name, Desc: s.w.Tool.Description,
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})}, nil
}

func (s *stepTool) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	s.done++
	return fmt.Sprintf(s.w.StepResult, s.done), nil
}

func call(id, name, args string) *schema.Message {
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: args}}})
}

// deepRun plays the work on Eino's own deep agent, with or without its write_todos.
func deepRun(t *testing.T, w work, todos bool) []request {
	rec := &recorder{}
	write := func(n int) {
		if !todos {
			return
		}
		var list []deep.TODO
		for i, it := range w.Items {
			list = append(list, deep.TODO{Content: it.Content, ActiveForm: it.ActiveForm, Status: string(w.status(i, n))})
		}
		args, err := json.Marshal(map[string]any{"todos": list})
		require.NoError(t, err)
		rec.replies = append(rec.replies, call(fmt.Sprintf("w%d", n), "write_todos", string(args)))
	}
	write(0)
	for n := range w.Items {
		rec.replies = append(rec.replies, call(fmt.Sprintf("s%d", n), w.Tool.Name, w.stepArgs(n)))
		write(n + 1)
	}
	rec.replies = append(rec.replies, schema.AssistantMessage(w.Final, nil))

	ctx := context.Background()
	agent, err := deep.New(ctx, &deep.Config{
		Name: "deep", Description: "measured", ChatModel: rec, Instruction: w.System,
		ToolsConfig:            adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{&stepTool{w: w}}}},
		MaxIteration:           100,
		WithoutGeneralSubAgent: true, WithoutWriteTodos: !todos,
	})
	require.NoError(t, err)
	require.NoError(t, drain(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, w.User)))
	require.Len(t, rec.requests, len(rec.replies))
	return rec.requests
}
