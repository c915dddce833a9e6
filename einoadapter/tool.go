package einoadapter

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/todoguard/todoguard/core"
)

// toolInfo is a planner's tool as eino describes tools to a model.
func toolInfo(spec core.ToolSpec) (*schema.ToolInfo, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(spec.Schema, &s); err != nil {
		return nil, fmt.Errorf("einoadapter: schema of tool %q: %w", spec.Name, err)
	}
	return &schema.ToolInfo{Name: spec.Name, Desc: spec.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&s)}, nil
}

// callFunc runs one call of a planner's tool: in the ADK, a graph and the react agent the run is found in another place.
type callFunc func(ctx context.Context, c core.Call) (string, error)

// newTools makes eino tools of a planner's tools; each call of them is handed to call.
func newTools(p *core.Planner, call callFunc) ([]tool.BaseTool, error) {
	var tools []tool.BaseTool
	for _, spec := range p.Tools() {
		info, err := toolInfo(spec)
		if err != nil {
			return nil, err
		}
		tools = append(tools, &todoTool{info: info, call: call})
	}
	return tools, nil
}

// todoTool is one of a planner's tools. It has no state: one value serves any number of concurrent runs.
type todoTool struct {
	info *schema.ToolInfo
	call callFunc
}

// Info implements tool.BaseTool. The caller may change what it returns.
func (t *todoTool) Info(context.Context) (*schema.ToolInfo, error) {
	info := *t.info
	return &info, nil
}

// InvokableRun implements tool.InvokableTool. What the model can mend is in the result; an error ends the run.
func (t *todoTool) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	return t.call(ctx, core.Call{ID: compose.GetToolCallID(ctx), Name: t.info.Name, Args: args})
}
