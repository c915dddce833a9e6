package einoadapter

import (
	"context"
	"reflect"
	"slices"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

func init() { schema.RegisterName[*reactNote]("todoguard_react_note") }

// reactKey is where an assistant message that calls tools carries a reactNote in its Extra. The agent's state keeps the
// message, a checkpoint saves it, and what the note says disappears with it.
const reactKey = "todoguard_react"

// reactNote is what later turns of a react agent need of this one. It does not change once the message is out.
type reactNote struct {
	Before []*schema.Message // the answers and corrections that came before this message, oldest first
	Run    *runBox           // the run, as it is now
}

// expand puts the answers and corrections back in front of the messages that followed them.
func expand(in []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, m := range in {
		if n, ok := noteOf(m); ok {
			out = append(out, n.Before...)
		}
		out = append(out, m)
	}
	return out
}

func noteOf(m *schema.Message) (*reactNote, bool) {
	if m == nil {
		return nil, false
	}
	n, ok := m.Extra[reactKey].(*reactNote)
	return n, ok && n != nil
}

// boxOf is the run that a history belongs to: the one that the last assistant message carries, unless a user spoke since or
// it is another invocation's. Else it is a new one.
func boxOf(ctx context.Context, in []*schema.Message) *runBox {
	owner, history := reactState(ctx)
	if history == nil {
		history = in
	}
	for _, m := range slices.Backward(history) {
		if isInput(m) {
			break
		}
		if m.Role != schema.Assistant {
			continue
		}
		if n, ok := noteOf(m); ok && n.Run.claim(owner) {
			return n.Run
		}
		break
	}
	return &runBox{owner: owner}
}

// claim reports whether the run is the one of this invocation. A run that was restored from a checkpoint is whose who
// resumes it.
func (b *runBox) claim(owner any) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.run == nil {
		b.owner = owner
	}
	return b.owner == owner
}

// enterTool marks what runs inside a tool.
func (m *reactModel) enterTool(ctx context.Context) (context.Context, error) {
	box := boxOf(ctx, nil)
	if _, _, err := box.handle(ctx, m.planner); err != nil {
		return nil, err
	}
	return box.inside(ctx), nil
}

// callTool is a call of one of the planner's tools.
func (m *reactModel) callTool(ctx context.Context, c core.Call) (string, error) {
	run, _, err := boxOf(ctx, nil).handle(ctx, m.planner)
	if err != nil {
		return "", err
	}
	return run.CallTool(ctx, c)
}

// reactState is the local state of the react agent that ctx belongs to, as an identity, and its messages. Eino's type is not
// exported; its field is, and a test holds that it is there. Both are nil outside an agent.
func reactState(ctx context.Context) (owner any, history []*schema.Message) {
	_ = compose.ProcessState(ctx, func(_ context.Context, s any) error {
		v := reflect.ValueOf(s)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			return nil
		}
		owner = s
		if f := v.Elem().FieldByName("Messages"); f.IsValid() && f.CanInterface() {
			msgs, _ := f.Interface().([]*schema.Message)
			history = slices.Clone(msgs)
		}
		return nil
	}) // no state: not in a graph
	return owner, history
}
