package lcgadapter_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/tools"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/lcgadapter"
)

func quote(s string) string { b, _ := json.Marshal(s); return string(b) }

// Wrap copies: the caller's agent works as before.
func TestWrapLeavesTheCallersAgentAlone(t *testing.T) {
	model := script(say("a"), say("b"), say("c"))
	p := plugin(t)
	t.Run("functions", func(t *testing.T) {
		inner := agents.NewOpenAIFunctionsAgent(model, []tools.Tool{search()})
		a, err := p.Wrap(inner)
		require.NoError(t, err)
		require.Same(t, model, inner.LLM)
		require.Len(t, inner.Tools, 1)
		require.Len(t, a.GetTools(), 2)
		require.Equal(t, []string{"input"}, a.GetInputKeys())
		require.Equal(t, []string{"output"}, a.GetOutputKeys())
	})
	t.Run("text", func(t *testing.T) {
		inner := agents.NewOneShotAgent(model, p.Tools())
		chain := inner.Chain
		_, err := p.Wrap(inner)
		require.NoError(t, err)
		require.Same(t, chain, inner.Chain)
		require.Same(t, model, inner.Chain.(*chains.LLMChain).LLM)
	})
	t.Run("with the tool already", func(t *testing.T) {
		a, err := p.Wrap(agents.NewOpenAIFunctionsAgent(p.Model(model), p.Tools()))
		require.NoError(t, err)
		require.Len(t, a.GetTools(), 1)
	})
}

func TestWrapRefuses(t *testing.T) {
	p := plugin(t)
	foreign := tool{"Write_Todos", func(context.Context, string) (string, error) { return "", nil }}
	wrapped, err := p.Wrap(agents.NewOpenAIFunctionsAgent(script(), nil))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		agent agents.Agent
		want  string
	}{
		"nil":                 {nil, "no agent"},
		"a nil agent":         {(*agents.OpenAIFunctionsAgent)(nil), "without a model"},
		"a nil text agent":    {(*agents.OneShotZeroAgent)(nil), "no agent"},
		"a nil chat agent":    {(*agents.ConversationalAgent)(nil), "no agent"},
		"no model":            {&agents.OpenAIFunctionsAgent{}, "without a model"},
		"twice":               {wrapped, "wrapped already"},
		"a tool by that name": {agents.NewOpenAIFunctionsAgent(script(), []tools.Tool{foreign}), `a tool "Write_Todos" that is not this plugin's`},
		"an unknown kind":     {constant{}, "made without the tool"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Wrap(c.agent)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err = lcgadapter.Wrap(agents.NewOpenAIFunctionsAgent(script(), nil), lcgadapter.WithToolName("no blanks"))
	require.ErrorContains(t, err, "Config.ToolName")
	_, err = lcgadapter.New(lcgadapter.WithMaxIterations(-1))
	require.ErrorContains(t, err, "WithMaxIterations is -1")
}

// Every field of core.Config has an option of its name that sets it.
func TestOptionsFillTheConfig(t *testing.T) {
	store := core.NewMemoryStore()
	reminded := core.Reminder{After: 2, Every: 3}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	opts := []lcgadapter.Option{
		lcgadapter.WithStore(store), lcgadapter.WithToolName("plan"), lcgadapter.WithLimits(core.Limits{Items: 7}),
		lcgadapter.WithUpdates(core.Merge), lcgadapter.WithTools(core.ToolsWrite), lcgadapter.WithResults(core.ResultsBrief),
		lcgadapter.WithKeepOpenItems(), lcgadapter.WithDependencies(), lcgadapter.WithReminder(2, 3), lcgadapter.WithArm(core.ArmAfterWrite),
		lcgadapter.WithOnExhausted(core.Explain), lcgadapter.WithNoGuard(), lcgadapter.WithChecks(func(core.Item) core.Check { return nil }),
		lcgadapter.WithMaxFailures(4), lcgadapter.WithCheckTime(time.Second), lcgadapter.WithCheckOutput(5),
		lcgadapter.WithValidateWait(func(context.Context, []string, core.WaitInfo, *core.WaitBinding) (core.WaitValidation, error) {
			return core.WaitValidation{}, nil
		}),
		lcgadapter.WithWaitTime(time.Minute), lcgadapter.WithWaitEvidence(6), lcgadapter.WithOnStoreError(func(_ context.Context, err error) error { return err }),
		lcgadapter.WithOnEvent(func(context.Context, core.Event) {}), lcgadapter.WithTexts(core.Texts{Block: "Do these."}), lcgadapter.WithNow(func() time.Time { return now }),
		lcgadapter.WithNewID(func() string { return "id" }),
	}
	got := plugin(t, opts...).Planner().Config()
	require.Equal(t, store, got.Store)
	require.Equal(t, "plan", got.ToolName)
	require.Equal(t, 7, got.Limits.Items)
	require.Equal(t, &reminded, got.Reminder)
	require.Equal(t, "Do these.", got.Texts.Block)
	require.Equal(t, now, got.Now())
	require.Equal(t, "id", got.NewID())
	zero := plugin(t).Planner().Config()
	v, z := reflect.ValueOf(got), reflect.ValueOf(zero)
	require.Equal(t, v.NumField(), len(opts), "an option for each field")
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if name == "Tools" || name == "Store" { // Store is compared above; the other value of Tools goes without most of these
			continue
		}
		require.False(t, v.Field(i).IsZero(), name)
		if k := v.Field(i).Kind(); k != reflect.Func && v.Field(i).Comparable() {
			require.NotEqual(t, z.Field(i).Interface(), v.Field(i).Interface(), name)
		}
	}
	require.Equal(t, "x", plugin(t, lcgadapter.WithConfig(core.Config{ToolName: "x"})).Planner().Config().ToolName)
}

// The tail goes behind the input that holds the user's text.
func TestInputKeys(t *testing.T) {
	for name, c := range map[string]struct {
		opts   []lcgadapter.Option
		inputs map[string]string
		want   string
	}{
		"input":        {nil, map[string]string{"input": "go", "history": "h"}, "input"},
		"the only key": {nil, map[string]string{"question": "go"}, "question"},
		"an option's":  {[]lcgadapter.Option{lcgadapter.WithInputKey("ask")}, map[string]string{"ask": "go", "input": "x"}, "ask"},
		"none of them": {nil, map[string]string{"else": "go"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := plugin(t, c.opts...)
			_, err := p.Planner().Update(t.Context(), "s", func([]core.Item) ([]core.Item, error) { return []core.Item{{Content: "Open"}}, nil })
			require.NoError(t, err)
			spy := &inputSpy{constant: constant{tools: p.Tools()}}
			a, err := p.Wrap(spy)
			require.NoError(t, err)
			before := len(c.inputs[c.want])
			_, _, err = a.Plan(session(t), nil, c.inputs)
			require.Error(t, err) // the spy does not answer
			for k, v := range spy.got {
				require.Equal(t, k == c.want, strings.Contains(v, "<todos>"), k)
			}
			require.Len(t, c.inputs[c.want], before, "the caller's map is left alone")
		})
	}
}

type inputSpy struct {
	constant
	got map[string]string
}

func (s *inputSpy) Plan(_ context.Context, _ []agentStep, inputs map[string]string, _ ...chains.ChainCallOption) ([]agentAction, *agentFinish, error) {
	s.got = inputs
	return nil, nil, errors.New("no answer")
}
func (*inputSpy) GetInputKeys() []string { return []string{"question"} }
