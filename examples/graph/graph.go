package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/einoadapter"
)

// state is the graph's own local state. The loop keeps its part in the embedded GraphState.
type state struct {
	einoadapter.GraphState
	Version string
}

func init() { schema.RegisterName[*state]("todoguard_example_graph_state") }

// newGraph builds: brief -> the loop (model, tools, todo_guard, todo_finish) -> sign.
func newGraph(ctx context.Context, out io.Writer, db *database, m model.ToolCallingChatModel) (compose.Runnable[string, string], error) {
	planner, err := core.New(core.Config{Store: db.lists, OnEvent: say(out)})
	if err != nil {
		return nil, err
	}
	tools, err := newTools()
	if err != nil {
		return nil, err
	}
	g := compose.NewGraph[string, string](compose.WithGenLocalState(func(context.Context) *state { return &state{} }))
	err = errors.Join(
		g.AddLambdaNode("brief", compose.InvokableLambda(brief)),
		g.AddLambdaNode("sign", compose.InvokableLambda(sign)),
	)
	if err != nil {
		return nil, err
	}
	loop, err := einoadapter.AddLoop(ctx, g, &einoadapter.GraphConfig{
		Planner:     planner,
		Model:       m,
		Tools:       compose.ToolsNodeConfig{Tools: tools},
		Next:        "sign",
		MaxRunSteps: 40,
		OtherSteps:  2, // brief and sign
	})
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		g.AddEdge(compose.START, "brief"),
		g.AddEdge("brief", einoadapter.DefaultModelKey),
		g.AddEdge("sign", compose.END),
	)
	if err != nil {
		return nil, err
	}
	return g.Compile(ctx, append(loop.CompileOptions(), compose.WithCheckPointStore(db.checkpoints))...)
}

func brief(ctx context.Context, request string) ([]*schema.Message, error) {
	err := compose.ProcessState(ctx, func(_ context.Context, s *state) error {
		s.Version = strings.TrimSuffix(strings.TrimPrefix(request, "Release "), ".")
		return nil
	})
	return []*schema.Message{schema.SystemMessage("You release software."), schema.UserMessage(request)}, err
}

func sign(ctx context.Context, answer *schema.Message) (string, error) {
	var signed string
	err := compose.ProcessState(ctx, func(_ context.Context, s *state) error {
		signed = answer.Content + " (release desk, " + s.Version + ")"
		return nil
	})
	return signed, err
}

type target struct {
	Where string `json:"where" jsonschema:"description=where to deploy to"`
}

func newTools() ([]tool.BaseTool, error) {
	build, err := utils.InferTool("build", "Build the image.", func(context.Context, struct{}) (string, error) { return "built", nil })
	if err != nil {
		return nil, err
	}
	deploy, err := utils.InferTool("deploy", "Deploy the image. The user is asked first.", func(ctx context.Context, t target) (string, error) {
		if asked, _, _ := tool.GetInterruptState[string](ctx); !asked {
			return "", tool.StatefulInterrupt(ctx, "Deploy to "+t.Where+"?", t.Where)
		}
		if _, _, word := tool.GetResumeContext[string](ctx); word != "yes" {
			return "the user does not want that", nil
		}
		return "deployed to " + t.Where, nil
	})
	return []tool.BaseTool{build, deploy}, err
}
