package storytest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/todoguard/todoguard/core"
)

// Mode is how the model writes (docs/design.md, section 10). Stories are told by whole lists; in the other modes the runner
// translates each write into the merge, or the task calls, by which a model would bring the stored list to the same state.
// Results and revisions are then the mode's own and are not compared; stored lists, corrections, reminders and answers are.
type Mode string

const (
	ModeReplace Mode = "replace"
	ModeMerge   Mode = "merge"
	ModeTasks   Mode = "tasks"
)

// Modes lists all modes.
func Modes() []Mode { return []Mode{ModeReplace, ModeMerge, ModeTasks} }

func (m Mode) configure(c *core.Config) {
	switch m {
	case ModeMerge:
		c.Updates = core.Merge
	case ModeTasks:
		c.Tools = core.ToolsTasks
	}
}

// ownResults: a write is other calls than the story tells, with results of their own.
func (m Mode) ownResults() bool { return m == ModeMerge || m == ModeTasks }

// rename gives the name by which texts call the tool.
func (m Mode) rename(name string) string {
	if m == ModeTasks && name == core.DefaultToolName {
		return core.TaskUpdate
	}
	return name
}

// Refusals that need a whole list, and those that need several changes in one call.
var (
	wholeListCodes = []string{"open_items_dropped", "empty_list", "malformed", "too_many_items"}
	oneCallCodes   = []string{"parallel_write", "duplicate_id"}
)

// cannot says why a story makes no sense in this mode, or "".
func (m Mode) cannot(s *Story) string {
	if m == ModeReplace {
		return ""
	}
	known := map[string]bool{}
	for _, run := range s.Runs {
		for _, r := range run.Replies {
			for _, c := range r.Calls {
				if c.Name != core.DefaultToolName {
					continue
				}
				list, ok := readList(c.Args)
				want := s.Expect.Results[c.ID]
				refused := want != "" && want != "ok"
				switch {
				case !ok:
					return "it is about the shape of a whole list (" + c.ID + ")"
				case refused && slices.Contains(wholeListCodes, want):
					return "only a whole list can be " + want + " (" + c.ID + ")"
				case refused && m == ModeTasks && slices.Contains(oneCallCodes, want):
					return "calls that change one task each cannot be " + want + " (" + c.ID + ")"
				case refused:
					continue
				}
				sent := map[string]bool{}
				for _, it := range list.Todos {
					sent[it.ID] = true
				}
				for id := range known {
					if !sent[id] {
						return "an item leaves the list (" + c.ID + ")"
					}
				}
				known = sent
			}
		}
	}
	return ""
}

type wholeList struct {
	Todos []struct {
		ID        string   `json:"id"`
		Content   string   `json:"content"`
		Status    string   `json:"status"`
		DependsOn []string `json:"depends_on,omitempty"`
	} `json:"todos"`
	Wait []string `json:"wait_for_tasks,omitempty"`
}

// readList reads a plain whole list whose items all have ids.
func readList(args string) (wholeList, bool) {
	var l wholeList
	if strict([]byte(args), &l) != nil || l.Todos == nil {
		return l, false
	}
	for _, it := range l.Todos {
		if it.ID == "" {
			return l, false
		}
	}
	return l, true
}

// translator turns the whole-list writes of one run into the calls of a mode.
type translator struct {
	play *play
	made []string // ids of calls that the translation added
}

func (tr *translator) addMade(made map[string]bool) {
	for _, id := range tr.made {
		made[id] = true
	}
}

// rewrite translates the writes of a reply, judged against the list as it is stored now.
func (tr *translator) rewrite(stored []core.Item, r Reply) (Reply, error) {
	out := Reply{Text: r.Text}
	for _, c := range r.Calls {
		if c.Name != core.DefaultToolName {
			out.Calls = append(out.Calls, c)
			continue
		}
		list, ok := readList(c.Args)
		if !ok {
			return r, fmt.Errorf("storytest: the write %s is no plain list", c.ID)
		}
		if tr.play.mode == ModeMerge {
			c.Args = mergeArgs(stored, list)
			out.Calls = append(out.Calls, c)
			continue
		}
		calls := tr.taskCalls(stored, list)
		for i := range calls {
			calls[i].ID = c.ID
			if i > 0 {
				calls[i].ID = fmt.Sprintf("%s-%d", c.ID, i+1)
				tr.made = append(tr.made, calls[i].ID)
			}
		}
		out.Calls = append(out.Calls, calls...)
	}
	return out, nil
}

// mergeArgs sends what differs from the stored list, and nothing else.
func mergeArgs(stored []core.Item, list wholeList) string {
	changes := []map[string]any{}
	for _, it := range list.Todos {
		change := map[string]any{}
		i := slices.IndexFunc(stored, func(s core.Item) bool { return s.ID == it.ID })
		if i < 0 || stored[i].Content != it.Content {
			change["content"] = it.Content
		}
		if i < 0 || string(stored[i].Status) != it.Status {
			change["status"] = it.Status
		}
		if i < 0 && it.DependsOn != nil || i >= 0 && !slices.Equal(stored[i].DependsOn, it.DependsOn) {
			change["depends_on"] = it.DependsOn
		}
		if len(change) > 0 {
			change["id"] = it.ID
			changes = append(changes, change)
		}
	}
	args := map[string]any{"merge": true, "todos": changes}
	if list.Wait != nil {
		args["wait_for_tasks"] = list.Wait
	}
	return encode(args)
}

// taskCalls creates what is new, then changes what differs: what ends or rests first, what starts last.
func (tr *translator) taskCalls(stored []core.Item, list wholeList) []core.Call {
	var calls []core.Call
	call := func(name string, args map[string]any) {
		calls = append(calls, core.Call{Name: name, Args: encode(args)})
	}
	next := 1
	for _, it := range stored {
		if n, err := strconv.Atoi(it.ID); err == nil && n >= next {
			next = n + 1
		}
		if tr.play.storyID(it.ID) == it.ID { // from the start section
			tr.play.ids[it.ID] = it.ID
		}
	}
	var updates, start []map[string]any
	for _, it := range list.Todos {
		i := slices.IndexFunc(stored, func(s core.Item) bool { return s.ID == tr.play.ids[it.ID] })
		change := map[string]any{}
		status := string(core.StatusPending)
		if i < 0 {
			tr.play.ids[it.ID] = fmt.Sprint(next)
			next++
			call(core.TaskCreate, map[string]any{"subject": it.Content})
			if it.DependsOn != nil {
				change["addBlockedBy"] = tr.ids(it.DependsOn)
			}
		} else {
			status = string(stored[i].Status)
			if stored[i].Content != it.Content {
				change["subject"] = it.Content
			}
			if more := slices.DeleteFunc(tr.ids(it.DependsOn), func(id string) bool { return slices.Contains(stored[i].DependsOn, id) }); len(more) > 0 {
				change["addBlockedBy"] = more
			}
		}
		if status != it.Status {
			change["status"] = it.Status
		}
		if len(change) == 0 {
			continue
		}
		change["taskId"] = tr.play.ids[it.ID]
		if it.Status == string(core.StatusInProgress) {
			start = append(start, change)
		} else {
			updates = append(updates, change)
		}
	}
	updates = append(updates, start...)
	if list.Wait != nil {
		if len(updates) == 0 {
			updates = append(updates, map[string]any{"taskId": tr.play.ids[list.Todos[0].ID]})
		}
		updates[len(updates)-1]["wait_for_tasks"] = list.Wait
	}
	for _, u := range updates {
		call(core.TaskUpdate, u)
	}
	if len(calls) == 0 {
		call(core.TaskList, map[string]any{})
	}
	return calls
}

func (tr *translator) ids(story []string) []string {
	out := make([]string, len(story))
	for i, id := range story {
		if out[i] = tr.play.ids[id]; out[i] == "" {
			out[i] = id // one that the list does not have
		}
	}
	return out
}

// storyID is the id by which the story knows an item: task tools choose ids of their own.
func (p *play) storyID(id string) string {
	for story, task := range p.ids {
		if task == id {
			return story
		}
	}
	return id
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings and lists
	}
	return string(b)
}
