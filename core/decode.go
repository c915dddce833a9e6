package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// write is what the model asked for, decoded and not yet judged (docs/design.md, section 3).
type write struct {
	items      []writeItem
	merge      bool     // update by id; else the list replaces the list
	read       bool     // merge mode without arguments: only show the list
	wait       []string // nil: no declaration
	normalized []string // what was read leniently
}

// field says which fields of an item were sent.
type field uint8

const (
	hasID field = 1 << iota
	hasContent
	hasStatus
	hasDeps
	hasExtras // at least one of description, activeForm, owner, metadata, which the task tools send
)

type writeItem struct {
	has    field
	item   Item
	status string // as it was sent, for messages
	fresh  bool   // a new item, whatever content others have
}

// The most notes that one result lists; the rest is counted.
const maxNotes = 8

// decoder reads one argument string leniently in shape and strictly in meaning.
type decoder struct {
	mode  Updates
	deps  bool // depends_on means something; else it is an extra field like any other
	notes []string
	more  int
}

func (d *decoder) note(format string, args ...any) {
	if len(d.notes) >= maxNotes {
		d.more++
		return
	}
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// decodeWrite reads the arguments of write_todos. It never panics and never guesses: what it cannot read is a refusal.
func decodeWrite(args string, mode Updates, deps bool) (write, *RuleError) {
	d := &decoder{mode: mode, deps: deps}
	w := write{merge: mode == Merge}
	text := d.unfence(strings.TrimSpace(args))
	if mode == Merge && text == "" {
		w.read = true
		return w, nil
	}
	if !json.Valid([]byte(text)) {
		return w, d.notJSON(text)
	}
	switch kindOf(text) {
	case jsonArray:
		d.note("a bare array was read as todos")
		return w, d.finish(&w, d.list(&w, text))
	case jsonObject:
		return w, d.finish(&w, d.top(&w, text, true))
	}
	return w, refuse(CodeMalformed, "", "The arguments are %s. Send one JSON object with todos, the whole list.", kindOf(text))
}

func (d *decoder) finish(w *write, e *RuleError) *RuleError {
	if d.more > 0 {
		d.notes = append(d.notes, fmt.Sprintf("and %d more", d.more))
	}
	w.normalized = d.notes
	return e
}

func (d *decoder) notJSON(text string) *RuleError {
	var v any
	err := json.Unmarshal([]byte(text), &v)
	why := "it is not valid"
	if err != nil {
		why = err.Error()
	}
	return refuse(CodeMalformed, "", "The arguments are not one complete JSON value (%s). Send the whole list again, with every bracket closed.", why)
}

// unfence takes away a Markdown fence round the whole argument.
func (d *decoder) unfence(s string) string {
	if !strings.HasPrefix(s, "```") || !strings.HasSuffix(s, "```") || len(s) < 6 {
		return s
	}
	body := strings.TrimSpace(strings.TrimLeftFunc(s[3:len(s)-3], func(r rune) bool { return r < 0x80 && unicode.IsLetter(r) }))
	d.note("a code fence round the arguments was taken off")
	return body
}

// top reads the argument object. wrapped says that a __arg1 of LangChainGo may still be in the way.
func (d *decoder) top(w *write, obj string, wrapped bool) *RuleError {
	var todos, wait, merge, arg1 string
	var bad *RuleError
	keys, seen := 0, ""
	set := func(slot *string, key, v string) {
		if *slot != "" && bad == nil {
			bad = refuse(CodeMalformed, "", "The key %q stands twice. Send it once.", key)
		}
		*slot = v
	}
	eachField(obj, func(key, v string) bool {
		keys++
		switch key {
		case "todos":
			set(&todos, key, v)
		case "wait_for_tasks":
			set(&wait, key, v)
		case "merge":
			set(&merge, key, v)
		case "__arg1":
			set(&arg1, key, v)
		default:
			if seen == "" {
				seen = key
			}
		}
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	if todos == "" && arg1 != "" && wrapped && keys == 1 {
		return d.arg1(w, arg1)
	}
	if e := d.flags(w, merge, wait); e != nil {
		return e
	}
	switch {
	case todos == "" && w.merge && keys == 0:
		w.read = true
		return nil
	case todos == "" && w.merge && w.wait != nil:
		return nil // a wait on the list as it is
	case todos == "" && seen != "":
		return refuse(CodeMalformed, "", "todos is missing; the key sent is %q. Send todos, the whole list.", seen)
	case todos == "":
		return refuse(CodeMalformed, "", "todos is missing. Send todos, the whole list; an empty array clears a finished list.")
	}
	return d.todos(w, todos)
}

// arg1 reads what LangChainGo's agents wrap round a single string argument.
func (d *decoder) arg1(w *write, v string) *RuleError {
	switch kindOf(v) {
	case jsonString:
		inner := d.unfence(strings.TrimSpace(unquote(v)))
		if d.mode == Merge && inner == "" {
			w.read = true
			return nil
		}
		if !json.Valid([]byte(inner)) {
			return d.notJSON(inner)
		}
		v = strings.TrimSpace(inner)
	}
	d.note("__arg1 was unwrapped")
	switch kindOf(v) {
	case jsonArray:
		return d.list(w, v)
	case jsonObject:
		return d.top(w, v, false)
	}
	return refuse(CodeMalformed, "", "__arg1 is %s. Send a JSON object with todos, the whole list.", kindOf(v))
}

func (d *decoder) flags(w *write, merge, wait string) *RuleError {
	if d.mode == Merge && merge != "" && kindOf(merge) != jsonNull {
		if kindOf(merge) != jsonBool {
			return refuse(CodeMalformed, "", "merge is %s. Send true to update by id or false to replace the list.", kindOf(merge))
		}
		w.merge = merge == "true"
	}
	if wait == "" || kindOf(wait) == jsonNull {
		return nil
	}
	if kindOf(wait) != jsonArray {
		return refuse(CodeMalformed, "", "wait_for_tasks is %s. Send an array of task ids, or leave it out.", kindOf(wait))
	}
	ids, e := d.ids(wait, label{pre: "wait_for_tasks"})
	if len(ids) > 0 {
		w.wait = ids
	}
	return e
}

// todos reads the list: an array, one object in place of it, or either as a JSON string up to two levels deep.
func (d *decoder) todos(w *write, v string) *RuleError {
	v, e := d.unstring(v, label{pre: "todos"})
	if e != nil {
		return e
	}
	switch kindOf(v) {
	case jsonArray:
		return d.list(w, v)
	case jsonObject:
		d.note("one object was read as a list of one item")
		return d.item(w, 0, v)
	}
	return refuse(CodeMalformed, "", "todos is %s. Send an array of items; an empty one clears a finished list.", kindOf(v))
}

// unstring unwraps a value that is a JSON string of JSON, at most two levels deep.
func (d *decoder) unstring(v string, what label) (string, *RuleError) {
	for level := 0; kindOf(v) == jsonString; level++ {
		inner := strings.TrimSpace(unquote(v))
		if level == 2 || !json.Valid([]byte(inner)) {
			return "", refuse(CodeMalformed, "", "%s is a string that holds no JSON list. Send it as JSON, not as text.", what)
		}
		if level == 0 {
			d.note("%s was a JSON string", what)
		}
		v = inner
	}
	return v, nil
}

func (d *decoder) list(w *write, arr string) (bad *RuleError) {
	n := 0
	eachElement(arr, func(int, string) bool { n++; return n < 256 })
	w.items = make([]writeItem, 0, n)
	eachElement(arr, func(i int, v string) bool {
		bad = d.item(w, i, v)
		return bad == nil
	})
	return bad
}
