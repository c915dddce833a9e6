package lcgadapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/tools"
)

// Wrap hooks an agent under a new [Plugin]: New(opts...) and then [Plugin.Wrap]. It is for agents that need not be made with
// the tool, which is *agents.OpenAIFunctionsAgent.
func Wrap(agent agents.Agent, opts ...Option) (*Agent, error) {
	p, err := New(opts...)
	if err != nil {
		return nil, err
	}
	return p.Wrap(agent)
}

// Wrap hooks an agent. The caller's agent is not touched: an OpenAIFunctionsAgent is copied and the copy gets the tools and
// the [Model]; so is a OneShotZeroAgent or ConversationalAgent, whose copy gets the Model. Any other agent is used as it
// is; give it Plugin.Model.
//
// It is an error to wrap nil, an agent that is hooked already, one that has another tool of the same name, and one
// (other than an OpenAIFunctionsAgent) that was made without [Plugin.Tools].
func (p *Plugin) Wrap(agent agents.Agent) (*Agent, error) {
	a := &Agent{plugin: p, inner: agent, kind: other}
	switch x := agent.(type) {
	case nil:
		return nil, errors.New("lcgadapter: Wrap got no agent")
	case *Agent:
		return nil, errors.New("lcgadapter: Wrap got an agent that is wrapped already")
	case *agents.OpenAIFunctionsAgent:
		if x == nil || x.LLM == nil {
			return nil, errors.New("lcgadapter: Wrap got an OpenAIFunctionsAgent without a model")
		}
		c := *x
		c.LLM = p.model(c.LLM)
		c.Tools = slices.Clone(c.Tools)
		for _, t := range p.tools {
			if !hasTool(c.Tools, t) {
				c.Tools = append(c.Tools, t)
			}
		}
		a.inner, a.kind = &c, functions
	case *agents.OneShotZeroAgent:
		if x == nil {
			return nil, errors.New("lcgadapter: Wrap got no agent")
		}
		c := *x
		c.Chain = p.chain(c.Chain)
		a.inner, a.kind, a.handler = &c, mrkl, x.CallbacksHandler
	case *agents.ConversationalAgent:
		if x == nil {
			return nil, errors.New("lcgadapter: Wrap got no agent")
		}
		c := *x
		c.Chain = p.chain(c.Chain)
		a.inner, a.kind, a.handler = &c, conversational, x.CallbacksHandler
	}
	if err := p.checkTools(a.inner); err != nil {
		return nil, err
	}
	return a, nil
}

// checkTools fails loudly on an agent whose model would not know the tool, or another one by its name.
func (p *Plugin) checkTools(agent agents.Agent) error {
	have := agent.GetTools()
	for _, t := range have {
		if t != nil && p.planner.IsTool(t.Name()) && !p.owns(t) {
			return fmt.Errorf("lcgadapter: the agent has a tool %q that is not this plugin's: make the agent with Plugin.Tools and hook it with Wrap of the same Plugin", t.Name())
		}
	}
	for _, t := range p.tools {
		if !hasTool(have, t) || !inPrompt(agent, t) {
			return fmt.Errorf("lcgadapter: %T was made without the tool %q, and its prompt cannot be changed afterwards: make it with Plugin.Tools", agent, t.Name())
		}
	}
	return nil
}

func hasTool(have []tools.Tool, t *Tool) bool {
	return slices.ContainsFunc(have, func(x tools.Tool) bool { return x == tools.Tool(t) })
}

// inPrompt reports whether a text agent's prompt names the tool. Where that cannot be seen, it is taken to.
func inPrompt(agent agents.Agent, t *Tool) bool {
	var c chains.Chain
	switch x := agent.(type) {
	case *agents.OneShotZeroAgent:
		c = x.Chain
	case *agents.ConversationalAgent:
		c = x.Chain
	}
	lc, ok := c.(*chains.LLMChain)
	if !ok {
		return true
	}
	tmpl, ok := lc.Prompt.(prompts.PromptTemplate)
	if !ok {
		return true
	}
	names, _ := tmpl.PartialVariables["tool_names"].(string)
	return strings.Contains(names, t.Name()) || strings.Contains(tmpl.Template, t.Name())
}

// model wraps a model unless it is wrapped by this plugin already.
func (p *Plugin) model(m llms.Model) llms.Model {
	if mine, ok := m.(*Model); ok && mine.plugin == p {
		return m
	}
	return p.Model(m)
}

// chain copies a text agent's chain with the model wrapped. A chain of another kind is used as it is.
func (p *Plugin) chain(c chains.Chain) chains.Chain {
	lc, ok := c.(*chains.LLMChain)
	if !ok || lc == nil || lc.LLM == nil {
		return c
	}
	cc := *lc
	cc.LLM = p.model(cc.LLM)
	return &cc
}
