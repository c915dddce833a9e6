package einoadapter

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// Attach makes the middleware and puts it at the right place among the agent's Handlers; agent is changed and not yet
// usable elsewhere. Call it before adk.NewChatModelAgent. A nil cfg is the zero Config.
//
// It fails on a wrong Config, on an agent that has the middleware already, and on one whose tools include the name of ours:
// eino does not notice that, the last one would run. Tools that other middlewares add later are checked when a run starts.
func Attach[M adk.MessageType](ctx context.Context, agent *adk.TypedChatModelAgentConfig[M], cfg *Config) error {
	var c Config
	if cfg != nil {
		c = *cfg
	}
	if c.MaxIterations == 0 {
		c.MaxIterations = agent.MaxIterations
	}
	m, err := newMiddleware[M](&c)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(agent.Handlers, isOurs[M]) {
		return fmt.Errorf("einoadapter: the agent %q has a todoguard middleware already", agent.Name)
	}
	if err := checkTools(ctx, m.planner, agent.ToolsConfig.Tools); err != nil {
		return err
	}
	agent.Handlers = Insert[M](agent.Handlers, m)
	return nil
}

// Insert returns handlers with m at its right place: first, or directly behind the last of the host's own
// adk.NewEventSenderModelWrapper. Behind any other handler m can be cut off from the model (a handler may swap it), and in front
// of an event sender the second answer would be sent twice. handlers is not changed.
func Insert[M adk.MessageType](handlers []adk.TypedChatModelAgentMiddleware[M], m adk.TypedChatModelAgentMiddleware[M]) []adk.TypedChatModelAgentMiddleware[M] {
	at := 0
	for i, h := range handlers {
		if isEventSender(h) {
			at = i + 1
		}
	}
	return slices.Insert(slices.Clone(handlers), at, m)
}

// isEventSender reports whether h sends the model's messages as events. eino exports only a constructor of that type.
func isEventSender(h any) bool {
	return reflect.TypeOf(h) == reflect.TypeOf(adk.NewEventSenderModelWrapper())
}

func isOurs[M adk.MessageType](h adk.TypedChatModelAgentMiddleware[M]) bool {
	_, ok := h.(*middleware[M])
	return ok
}

// checkTools fails if one of the tools has the name of one of ours.
func checkTools(ctx context.Context, p *core.Planner, tools []tool.BaseTool) error {
	for _, t := range tools {
		info, err := t.Info(ctx)
		if err != nil {
			return fmt.Errorf("einoadapter: info of a tool: %w", err)
		}
		if p.IsTool(info.Name) {
			return nameTaken(info.Name)
		}
	}
	return nil
}

// checkToolInfos fails if the model is about to be shown one of our names twice.
func checkToolInfos(p *core.Planner, infos []*schema.ToolInfo) error {
	var seen []string
	for _, info := range infos {
		if info == nil || !p.IsTool(info.Name) {
			continue
		}
		if slices.Contains(seen, info.Name) {
			return nameTaken(info.Name)
		}
		seen = append(seen, info.Name)
	}
	return nil
}

func nameTaken(name string) error {
	return fmt.Errorf("einoadapter: the agent has a tool %q of its own: leave that out (deep agents: WithoutWriteTodos), or set ToolName in core.Config", name)
}
