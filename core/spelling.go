package core

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How statuses, texts and parts of the arguments are spelled: read leniently, written plainly.

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
