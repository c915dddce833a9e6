package einoadapter_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
)

// nothing is a model that breaks its contract: no message and no error, and a stream with a nil chunk in it.
type nothing struct{ behind []*schema.Message }

func (m nothing) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }

func (nothing) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, nil
}

func (m nothing) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return schema.StreamReaderFromArray(append([]*schema.Message{nil}, m.behind...)), nil
}

// A graph judges responses on its caller's goroutine, where a panic would end the process: such a model is an error there.
func TestGraphModelThatGivesNil(t *testing.T) {
	everyWay(t, func(t *testing.T, g agentGraph, w way) {
		for _, live := range []bool{false, true} {
			for _, open := range []bool{false, true} {
				for _, behind := range [][]*schema.Message{nil, {schema.AssistantMessage("Hello.", nil)}} {
					p := newPlanner(t, core.Config{})
					if open {
						require.NoError(t, openItems(p, "s", "Ship it"))
					}
					_, err := w.run(inSession("s"), g.build(t, rig{planner: p, model: nothing{behind}, live: live}), user("Hi."))
					require.Error(t, err)
					require.NotContains(t, err.Error(), "panic")
				}
			}
		}
	})
}
