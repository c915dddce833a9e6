package core

import (
	"encoding/json"
	"slices"
	"strings"
)

// toolResult is what a call of the tool returns, in the order of docs/design.md, section 3.
type toolResult struct {
	Error      *resultError  `json:"error,omitempty"`
	Todos      *[]Item       `json:"todos,omitempty"`
	Summary    *Summary      `json:"summary,omitempty"`
	Revision   int64         `json:"revision"`
	Next       *brief        `json:"next,omitempty"`
	Checks     []CheckReport `json:"checks,omitempty"`
	Dropped    []brief       `json:"dropped,omitempty"`
	Reopened   []brief       `json:"reopened,omitempty"`
	Blocked    []brief       `json:"blocked,omitempty"` // what depends on an item that this write cancelled
	Waiting    []string      `json:"waiting_for,omitempty"`
	Unchanged  bool          `json:"unchanged,omitempty"`
	Reminder   string        `json:"reminder,omitempty"`
	Normalized []string      `json:"normalized,omitempty"`
}

type resultError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
}

type brief struct {
	ID      string `json:"id"`
	Content string `json:"content"`
}

func briefs(items []Item) []brief {
	var out []brief
	for i := range items {
		out = append(out, brief{items[i].ID, items[i].Content})
	}
	return out
}

// text encodes a result, as a model reads it best: of the signs that encoding/json would escape for web pages only "<" is, so that
// no content can look like the block. It cannot fail: every raw value in it has been read by encoding/json before.
func (r *toolResult) text() string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		panic("core: encode result: " + err.Error())
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "<", `\u003c`) // it stands in strings only
}

// refusal is the result of a write that broke a rule: why, and the list as it still is. st nil: the list is not known.
func refusal(e *RuleError, st *state) string {
	r := toolResult{Error: &resultError{e.Code, e.Advice}}
	if st != nil {
		r.show(st.Todos)
		r.Revision = st.Revision
	}
	return r.text()
}

func (r *toolResult) show(items []Item) {
	if items == nil {
		items = []Item{}
	}
	sum := Summarize(items)
	r.Todos, r.Summary = &items, &sum
}

// accepted is the result of a write that is stored (or that changed nothing).
func (p *Planner) accepted(st *state, rep report, reports []CheckReport, w write) string {
	r := toolResult{
		Revision: st.Revision, Checks: reports, Dropped: briefs(rep.dropped), Reopened: briefs(rep.reopened), Blocked: briefs(rep.stranded),
		Unchanged: rep.unchanged, Normalized: w.normalized, Waiting: w.wait,
	}
	r.show(st.Todos)
	switch {
	case p.cfg.Results == ResultsBrief && !w.read:
		r.Todos = nil
	case w.merge && !w.read:
		items := changedItems(st.Todos, rep, reports)
		r.Todos = &items
	}
	if next := nextActionable(st.Todos); next != nil && (p.cfg.Results == ResultsBrief || p.cfg.Dependencies || next.Status != StatusInProgress) {
		r.Next = &brief{next.ID, next.Content}
	}
	if r.Summary.Total >= 3 && r.Summary.Open() == 0 && !rep.unchanged && !w.read {
		r.Reminder = p.texts.Verify
	}
	return r.text()
}

// whole reports whether the result of this write shows every open item, so that the block would say nothing new.
func (p *Planner) whole(w write) bool {
	return w.read || p.cfg.Results == ResultsFull && !w.merge
}

// changedItems picks what a merge shows: the items that it changed, and those that a check sent back.
func changedItems(items []Item, rep report, reports []CheckReport) []Item {
	out := []Item{}
	for i := range items {
		if slices.Contains(rep.changed, items[i].ID) ||
			slices.ContainsFunc(reports, func(c CheckReport) bool { return c.ID == items[i].ID }) {
			out = append(out, items[i])
		}
	}
	return out
}

// readResult takes from a result text what the state of a run needs (see [Run.Observe]). fresh: it shows a list
// that the call made. ok is false for a text that is none of ours.
func readResult(text string) (revision int64, code Code, fresh, ok bool) {
	var r struct {
		Error     *resultError    `json:"error"`
		Todos     json.RawMessage `json:"todos"`
		Revision  *int64          `json:"revision"`
		Unchanged bool            `json:"unchanged"`
	}
	if json.Unmarshal([]byte(text), &r) != nil || r.Revision == nil && r.Error == nil {
		return 0, "", false, false
	}
	if r.Error != nil {
		code = r.Error.Code
	}
	if r.Revision != nil {
		revision = *r.Revision
	}
	return revision, code, r.Todos != nil && !r.Unchanged, true
}
