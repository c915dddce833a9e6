package storytest

import (
	"fmt"
	"strings"

	"github.com/todoguard/todoguard/core"
)

// The block of open items, as docs/design.md (section 6) lays it out: on lines of its own.
const (
	blockOpen  = "<todos>"
	blockClose = "</todos>"
)

// blocks returns every list block in a text, from its first to its last line.
func blocks(text string) []string {
	var out []string
	var cur []string
	for _, line := range strings.Split(text, "\n") {
		switch {
		case line == blockOpen:
			cur = []string{line}
		case cur != nil && line == blockClose:
			out = append(out, strings.Join(append(cur, line), "\n"))
			cur = nil
		case cur != nil:
			cur = append(cur, line)
		}
	}
	return out
}

// tailBlock returns the block of a request's last message, or "".
func tailBlock(req []Message) string {
	if len(req) == 0 {
		return ""
	}
	if b := blocks(req[len(req)-1].Text); len(b) > 0 {
		return b[len(b)-1]
	}
	return ""
}

// validate holds one request to what the strictest provider takes. made says which call ids the model made.
func validate(req []Message, made map[string]bool) (problems []string) {
	bad := func(i int, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("message %d: ", i+1)+fmt.Sprintf(format, args...))
	}
	if len(req) == 0 {
		return []string{"the request is empty"}
	}
	lists := 0
	prev := ""
	for i := 0; i < len(req); i++ {
		m := req[i]
		lists += len(blocks(m.Text))
		switch m.Role {
		case "system":
			if i > 0 {
				bad(i, "a system message that does not lead")
			}
		case "user":
			if prev == "user" {
				bad(i, "two user messages in a row")
			}
		case "assistant":
			if prev == "assistant" || prev == "" || prev == "system" {
				bad(i, "an assistant message after %q", prev)
			}
			if m.Text == "" && len(m.Calls) == 0 {
				bad(i, "an empty assistant message")
			}
			n, answered := answers(req[i+1:], m, made, func(format string, args ...any) { bad(i, format, args...) })
			for _, t := range req[i+1 : i+1+n] {
				lists += len(blocks(t.Text))
			}
			i += n
			if answered {
				prev = "tool"
				continue
			}
		case "tool":
			bad(i, "a tool result (%q) that answers no call before it", m.CallID)
		default:
			bad(i, "the role %q", m.Role)
		}
		prev = m.Role
	}
	if prev != "user" && prev != "tool" {
		bad(len(req)-1, "the last message has the role %q", prev)
	}
	if lists > 1 {
		problems = append(problems, fmt.Sprintf("%d list blocks in one request", lists))
	}
	return problems
}

// answers checks that the calls of an assistant message are each answered once, directly after it, and returns how many
// tool messages follow it.
func answers(rest []Message, m Message, made map[string]bool, bad func(string, ...any)) (n int, any bool) {
	open := map[string]string{}
	for _, c := range m.Calls {
		switch {
		case c.ID == "" || c.Name == "":
			bad("a call without id or name (%q, %q)", c.ID, c.Name)
		case open[c.ID] != "":
			bad("two calls with the id %q", c.ID)
		case !made[c.ID]:
			bad("the call %q (%s), which the model did not make", c.ID, c.Name)
		}
		open[c.ID] = c.Name
	}
	for n < len(rest) && rest[n].Role == "tool" {
		t := rest[n]
		name, ok := open[t.CallID]
		switch {
		case !ok:
			bad("the tool result %q answers no open call", t.CallID)
		case t.Name != name && t.Name != "":
			bad("the tool result %q names %q, its call %q", t.CallID, t.Name, name)
		}
		delete(open, t.CallID)
		n++
	}
	for id := range open {
		bad("the call %q is not answered", id)
	}
	return n, n > 0
}

// prefix holds that a request only adds to the one before it: what came before the tail is the same, byte for byte.
func prefix(old, now []Message) string {
	if len(now) < len(old) {
		return fmt.Sprintf("has %d messages, the one before it %d", len(now), len(old))
	}
	for i := range old {
		a, b := old[i], now[i]
		same := a.Role == b.Role && a.CallID == b.CallID && a.Name == b.Name && len(a.Calls) == len(b.Calls)
		for j := range a.Calls {
			same = same && a.Calls[j] == b.Calls[j]
		}
		switch {
		case i < len(old)-1:
			same = same && a.Text == b.Text
		case i < len(now)-1:
			same = same && strings.HasPrefix(a.Text, b.Text)
		default: // the same last message twice: a correction that stands in the tail
			same = same && untailed(a.Text) == untailed(b.Text)
		}
		if !same {
			return fmt.Sprintf("differs from the one before it at message %d:\n%s\n---\n%s", i+1, a.Text, b.Text)
		}
	}
	return ""
}

// untailed is a last message without its tail: the block, and what is kept of an answer before it.
func untailed(text string) string {
	kept, _, _ := strings.Cut(core.DefaultTexts().Kept, "$")
	for _, mark := range []string{"\n\n" + kept, "\n\n" + blockOpen + "\n"} {
		text, _, _ = strings.Cut(text, mark)
	}
	return text
}
