package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/todoguard/todoguard/core"
)

// writer makes the calls that bring the list to where n items are done. n is 0 for the plan itself.
type writer func(w work, n int) []core.Call

type listItem struct {
	ID      string      `json:"id,omitempty"`
	Content string      `json:"content,omitempty"`
	Status  core.Status `json:"status,omitempty"`
}

func encode(t testing.TB, v any) string {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// replaces sends the whole list each time. keepIDs: with the ids that the first result gave, else by content alone, as the plan was.
func replaces(t testing.TB, keepIDs bool) writer {
	return func(w work, n int) []core.Call {
		var list []listItem
		for i, it := range w.Items {
			item := listItem{Content: it.Content, Status: w.status(i, n)}
			if n > 0 && keepIDs {
				item.ID = fmt.Sprint(i + 1)
			}
			list = append(list, item)
		}
		return []core.Call{{Name: core.DefaultToolName, Args: encode(t, map[string]any{"todos": list})}}
	}
}

// merges sends the plan once, then what changes.
func merges(t testing.TB) writer {
	plan := replaces(t, false)
	return func(w work, n int) []core.Call {
		if n == 0 {
			return plan(w, 0)
		}
		list := []listItem{{ID: fmt.Sprint(n), Status: core.StatusCompleted}}
		if n < len(w.Items) {
			list = append(list, listItem{ID: fmt.Sprint(n + 1), Status: core.StatusInProgress})
		}
		return []core.Call{{Name: core.DefaultToolName, Args: encode(t, map[string]any{"todos": list})}}
	}
}

// tasks calls the task tools, those of one update in one response.
func tasks(t testing.TB) writer {
	update := func(id int, s core.Status) core.Call {
		return core.Call{Name: core.TaskUpdate, Args: encode(t, struct {
			ID     string      `json:"taskId"`
			Status core.Status `json:"status"`
		}{fmt.Sprint(id), s})}
	}
	return func(w work, n int) []core.Call {
		var calls []core.Call
		if n == 0 {
			for _, it := range w.Items {
				calls = append(calls, core.Call{Name: core.TaskCreate, Args: encode(t, map[string]string{"subject": it.Content})})
			}
		} else {
			calls = append(calls, update(n, core.StatusCompleted))
		}
		if n < len(w.Items) {
			calls = append(calls, update(n+1, core.StatusInProgress))
		}
		return calls
	}
}

// played is what came of a run.
type played struct {
	planner  *core.Planner
	requests []request
	updates  [][]core.Call // the calls of the plan, then of each update
	results  [][]string    // their results
}

// play runs the work through a real core.Run, in the plainest agent loop there is. Without a writer it is the same work without
// the plugin: no tool, no prompt, no updates.
func play(t testing.TB, w work, cfg core.Config, write writer) played {
	ctx := context.Background()
	p, err := core.New(cfg)
	require.NoError(t, err)
	run, err := p.Begin("session", core.RunOptions{})
	require.NoError(t, err)

	out := played{planner: p}
	base := request{tools: []core.ToolSpec{{Name: w.Tool.Name, Description: w.Tool.Description, Schema: json.RawMessage(`{"properties":{},"type":"object"}`)}}}
	system := w.System
	if write != nil {
		base.tools = append(base.tools, p.Tools()...)
		system += "\n\n" + p.Instruction()
	}
	msgs := []message{{role: "system", text: system}, {role: "user", text: w.User}}

	// ask makes a request and takes the scripted reply: calls, or the final text.
	ids := 0
	ask := func(text string, calls ...core.Call) []core.Call {
		req := request{tools: base.tools, messages: slices.Clone(msgs)}
		if write != nil {
			last := &req.messages[len(req.messages)-1]
			tail, err := run.BeforeModel(ctx, core.Prompt{Boundary: "one", LastTool: core.Call{ID: last.callID, Name: last.name}})
			require.NoError(t, err)
			if tail != "" {
				last.text += "\n\n" + tail
			}
		}
		out.requests = append(out.requests, req)
		for i := range calls {
			ids++
			calls[i].ID = fmt.Sprintf("c%d", ids)
		}
		if write != nil {
			verdict, err := run.AfterModel(ctx, core.Response{Text: text, Calls: calls})
			require.NoError(t, err)
			require.Equal(t, core.Accept, verdict.Action)
		}
		msgs = append(msgs, message{role: "assistant", text: text, calls: calls})
		return calls
	}
	answer := func(c core.Call, result string) {
		msgs = append(msgs, message{role: "tool", text: result, callID: c.ID, name: c.Name})
	}
	update := func(n int) {
		if write == nil {
			return
		}
		calls := ask("", write(w, n)...)
		var results []string
		for _, c := range calls {
			result, err := run.CallTool(ctx, c)
			require.NoError(t, err)
			require.NotContains(t, result, `"error"`)
			results = append(results, result)
			answer(c, result)
		}
		out.updates, out.results = append(out.updates, calls), append(out.results, results)
	}

	update(0)
	for n := range w.Items {
		calls := ask("", core.Call{Name: w.Tool.Name, Args: w.stepArgs(n)})
		answer(calls[0], fmt.Sprintf(w.StepResult, n+1))
		update(n + 1)
	}
	ask(w.Final)
	if write != nil {
		got, err := run.Finish(ctx, core.Outcome{Answer: w.Final})
		require.NoError(t, err)
		require.Equal(t, w.Final, got)
		list, err := p.Get(ctx, "session")
		require.NoError(t, err)
		require.Equal(t, len(w.Items), list.Summary.Completed)
	}
	return out
}
