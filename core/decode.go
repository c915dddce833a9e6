package core

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
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

func (d *decoder) item(w *write, i int, v string) *RuleError {
	v, e := d.unstring(v, label{item: i + 1})
	if e != nil {
		return e
	}
	if kindOf(v) != jsonObject {
		return refuse(CodeMalformed, itemName(i), "%s is %s. Send an object with content and status.", itemName(i), kindOf(v))
	}
	var id, content, status, deps, other string
	var bad *RuleError
	eachField(v, func(key, v string) bool {
		slot := &other
		switch key {
		case "id":
			slot = &id
		case "content":
			slot = &content
		case "status":
			slot = &status
		case "depends_on":
			slot = &deps
		default:
			if other == "" {
				other = key
			}
			return true
		}
		if *slot != "" {
			bad = refuse(CodeMalformed, itemName(i), "%s has the key %q twice. Send it once.", itemName(i), key)
		}
		*slot = v
		return bad == nil
	})
	if bad != nil {
		return bad
	}
	var it writeItem
	if bad = d.itemID(&it, i, id); bad != nil {
		return bad
	}
	if bad = d.itemContent(&it, i, content, other, w.merge && it.has&hasID != 0); bad != nil {
		return bad
	}
	if bad = d.itemStatus(&it, i, status); bad != nil {
		return bad
	}
	if d.deps && deps != "" && kindOf(deps) != jsonNull {
		if kindOf(deps) != jsonArray {
			return refuse(CodeMalformed, itemName(i), "depends_on of %s is %s. Send an array of ids, or leave it out.", itemName(i), kindOf(deps))
		}
		it.has |= hasDeps
		if it.item.DependsOn, bad = d.ids(deps, label{"depends_on of ", i + 1}); bad != nil {
			return bad
		}
	}
	w.items = append(w.items, it)
	return nil
}

func (d *decoder) itemID(it *writeItem, i int, v string) *RuleError {
	if v == "" || kindOf(v) == jsonNull {
		return nil
	}
	id, e := d.id(v, label{"id of ", i + 1})
	if e != nil {
		return e
	}
	if id == "" {
		d.note("the blank id of %s was read as missing", itemName(i))
		return nil
	}
	it.has |= hasID
	it.item.ID = id
	return nil
}

func (d *decoder) itemContent(it *writeItem, i int, v, other string, optional bool) *RuleError {
	switch {
	case v == "" && optional:
		return nil
	case v == "" && other != "":
		return refuse(CodeMalformed, itemName(i), "%s has no content; a key sent instead is %q. Put its text under content.", itemName(i), other)
	case v == "":
		return refuse(CodeMalformed, itemName(i), "%s has no content. Put its text under content.", itemName(i))
	case kindOf(v) != jsonString:
		return refuse(CodeMalformed, itemName(i), "content of %s is %s. Send a string.", itemName(i), kindOf(v))
	}
	s := unquote(v)
	clean := cleanLine(s)
	if clean != s {
		d.note("content of %s was cleaned (blanks, line breaks, control characters)", itemName(i))
	}
	it.has |= hasContent
	it.item.Content = clean
	return nil
}

func (d *decoder) itemStatus(it *writeItem, i int, v string) *RuleError {
	if v == "" || kindOf(v) == jsonNull {
		return nil // the rules say whether it may be missing
	}
	if kindOf(v) != jsonString {
		return refuse(CodeMalformed, itemName(i), "status of %s is %s. Send a string.", itemName(i), kindOf(v))
	}
	it.has |= hasStatus
	it.status = unquote(v)
	s, ok := readStatus(it.status)
	if ok && string(s) != it.status {
		d.note("status %q of %s was read as %s", it.status, itemName(i), s)
	}
	it.item.Status = s
	return nil
}

// ids reads an array of ids.
func (d *decoder) ids(arr string, what label) (out []string, bad *RuleError) {
	eachElement(arr, func(i int, v string) bool {
		var id string
		if id, bad = d.id(v, what); bad == nil {
			out = append(out, id)
		}
		return bad == nil
	})
	return out, bad
}

// id reads a string or an integer.
func (d *decoder) id(v string, what label) (string, *RuleError) {
	switch kindOf(v) {
	case jsonString:
		s := unquote(v)
		clean := cleanLine(s)
		if clean != s {
			d.note("%s: blanks or control characters were cleaned", what)
		}
		return clean, nil
	case jsonNumber:
		if strings.ContainsAny(v, ".eE") {
			return "", refuse(CodeMalformed, "", "%s is the number %s. Send a string or an integer.", what, v)
		}
		d.note("%s: the integer %s was read as text", what, v)
		return v, nil
	}
	return "", refuse(CodeMalformed, "", "%s is %s. Send a string or an integer.", what, kindOf(v))
}

// readStatus reads a status in any spelling that differs in case, hyphens, blanks or camel case, and a few synonyms.
func readStatus(s string) (Status, bool) {
	switch Status(s) {
	case StatusPending, StatusInProgress, StatusCompleted, StatusCancelled, StatusNeedsReplan:
		return Status(s), true
	}
	flat := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || unicode.IsSpace(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
	switch flat {
	case "pending", "todo":
		return StatusPending, true
	case "inprogress":
		return StatusInProgress, true
	case "completed", "complete", "done":
		return StatusCompleted, true
	case "cancelled", "canceled":
		return StatusCancelled, true
	case "needsreplan":
		return StatusNeedsReplan, true
	}
	return "", false
}

// label names a part of the arguments; it is put into words only where a message needs it.
type label struct {
	pre  string
	item int // from 1; 0: pre says it all
}

func (l label) String() string {
	if l.item == 0 {
		return l.pre
	}
	return l.pre + itemName(l.item-1)
}

func itemName(i int) string { return fmt.Sprintf("item %d", i+1) }

// cleanLine makes one line of valid UTF-8: line breaks and tabs become blanks, other control characters U+FFFD, and
// blanks at both ends go.
func cleanLine(s string) string {
	plain := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c >= 0x7f {
			plain = false
			break
		}
	}
	if !plain {
		s = strings.ReplaceAll(s, "\r\n", " ")
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '\n' || r == '\r' || r == '\t' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
				return ' '
			case unicode.IsControl(r):
				return utf8.RuneError
			}
			return r
		}, s)
	}
	return strings.TrimSpace(s)
}

// cleanText is cleanLine for a text that may have lines.
func cleanText(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n")))
}

// oneLine is cleanLine for the host's texts (reasons, outputs) that go into a line.
func oneLine(s string) string { return cleanLine(strings.ToValidUTF8(s, "\uFFFD")) }
