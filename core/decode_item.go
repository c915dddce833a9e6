package core

import "strings"

// One item of the arguments, field by field.

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
