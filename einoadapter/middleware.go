package einoadapter

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// New returns the ADK middleware for agents on *schema.Message. It brings the todo tool, its instruction, the block of open
// items before every model call, the reminder and the finalization guard (docs/design.md, sections 3 to 6).
//
// One value serves any number of agents and concurrent runs. Its place among an agent's Handlers matters: use [Attach], or
// [Insert] where the config is another one (deep.Config). A nil cfg is the zero Config. The error names the field that is wrong.
func New(ctx context.Context, cfg *Config) (adk.ChatModelAgentMiddleware, error) {
	return NewTyped[*schema.Message](ctx, cfg)
}

// NewTyped is [New] for either message type.
func NewTyped[M adk.MessageType](_ context.Context, cfg *Config) (adk.TypedChatModelAgentMiddleware[M], error) {
	return newMiddleware[M](cfg)
}

func newMiddleware[M adk.MessageType](cfg *Config) (*middleware[M], error) {
	if cfg == nil {
		cfg = &Config{}
	}
	c, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	m := &middleware[M]{cfg: c, planner: c.Planner}
	if m.tools, err = newTools(c.Planner, m.callTool); err != nil {
		return nil, err
	}
	return m, nil
}

// middleware translates between eino's hooks and the seams of core. It holds nothing of a run: that is in the ctx
// ([execution]) and in eino's run-local values ([savedRun]).
type middleware[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	cfg     Config
	planner *core.Planner
	tools   []tool.BaseTool
}

// BeforeAgent runs once a run and once a resume. It decides whose list this agent works on, and gives it the tool.
func (m *middleware[M]) BeforeAgent(ctx context.Context, rc *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	e, err := m.enter(ctx)
	if err != nil {
		return ctx, rc, err
	}
	ctx = context.WithValue(ctx, executionKey{}, e)
	if e.owner == nil {
		return ctx, rc, nil
	}
	if err := checkTools(ctx, m.planner, rc.Tools); err != nil {
		return ctx, rc, err
	}
	next := *rc
	next.Instruction = joinText(rc.Instruction, m.planner.Instruction())
	next.Tools = append(rc.Tools[:len(rc.Tools):len(rc.Tools)], m.tools...)
	return ctx, &next, nil
}

// enter makes the execution that begins here.
func (m *middleware[M]) enter(ctx context.Context) (*execution, error) {
	outer := executionOf(ctx)
	if outer == nil {
		session, err := m.cfg.sessionOf(ctx)
		if err != nil {
			return nil, err
		}
		replay := m.cfg.Replay == ReplayAlways || m.cfg.Replay == ReplayNested && insideTool(ctx)
		return newExecution(m, m.planner, session, replay), nil
	}
	if !insideGraph(ctx) {
		return nil, fmt.Errorf("einoadapter: the agent has two todoguard middlewares, want one")
	}
	session, err := m.cfg.nestedSession(ctx, outer.session)
	if err != nil {
		return nil, err
	}
	if session == "" {
		return &execution{session: outer.session}, nil
	}
	return newExecution(m, m.planner, session, m.cfg.Replay != ReplayNever), nil
}

// mine returns the execution that ctx belongs to if it is this middleware's and has a list.
func (m *middleware[M]) mine(ctx context.Context) *execution {
	if e := executionOf(ctx); e != nil && e.owner == any(m) {
		return e
	}
	return nil
}

// BeforeModelRewriteState puts the history in order before a model call.
func (m *middleware[M]) BeforeModelRewriteState(ctx context.Context, st *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	e := m.mine(ctx)
	if e == nil {
		return ctx, st, nil
	}
	_, saved, err := e.begin(ctx)
	if err != nil {
		return ctx, st, e.fail(ctx, err)
	}
	if err := checkToolInfos(m.planner, st.ToolInfos); err != nil {
		return ctx, st, e.fail(ctx, err)
	}
	saved.count()
	next := *st
	if asked := takeAsked[M](ctx); asked != nil {
		next.Messages = append(st.Messages[:len(st.Messages):len(st.Messages)], asked...)
	}
	next.Messages = spaced(next.Messages)
	e.input.look(inputsOf(next.Messages))
	return context.WithValue(ctx, turnKey[M]{}, &turn[M]{}), &next, nil
}

// WrapModel shows the open items to the model, and remembers the call for a correction.
func (m *middleware[M]) WrapModel(ctx context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	e, t := m.mine(ctx), turnOf[M](ctx)
	if e == nil || t == nil {
		return inner, nil
	}
	return &todoModel[M]{inner: inner, e: e, turn: t}, nil
}

// AfterAgent runs when a run ends well: with an answer or with the result of a tool that returns directly. For the other ends
// see [NewCallback].
func (m *middleware[M]) AfterAgent(ctx context.Context, st *adk.TypedChatModelAgentState[M]) (context.Context, error) {
	e := m.mine(ctx)
	if e == nil {
		return ctx, nil
	}
	run, _, err := e.begin(ctx)
	if err != nil {
		return ctx, err
	}
	o := core.Outcome{Reason: core.EndReturned}
	if n := len(st.Messages); n > 0 {
		o.Answer = messageText(st.Messages[n-1])
		if isFinal(st.Messages[n-1]) {
			o.Reason = core.EndAnswered
		}
	}
	last := o.Answer
	if e.heldStands() {
		o.Answer = ""
	}
	answer, err := run.Finish(ctx, o)
	if err != nil && !e.replay { // behind an answer that was seen; a caller that takes the last text would get it in place of one
		return ctx, fmt.Errorf("einoadapter: end of run: %w", err)
	}
	if e.replay && o.Reason == core.EndAnswered && answer != last {
		msg := marked(assistantMessage[M](answer), markHeld)
		adk.EnsureMessageID(msg)
		return ctx, adk.TypedSendEvent(ctx, assistantEvent(msg, nil))
	}
	return ctx, nil
}

// callTool runs one call of one of our tools.
func (m *middleware[M]) callTool(ctx context.Context, c core.Call) (string, error) {
	e := m.mine(ctx)
	if e == nil {
		return "", fmt.Errorf("einoadapter: the tool %q was called outside the agent that it belongs to", c.Name)
	}
	run, _, err := e.begin(ctx)
	if err != nil {
		return "", err
	}
	return run.CallTool(ctx, c)
}
