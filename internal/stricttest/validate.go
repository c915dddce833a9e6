package stricttest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Message is one message of a request. A tool message may hold several results, an assistant message several calls.
type Message struct {
	Role    string // system, user, assistant or tool
	Text    string
	Calls   []Call
	Results []Result
}

// Result is the result of a tool call.
type Result struct{ ID, Name, Text string }

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// validate holds a conversation to the rules that the providers share: one leading system message at most, turns in
// order, each call answered exactly once and directly, and nothing in the model's mouth that it did not say.
func validate(req []Message, tools map[string]bool, said []Reply) (bad []string) {
	note := func(i int, format string, args ...any) {
		bad = append(bad, fmt.Sprintf("messages[%d]: ", i)+fmt.Sprintf(format, args...))
	}
	if len(req) == 0 {
		return []string{"no messages"}
	}
	seen := map[string]bool{} // ids used so far
	var open []Call           // calls that are not answered yet
	prev := ""
	for i, m := range req {
		if m.Role != "tool" && len(open) > 0 {
			note(i, "the calls %v have no result", open)
			open = nil
		}
		switch m.Role {
		case "system":
			if i > 0 {
				note(i, "a system message that does not lead")
			}
		case "user":
			if prev == "user" {
				note(i, "two user messages in a row")
			}
			if strings.TrimSpace(m.Text) == "" {
				note(i, "an empty user message")
			}
		case "assistant":
			if prev != "user" && prev != "tool" {
				note(i, "an assistant message after %q", prev)
			}
			if m.Text == "" && len(m.Calls) == 0 {
				note(i, "an empty assistant message")
			}
			if m.Text != "" && !slices.ContainsFunc(said, func(r Reply) bool { return r.Text == m.Text }) {
				note(i, "an assistant text that the model did not say: %q", m.Text)
			}
			for _, c := range m.Calls {
				note := func(format string, args ...any) { note(i, format, args...) }
				checkCall(c, tools, said, seen, note)
			}
			open = slices.Clone(m.Calls)
		case "tool":
			for _, r := range m.Results {
				k := slices.IndexFunc(open, func(c Call) bool { return c.ID == r.ID && (r.Name == "" || r.Name == c.Name) })
				if k < 0 {
					note(i, "the result %q (%s) answers no open call", r.ID, r.Name)
					continue
				}
				open = slices.Delete(open, k, k+1)
			}
			if len(m.Results) == 0 {
				note(i, "a tool message without a result")
			}
		default:
			note(i, "the role %q", m.Role)
		}
		prev = m.Role
	}
	if len(open) > 0 {
		bad = append(bad, fmt.Sprintf("the calls %v have no result", open))
	}
	if prev != "user" && prev != "tool" {
		bad = append(bad, fmt.Sprintf("the last message has the role %q", prev))
	}
	return bad
}

func checkCall(c Call, tools map[string]bool, said []Reply, seen map[string]bool, note func(string, ...any)) {
	if c.ID != "" && seen[c.ID] {
		note("the id %q stands twice", c.ID)
	}
	seen[c.ID] = true
	if !toolName.MatchString(c.Name) {
		note("the function name %q", c.Name)
	} else if !tools[c.Name] {
		note("a call of %q, which is no tool of the request", c.Name)
	}
	given := map[string]int{}
	for _, r := range said {
		for _, m := range r.Calls {
			given[m.ID]++
		}
	}
	made := slices.ContainsFunc(said, func(r Reply) bool {
		return slices.ContainsFunc(r.Calls, func(m Call) bool {
			same := m.ID == c.ID || c.ID == "" || m.ID == "" || given[m.ID] > 1 // an id that was no use may be another
			return same && m.Name == c.Name && sameArgs(m.Args, c.Args)
		})
	})
	if !made {
		note("a call that the model did not make: %+v", c)
	}
}

// sameArgs compares arguments as JSON. Text that is no object may come back inside an object.
func sameArgs(made, sent string) bool {
	if made == sent {
		return true
	}
	var a, b any
	if json.Unmarshal([]byte(sent), &b) != nil {
		return false
	}
	if json.Unmarshal([]byte(made), &a) == nil && reflect.DeepEqual(a, b) {
		return true
	}
	o, ok := b.(map[string]any)
	return ok && (len(o) == 0 && made == "" || len(o) == 1 && o["__arg1"] == made)
}

// checkTool holds a tool's declaration: a plain name, once, and a schema of type object in which everything has a type.
func checkTool(tools map[string]bool, name string, schema any) (bad []string) {
	if !toolName.MatchString(name) {
		bad = append(bad, fmt.Sprintf("the tool name %q", name))
	}
	if tools[name] {
		bad = append(bad, fmt.Sprintf("the tool %q stands twice", name))
	}
	tools[name] = true
	o, ok := schema.(map[string]any)
	if !ok || !strings.EqualFold(fmt.Sprint(o["type"]), "object") {
		return append(bad, fmt.Sprintf("the schema of %q is no object schema", name))
	}
	return append(bad, checkSchema(name, o)...)
}

func checkSchema(at string, o map[string]any) (bad []string) {
	if t, ok := o["type"].(string); !ok || t == "" {
		bad = append(bad, fmt.Sprintf("%s: a schema without a type", at))
	}
	props, _ := o["properties"].(map[string]any)
	for name, p := range props {
		sub, ok := p.(map[string]any)
		if !ok {
			bad = append(bad, fmt.Sprintf("%s.%s: no schema", at, name))
			continue
		}
		bad = append(bad, checkSchema(at+"."+name, sub)...)
	}
	required, _ := o["required"].([]any)
	for _, r := range required {
		if _, ok := props[fmt.Sprint(r)]; !ok {
			bad = append(bad, fmt.Sprintf("%s: %v is required and no property", at, r))
		}
	}
	if items, ok := o["items"].(map[string]any); ok {
		bad = append(bad, checkSchema(at+"[]", items)...)
	} else if t, _ := o["type"].(string); strings.EqualFold(t, "array") {
		bad = append(bad, fmt.Sprintf("%s: an array without items", at))
	}
	return bad
}

// Small readers of decoded JSON.

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }
func list(v any) []any            { l, _ := v.([]any); return l }
func text(v any) string           { s, _ := v.(string); return s }
func compact(v any) string        { b, _ := json.Marshal(v); return string(b) } // decoded JSON always encodes
