package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The task tools: the list changed one item at a time, by the names and arguments that models know from coding agents
// (docs/design.md, section 10). Rules, guard, checks and waits are those of write_todos; since one call changes one item,
// rule 4 holds as "never two in progress".

func (p *Planner) taskSpecs() []ToolSpec {
	t := &p.texts
	str, object := `{"type":"string"}`, `{"type":"object"}`
	ids := `{"type":"array","items":{"type":"string"}}`
	create := props{{"subject", str}, {"description", str}, {"activeForm", str}, {"metadata", object}}
	change := props{{"taskId", str}, {"status", `{"type":"string","enum":["pending","in_progress","completed","cancelled","deleted"]}`},
		{"subject", str}, {"description", str}, {"activeForm", str}}
	more := ""
	if p.cfg.Dependencies {
		change = append(change, prop{"addBlocks", ids}, prop{"addBlockedBy", ids}, prop{"removeBlockedBy", ids})
		more = " " + t.Dependencies
	}
	change = append(change, prop{"owner", str}, prop{"metadata", object})
	if p.cfg.ValidateWait != nil {
		change = append(change, prop{"wait_for_tasks", ids})
		more += " " + t.Waiting
	}
	spec := func(name, text string, ps props, required string) ToolSpec {
		return ToolSpec{Name: name, Description: fill(text, "$TOOL", name), Schema: json.RawMessage(ps.object(required))}
	}
	return []ToolSpec{
		spec(TaskCreate, t.TaskCreate, create, `["subject"]`),
		spec(TaskUpdate, t.TaskUpdate+more, change, `["taskId"]`),
		spec(TaskGet, t.TaskGet, props{{"taskId", str}}, `["taskId"]`),
		spec(TaskList, t.TaskList, nil, `[]`),
	}
}

// callTask applies the calls of a response in the order of the response, whatever order the framework runs them in: those
// before this one first. Each is applied once; its result waits until its own call comes.
func (r *Run) callTask(ctx context.Context, c Call) (string, error) {
	at := r.batchIndex(c)
	if at < 0 {
		return r.applyTask(ctx, c)
	}
	for len(r.rs.Results) <= at {
		text, err := r.applyTask(ctx, r.rs.Batch[len(r.rs.Results)])
		if err != nil {
			return "", err
		}
		r.rs.Results = append(r.rs.Results, CallResult{Text: text})
	}
	r.rs.Results[at].Taken = true
	return r.rs.Results[at].Text, nil
}

// batchIndex finds a call among those of the response, by its id, else by what it says; -1: it is none of them.
func (r *Run) batchIndex(c Call) int {
	free := func(i int) bool { return i >= len(r.rs.Results) || !r.rs.Results[i].Taken }
	for i, b := range r.rs.Batch {
		if free(i) && b.ID == c.ID && strings.EqualFold(b.Name, c.Name) && (c.ID != "" || b.Args == c.Args) {
			return i
		}
	}
	return -1
}

func (r *Run) applyTask(ctx context.Context, c Call) (string, error) {
	if err := r.known(ctx); err != nil {
		return r.notSaved(ctx, c, err)
	}
	t, bad := decodeTask(c)
	if bad != nil {
		return r.refuse(ctx, c, bad), nil
	}
	switch t.tool {
	case TaskList:
		r.sawFull(c)
		return (&toolResult{Revision: r.st.Revision}).list(r.st.items()).text(), nil
	case TaskGet:
		return r.getTask(ctx, c, t), nil
	}
	var id string
	rules := r.p.rules(false)
	done, bad, err := r.commit(ctx, c.ID, t.wait, func(prev *state) (*state, report, *RuleError) {
		w, bad := t.write(rules, prev)
		if bad != nil {
			return nil, report{}, bad
		}
		next, rep, bad := apply(rules, prev, w)
		if bad == nil {
			id = t.id
			if t.tool == TaskCreate {
				id = next.Todos[len(next.Todos)-1].ID
			}
		}
		return next, rep, bad
	})
	switch {
	case err != nil:
		return r.notSaved(ctx, c, err)
	case bad != nil:
		return r.refuse(ctx, c, bad), nil
	}
	rep := done.report
	rep.changed = append(rep.changed, id)
	return r.p.accepted(r.st, rep, done.checks, write{merge: true, wait: done.waiting, normalized: t.notes}), nil
}

func (r *Run) getTask(ctx context.Context, c Call, t task) string {
	items := r.st.items()
	i := find(items, t.id)
	if i < 0 {
		return r.refuse(ctx, c, unknownTask(items, t.id))
	}
	res := toolResult{Revision: r.st.Revision}
	one := items[i : i+1]
	res.Todos = &one
	if items[i].Failures > 0 {
		res.Checks = []CheckReport{{ID: items[i].ID, Status: CheckFailed, Output: items[i].LastOutput, Failures: items[i].Failures}}
	}
	return res.text()
}

func unknownTask(items []Item, id string) *RuleError {
	return refuse(CodeUnknownItem, id, "There is no task with the id \"%s\"; the ids are %s.", short(id), knownIDs(items))
}

// list puts the whole list into a result.
func (r *toolResult) list(items []Item) *toolResult {
	r.show(items)
	return r
}

// task is one decoded call of a task tool.
type task struct {
	tool                                    string
	id                                      string
	has                                     map[string]bool // keys that were sent
	subject, description, activeForm, owner string
	status                                  string
	metadata                                json.RawMessage
	blocks, blockedBy, unblock, wait        []string
	notes                                   []string
}

// decodeTask reads the arguments of a task tool as leniently in shape as those of write_todos.
func decodeTask(c Call) (task, *RuleError) {
	t := task{tool: taskTool(c.Name), has: map[string]bool{}}
	d := &decoder{}
	text := d.unfence(strings.TrimSpace(c.Args))
	if text == "" {
		text = "{}"
	}
	if !json.Valid([]byte(text)) {
		return t, d.notJSON(text)
	}
	if text = unwrapArg1(text); kindOf(text) != jsonObject {
		return t, refuse(CodeMalformed, "", "The arguments are %s. Send one JSON object.", kindOf(text))
	}
	var bad *RuleError
	eachField(text, func(key, v string) bool {
		if t.has[key] {
			bad = refuse(CodeMalformed, "", "The key %q stands twice. Send it once.", key)
		} else if kindOf(v) != jsonNull {
			t.has[key] = true
			bad = t.field(d, key, v)
		}
		return bad == nil
	})
	t.notes = d.notes
	switch {
	case bad != nil:
	case t.tool == TaskCreate && !t.has["subject"]:
		bad = refuse(CodeMalformed, "", "subject is missing. Say in a few words what is to be done.")
	case (t.tool == TaskUpdate || t.tool == TaskGet) && t.id == "":
		bad = refuse(CodeMalformed, "", "taskId is missing. Send the id of the task.")
	}
	return t, bad
}

// unwrapArg1 takes off LangChainGo's wrapping of a single string argument.
func unwrapArg1(text string) string {
	if kindOf(text) != jsonObject {
		return text
	}
	keys, arg := 0, ""
	eachField(text, func(key, v string) bool {
		keys++
		if key == "__arg1" {
			arg = v
		}
		return true
	})
	if keys != 1 || arg == "" {
		return text
	}
	if kindOf(arg) == jsonString {
		if arg = strings.TrimSpace(unquote(arg)); arg == "" {
			return "{}"
		}
		if !json.Valid([]byte(arg)) {
			return text
		}
	}
	return arg
}

func (t *task) field(d *decoder, key, v string) (bad *RuleError) {
	text := func(to *string) *RuleError {
		if kindOf(v) != jsonString {
			return refuse(CodeMalformed, t.id, "%s is %s. Send a string.", key, kindOf(v))
		}
		*to = cleanLine(unquote(v))
		return nil
	}
	list := func(to *[]string) *RuleError {
		if kindOf(v) != jsonArray {
			return refuse(CodeMalformed, t.id, "%s is %s. Send an array of ids.", key, kindOf(v))
		}
		ids, bad := d.ids(v, label{pre: key})
		*to = ids
		return bad
	}
	switch key {
	case "taskId":
		t.id, bad = d.id(v, label{pre: key})
	case "subject":
		bad = text(&t.subject)
	case "description":
		if bad = text(&t.description); bad == nil {
			t.description = cleanText(unquote(v)) // it may have lines: no block shows it
		}
	case "activeForm":
		bad = text(&t.activeForm)
	case "owner":
		bad = text(&t.owner)
	case "status":
		bad = text(&t.status)
		if st, ok := readStatus(t.status); bad == nil && ok && string(st) != t.status {
			d.note("status %q was read as %s", t.status, st)
		}
	case "metadata":
		if kindOf(v) != jsonObject {
			return refuse(CodeMalformed, t.id, "metadata is %s. Send an object.", kindOf(v))
		}
		t.metadata = json.RawMessage(strings.ToValidUTF8(v, "\uFFFD"))
	case "addBlocks":
		bad = list(&t.blocks)
	case "addBlockedBy":
		bad = list(&t.blockedBy)
	case "removeBlockedBy":
		bad = list(&t.unblock)
	case "wait_for_tasks":
		bad = list(&t.wait)
		if len(t.wait) == 0 {
			t.wait = nil
		}
	}
	return bad
}

// write turns the call into a merge, so that the rules are those of write_todos.
func (t *task) write(r rules, prev *state) (write, *RuleError) {
	in := writeItem{has: hasExtras}
	if t.tool == TaskCreate {
		in.fresh, in.item.Status = true, StatusPending
		in.has |= hasStatus | hasContent
	} else {
		i := find(prev.Todos, t.id)
		if i < 0 {
			return write{}, unknownTask(prev.Todos, t.id)
		}
		in.item = prev.Todos[i]
		in.has |= hasID
	}
	if t.has["subject"] {
		in.item.Content = t.subject
		in.has |= hasContent
	}
	if t.has["status"] && t.tool == TaskUpdate {
		in.status = t.status
		in.has |= hasStatus
		if strings.EqualFold(t.status, "deleted") {
			in.item.Status = StatusCancelled
		} else {
			in.item.Status, _ = readStatus(t.status)
		}
	}
	if bad := t.extras(r, &in.item); bad != nil {
		return write{}, bad
	}
	w := write{merge: true, items: []writeItem{in}}
	if r.dependencies {
		return w, t.edges(prev, &w)
	}
	return w, nil
}

// extras sets the fields that only the task tools know.
func (t *task) extras(r rules, it *Item) *RuleError {
	for _, f := range []struct {
		key  string
		from string
		to   *string
	}{{"description", t.description, &it.Description}, {"activeForm", t.activeForm, &it.ActiveForm}, {"owner", t.owner, &it.Owner}} {
		if !t.has[f.key] {
			continue
		}
		if n := len([]rune(f.from)); n > 4*r.limits.Content {
			return refuse(CodeContentTooLong, t.id, "%s has %d characters; at most %d are allowed. Shorten it.", f.key, n, 4*r.limits.Content)
		}
		*f.to = f.from
	}
	if t.metadata == nil {
		return nil
	}
	merged := map[string]json.RawMessage{}
	if it.Metadata != nil {
		_ = json.Unmarshal(it.Metadata, &merged) // it was encoded here
	}
	var sent map[string]json.RawMessage
	_ = json.Unmarshal(t.metadata, &sent) // it is a valid object
	maps.Copy(merged, sent)
	maps.DeleteFunc(merged, func(_ string, v json.RawMessage) bool { return bytes.Equal(v, []byte("null")) })
	it.Metadata = nil
	if len(merged) > 0 {
		it.Metadata, _ = json.Marshal(merged)
	}
	if n := len(it.Metadata); n > 4*r.limits.Content {
		return refuse(CodeContentTooLong, t.id, "metadata has %d bytes; at most %d are allowed.", n, 4*r.limits.Content)
	}
	return nil
}

// edges adds and removes dependencies: of this task (blockedBy) and of others on it (blocks).
func (t *task) edges(prev *state, w *write) *RuleError {
	in := &w.items[0]
	if len(t.blockedBy) > 0 || len(t.unblock) > 0 {
		in.has |= hasDeps
		deps := append(slices.Clone(in.item.DependsOn), t.blockedBy...)
		in.item.DependsOn = slices.DeleteFunc(deps, func(id string) bool { return slices.Contains(t.unblock, id) })
	}
	for _, id := range distinct(t.blocks) {
		i := find(prev.Todos, id)
		if i < 0 || t.tool == TaskCreate {
			return refuse(CodeUnknownDependency, t.id, "addBlocks names \"%s\", which is not in the list.", short(id))
		}
		if id == t.id {
			return refuse(CodeDependencyCycle, id, "The dependencies go round in a circle: %s -> %s. Take it out of addBlocks.", id, id)
		}
		other := writeItem{has: hasID | hasDeps, item: Item{ID: id, DependsOn: append(slices.Clone(prev.Todos[i].DependsOn), t.id)}}
		w.items = append(w.items, other)
	}
	return nil
}

func formatID(n int64) string { return fmt.Sprint(n) }
