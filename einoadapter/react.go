package einoadapter

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// reactMaxStep is what eino's react agent runs at most if AgentConfig.MaxStep is 0 (its documentation; never more than it does).
const reactMaxStep = 12

// ReactConfig configures [React]. It is read once; Agent is not changed.
type ReactConfig struct {
	Planner *core.Planner // required
	// Agent is the agent as it is without a list. ToolCallingModel is required. Its MaxStep is the limit that corrections reckon
	// with; a limit given at run time is to be the same.
	Agent react.AgentConfig
	// Live leaves Agent.StreamToolCallChecker as it is when it is nil: eino's own ends the run at the first chunk of text, so
	// answers stream at once, and of a response that starts with text the calls are not run. Without Live a checker that reads
	// to the end takes its place. A checker that is set is never replaced. While items are open or an answer is held, a
	// response is read to its end in any case and arrives as one chunk.
	Live bool
	// NoInstruction leaves the planner's instruction out of the request's system message.
	NoInstruction bool
}

// React prepares the config of an eino react agent so that it keeps a todo list: the planner's tools, a model that shows the
// open items and asks once more when an answer came too early, and the run's bookkeeping in the messages of the agent's own
// state, where a checkpoint saves it (docs/design.md, section 6). What it returns goes to react.NewAgent, whose agent may be
// used alone or exported into another graph.
//
// The session id comes from [core.WithSession]; without one the model fails with core.ErrNoSession. Every Generate and
// Stream is a run of its own; a resume continues the run, with a new input boundary. A correction takes no step of the graph,
// a round of tools 2. A correction is made only where a round fits in, and where MaxStep is reached after it, the run ends with
// the answer that was given. A MessageRewriter that drops or rebuilds the last assistant message makes a run that is resumed
// after that a new one.
//
// An error names the field that is missing or wrong, or is a tool's.
func React(ctx context.Context, cfg *ReactConfig) (*react.AgentConfig, error) {
	if cfg == nil {
		return nil, errors.New("einoadapter: the ReactConfig is nil")
	}
	switch {
	case cfg.Planner == nil:
		return nil, errors.New("einoadapter: ReactConfig.Planner is nil, want one from core.New")
	case cfg.Agent.ToolCallingModel == nil:
		return nil, errors.New("einoadapter: ReactConfig.Agent.ToolCallingModel is nil, want a model.ToolCallingChatModel")
	case cfg.Agent.MaxStep < 0:
		return nil, fmt.Errorf("einoadapter: ReactConfig.Agent.MaxStep is %d, want 0 (eino's default) or more", cfg.Agent.MaxStep)
	}
	out := cfg.Agent
	m := &reactModel{planner: cfg.Planner, maxStep: out.MaxStep, asker: asker{out.ToolCallingModel}}
	setDefault(&m.maxStep, reactMaxStep)
	if !cfg.NoInstruction {
		m.instruction = cfg.Planner.Instruction()
	}
	out.ToolCallingModel = m
	if out.StreamToolCallChecker == nil && !cfg.Live {
		out.StreamToolCallChecker = callsAnywhere
	}
	var err error
	out.ToolsConfig, err = withPlannerTools(ctx, cfg.Planner, out.ToolsConfig, m.callTool, toolMiddleware(m.enterTool))
	return &out, err
}

// callsAnywhere is a StreamToolCallChecker for models that may send text before their calls.
func callsAnywhere(_ context.Context, out *schema.StreamReader[*schema.Message]) (bool, error) {
	defer out.Close()
	for {
		chunk, err := out.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case len(chunk.ToolCalls) > 0:
			return true, nil
		}
	}
}
