package einoadapter

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

// A message with a note survives gob, which the ADK's checkpoints use: the pair is there and the run can be resumed.
func TestReactNoteInGob(t *testing.T) {
	p, err := core.New(core.Config{})
	require.NoError(t, err)
	box := &runBox{}
	run, fresh, err := box.handle(core.WithSession(t.Context(), "s"), p)
	require.NoError(t, err)
	require.True(t, fresh)
	box.update(func(d *runData) { d.Given = true })
	pair := []*schema.Message{schema.AssistantMessage("The answer.", nil), correctionMessage("Once more.")}
	in := []*schema.Message{withExtra(schema.AssistantMessage("", nil), reactKey, &reactNote{Before: pair, Run: box})}

	var doc bytes.Buffer
	require.NoError(t, gob.NewEncoder(&doc).Encode(in))
	var out []*schema.Message
	require.NoError(t, gob.NewDecoder(&doc).Decode(&out))

	require.Len(t, expand(out), 3)
	require.Equal(t, markCorrection, markOf(expand(out)[1]))
	note, ok := noteOf(out[0])
	require.True(t, ok)
	require.True(t, note.Run.data().Given)
	again, fresh, err := note.Run.handle(context.Background(), p)
	require.NoError(t, err)
	require.False(t, fresh)
	require.Equal(t, run.(*core.Run).ID(), again.(*core.Run).ID())
	require.NotEqual(t, box.boundaryNow(), note.Run.boundaryNow(), "a resume is new input")
}

// Eino keeps a react agent's messages in a field of this name. Where it does not any more, the tools cannot find their run.
func TestReactStateIsFound(t *testing.T) {
	var owner any
	var history []*schema.Message
	ctx := t.Context()
	a, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: echo{func(ctx context.Context) { owner, history = reactState(ctx) }}})
	require.NoError(t, err)
	_, err = a.Generate(ctx, []*schema.Message{schema.UserMessage("Hello.")})
	require.NoError(t, err)
	require.NotNil(t, owner)
	require.Len(t, history, 1)
	owner, history = reactState(ctx)
	require.Nil(t, owner)
	require.Nil(t, history)
}

// echo is a model that looks at its ctx.
type echo struct{ look func(context.Context) }

func (e echo) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return e, nil }

func (e echo) Generate(ctx context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	e.look(ctx)
	return schema.AssistantMessage(in[0].Content, nil), nil
}

func (e echo) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.ErrUnsupported
}

// A note of another invocation is history: what follows is a run of its own.
func TestReactNoteOfAnotherInvocation(t *testing.T) {
	p, err := core.New(core.Config{})
	require.NoError(t, err)
	box := &runBox{owner: "the state of another invocation"}
	_, _, err = box.handle(core.WithSession(t.Context(), "s"), p)
	require.NoError(t, err)
	in := []*schema.Message{schema.UserMessage("Ship it."), withExtra(schema.AssistantMessage("", nil), reactKey, &reactNote{Run: box}), schema.ToolMessage("done", "w")}
	require.NotSame(t, box, boxOf(t.Context(), in))
	box.owner = nil // ctx is in no agent
	require.Same(t, box, boxOf(t.Context(), in))
	require.NotSame(t, box, boxOf(t.Context(), append(in, schema.UserMessage("Thanks."))))
	require.Same(t, box, boxOf(t.Context(), append(in, correctionMessage("Once more."))))
}
