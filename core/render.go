package core

import (
	"strconv"
	"strings"
)

// The block that shows the open items at the tail of a request (docs/design.md, section 6). Content is data: one line
// an item, in which nothing can close the block or open another.

const (
	blockOpen  = "<todos>"
	blockClose = "</todos>"
)

// renderBlock shows the open items, the one in progress first, or "" if there are none. note, if not "", is a last line.
func renderBlock(head string, items []Item, note string) string {
	open := OpenItems(items)
	if len(open) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(blockOpen + "\n" + head + "\n")
	for i := range open {
		it := &open[i]
		b.WriteString(lineText(it.ID) + " [" + string(it.Status) + "] " + lineText(it.Content))
		switch {
		case it.Status == StatusNeedsReplan:
			b.WriteString(" (" + replanReason(it) + ")")
		case it.Status == StatusPending && len(it.DependsOn) > 0:
			if w := waitsFor(items, find(items, it.ID)); len(w) > 0 {
				b.WriteString(" (waits for " + lineText(strings.Join(w, ", ")) + ")")
			}
		case it.Failures > 0 && it.LastOutput != "":
			b.WriteString(" (its check failed: " + lineText(lastLine(it.LastOutput)) + ")")
		}
		b.WriteByte('\n')
	}
	if note != "" {
		b.WriteString(note + "\n")
	}
	b.WriteString(blockClose)
	return b.String()
}

func replanReason(it *Item) string {
	why := "its check failed " + strconv.Itoa(it.Failures) + " times"
	if it.Failures <= 1 {
		why = "its check failed"
	}
	if it.LastOutput != "" {
		why += ": " + lineText(lastLine(it.LastOutput))
	}
	return why + "; take a new approach with new content, or cancel it"
}

// lineText makes a text safe inside the block: one line, no tag.
func lineText(s string) string { return strings.ReplaceAll(oneLine(s), "<", "&lt;") }

// lastLine is the last line of an output that is not blank, cut for a line: what test runners say last says most.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	if i := strings.LastIndexAny(s, "\r\n"); i >= 0 {
		s = s[i+1:]
	}
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return s
}

// namedItems lists open items inside a sentence. Of a long list the later ones are named by their ids: the block has them all.
func namedItems(open []Item) string {
	const most = 10
	var b strings.Builder
	for i := range open {
		id := lineText(open[i].ID)
		switch {
		case i > most:
			b.WriteString(", " + id)
			continue
		case i == most:
			b.WriteString("; and " + id)
			continue
		case i > 0:
			b.WriteString("; ")
		}
		b.WriteString(id + ` "` + lineText(open[i].Content) + `"`) // no escapes: many scripts need what strconv.Quote takes apart
	}
	return b.String()
}
