package core

import (
	"slices"
	"strings"
)

// maxCorrections is the hard cap of corrections in one run (docs/design.md, section 6).
const maxCorrections = 3

// ask is what the guard wants of the model.
type ask int

const (
	askNothing ask = iota
	askToFinish
	askToExplain
)

// judgeTurn is the guard and the counter of stale turns, as one pure step over a response: the next run state and what
// the model is to be asked. open are the open items; quiet says that the guard may not fire, for a reason outside.
func judgeTurn(c *Config, isTool func(string) bool, rs RunState, open []Item, r Response, quiet bool) (RunState, ask) {
	rs.Writes, rs.Batch, rs.Results, rs.Waiting = 0, nil, nil, false
	if len(r.Calls) > 0 || r.Unparsed {
		return judgeCalls(c, isTool, rs, open, r), askNothing
	}
	rs.Stale, rs.RemindDue = 0, false
	if rs.Blocked { // the explanation: whatever it is, cut off or empty, it is taken
		rs.Blocked, rs.Explained, rs.Suppressed = false, true, true
		return rs, askNothing
	}
	if !r.final() {
		return rs, askNothing
	}
	switch {
	case quiet, len(open) == 0, rs.Suppressed, r.LastTurn, c.Arm == ArmAfterWrite && !rs.Wrote:
		return rs, askNothing
	case rs.Corrections == 0, rs.Corrections < maxCorrections && len(rs.ClosedSince) > 0 && rs.OtherSince:
		rs.Corrections++
		rs = hold(rs, r.Text, open)
		return rs, askToFinish
	case c.OnExhausted == Explain && !rs.Explained:
		rs.Blocked = true
		return hold(rs, r.Text, open), askToExplain
	}
	return rs, askNothing
}

// final reports whether the response is an answer: text, no call, not cut off.
func (r *Response) final() bool {
	return len(r.Calls) == 0 && !r.Unparsed && !r.Truncated && strings.TrimSpace(r.Text) != ""
}

// judgeCalls counts a response that calls tools.
func judgeCalls(c *Config, isTool func(string) bool, rs RunState, open []Item, r Response) RunState {
	if rs.Blocked { // asked to explain, it works on: that is taken as well, and not asked for again
		rs.Blocked, rs.Explained, rs.Suppressed = false, true, true
	}
	other := false
	for _, call := range r.Calls {
		switch {
		case !isTool(call.Name):
			other = true
		case c.Tools == ToolsTasks:
			rs.Batch = append(rs.Batch, call)
			rs.TodoSince = true
		default:
			rs.Writes++
			rs.TodoSince = true
		}
	}
	if !other {
		return rs
	}
	rs.OtherSince = true
	if len(open) == 0 {
		return rs
	}
	rs.Stale++
	n := *c.Reminder
	rs.RemindDue = n.After > 0 && (rs.Stale == n.After || rs.Stale > n.After && n.Every > 0 && (rs.Stale-n.After)%n.Every == 0)
	return rs
}

// hold keeps an answer while the model is asked once more.
func hold(rs RunState, answer string, open []Item) RunState {
	rs.Held, rs.Superseded = settleAnswer(rs, answer)
	rs.Holding = true
	rs.TodoSince, rs.OtherSince, rs.ClosedSince = false, false, nil
	rs.OpenThen = make([]string, len(open))
	for i := range open {
		rs.OpenThen[i] = open[i].ID
	}
	return rs
}

// settleAnswer decides what stands, the held answer or the one that followed it (docs/design.md, section 6), and lists
// what gives way: only the todo tool ran since: the held one; other tools ran: the new one; none: both.
func settleAnswer(rs RunState, answer string) (string, []string) {
	lost := slices.Clone(rs.Superseded)
	blank := strings.TrimSpace(answer) == ""
	switch {
	case !rs.Holding:
		return answer, lost
	case blank:
		return rs.Held, lost
	case rs.OtherSince:
		return answer, append(lost, rs.Held)
	case rs.TodoSince:
		return rs.Held, append(lost, answer)
	case strings.TrimSpace(answer) == strings.TrimSpace(rs.Held):
		return rs.Held, lost
	}
	return rs.Held + "\n\n" + answer, lost
}

// finalAnswer is settleAnswer at the end of a run. An explanation that was asked for stands alone.
func finalAnswer(rs RunState, answer string) (string, []string) {
	if rs.Holding && rs.Explained && !rs.TodoSince && !rs.OtherSince && strings.TrimSpace(answer) != "" {
		return answer, append(slices.Clone(rs.Superseded), rs.Held)
	}
	return settleAnswer(rs, answer)
}

// noteClosed marks which of the items that were open at the correction are closed now. One that was opened again is closed no
// more; one that left the list closed still counts.
func noteClosed(rs *RunState, items []Item) {
	for _, id := range rs.OpenThen {
		i, at := find(items, id), slices.Index(rs.ClosedSince, id)
		switch {
		case i < 0:
		case !items[i].Open() && at < 0:
			rs.ClosedSince = append(slices.Clip(rs.ClosedSince), id)
		case items[i].Open() && at >= 0:
			rs.ClosedSince = slices.Delete(slices.Clone(rs.ClosedSince), at, at+1)
		}
	}
}

// correction words what the guard asks.
func (p *Planner) correction(a ask, o RunOptions, open []Item) string {
	t := &p.texts
	if a == askToExplain {
		return fill(t.Explain, "$ITEMS", namedItems(open), "$TOOL", p.toolName())
	}
	answer, end := t.AnswerHeld, t.CloseHeld
	if o.Delivered {
		answer, end = t.AnswerDelivered, t.CloseDelivered
	}
	return fill(t.Correction, "$ITEMS", namedItems(open), "$ANSWER", answer, "$CLOSE", end, "$TOOL", p.toolName())
}
