package storytest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/todoguard/todoguard/core"
)

// Core is the surface of core alone: the four seams in the plainest agent loop there is. It is also the shortest description of
// what an adapter does.
func Core() Surface {
	return Surface{Name: "core", Golden: true, Play: playCore}
}

func playCore(ctx context.Context, _ testing.TB, env Env) (Got, error) {
	p, err := core.New(env.Config)
	if err != nil {
		return Got{}, err
	}
	run, err := p.Begin(env.Session, core.RunOptions{})
	if err != nil {
		return Got{}, err
	}
	l := &loop{env: env, p: p, run: run}
	answer, err := l.play(ctx)
	final, ferr := run.Finish(ctx, core.Outcome{Answer: answer, Err: err})
	if err == nil {
		err = ferr
	}
	return Got{Answer: final}, err
}

type loop struct {
	env  Env
	p    *core.Planner
	run  *core.Run
	msgs []Message
}

func (l *loop) play(ctx context.Context) (string, error) {
	l.msgs = []Message{{Role: "system", Text: l.p.Instruction()}, {Role: "user", Text: l.env.Input}}
	for {
		last := &l.msgs[len(l.msgs)-1]
		tail, err := l.run.BeforeModel(ctx, core.Prompt{Boundary: "only", LastTool: core.Call{ID: last.CallID, Name: last.Name}})
		if err != nil {
			return "", err
		}
		req := slices.Clone(l.msgs)
		if tail != "" {
			req[len(req)-1].Text += "\n\n" + tail
		}
		reply, err := l.env.Model.Next(ctx, req)
		if err != nil {
			return "", err
		}
		verdict, err := l.run.AfterModel(ctx, core.Response{Text: reply.Text, Calls: reply.Calls})
		if err != nil {
			return "", err
		}
		l.msgs = append(l.msgs, Message{Role: "assistant", Text: reply.Text, Calls: reply.Calls})
		switch {
		case verdict.Action == core.Correct:
			l.msgs = append(l.msgs, Message{Role: "user", Text: verdict.Message})
		case len(reply.Calls) == 0:
			return reply.Text, nil
		default:
			if err := l.tools(ctx, reply.Calls); err != nil {
				return "", err
			}
		}
	}
}

// tools runs the calls of a response at once, as frameworks do.
func (l *loop) tools(ctx context.Context, calls []core.Call) error {
	results := make([]Message, len(calls))
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() {
			results[i] = Message{Role: "tool", CallID: c.ID, Name: c.Name}
			results[i].Text, errs[i] = l.tool(ctx, c)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	l.msgs = append(l.msgs, results...)
	return nil
}

func (l *loop) tool(ctx context.Context, c core.Call) (string, error) {
	if l.p.IsTool(c.Name) {
		return l.run.CallTool(ctx, c)
	}
	for _, t := range l.env.Tools {
		if t.Name == c.Name {
			if !json.Valid([]byte(c.Args)) {
				return "", fmt.Errorf("the tool %q got %q", c.Name, c.Args)
			}
			return t.Result, nil
		}
	}
	return "", fmt.Errorf("no tool %q", c.Name)
}
