package core

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// rules is what of a Config the pure part judges by.
type rules struct {
	limits       Limits
	keepOpen     bool
	dependencies bool
	maxFailures  int
	exactlyOne   bool // rule 4 in full; false: at most one in progress, for edits that change one thing at a time
	host         bool // the host's own edit: statuses that the model may not set are allowed
}

// report says what a write would do beyond the new list.
type report struct {
	unchanged bool
	dropped   []Item   // open items that are missing
	reopened  []Item   // closed items that are open again
	completed []string // ids of items that become completed by this write: their checks run
	stranded  []Item   // open items that depend on one which this write cancelled
	changed   []string // ids that are new or differ, for results that do not show the whole list
}

// apply judges one write against the list and gives the next one (docs/design.md, section 4). It is pure: prev and w
// stay as they are. Without dependencies, any depends_on is ignored.
func apply(r rules, prev *state, w write) (*state, report, *RuleError) {
	items, bad := merged(r, prev, w)
	if bad != nil {
		return nil, report{}, bad
	}
	next := prev.with(items)
	if bad = judge(r, prev, next); bad != nil {
		return nil, report{}, bad
	}
	rep := compare(prev, next)
	if r.keepOpen && len(rep.dropped) > 0 {
		it := rep.dropped[0]
		return nil, report{}, refuse(CodeOpenItemsDropped, it.ID,
			"Item %s (\"%s\") is open and missing. Send it again, or mark it cancelled.", it.ID, short(it.Content))
	}
	return next, rep, nil
}

// merged makes the list that the write asks for, with ids, carried fields and field limits settled.
func merged(r rules, prev *state, w write) ([]Item, *RuleError) {
	if w.merge {
		return mergeByID(r, prev, w)
	}
	if bad := tooMany(r, len(w.items)); bad != nil {
		return nil, bad
	}
	items := make([]Item, len(w.items))
	for i := range w.items {
		if bad := checkFields(r, w.items[i], i, hasContent|hasStatus); bad != nil {
			return nil, bad
		}
		items[i] = w.items[i].item
		if !r.dependencies {
			items[i].DependsOn = nil
		} else {
			items[i].DependsOn = distinct(items[i].DependsOn)
		}
	}
	if len(items) == 0 {
		if open := OpenItems(prev.Todos); len(open) > 0 && !r.host {
			return nil, refuse(CodeEmptyList, open[0].ID,
				"The list is empty, but %s. Send the items that are left, or mark them cancelled first.", countOpen(open))
		}
	}
	if bad := assignIDs(prev.Todos, items); bad != nil {
		return nil, bad
	}
	for i := range items {
		carry(prev.Todos, i, &items[i], r.host)
	}
	return items, nil
}

func tooMany(r rules, n int) *RuleError {
	if n <= r.limits.Items {
		return nil
	}
	return refuse(CodeTooManyItems, "", "The list has %d items; at most %d are allowed. Join small steps into larger ones.", n, r.limits.Items)
}

// checkFields judges the fields of one item as they were sent; want says which may not be missing.
func checkFields(r rules, it writeItem, i int, want field) *RuleError {
	name := itemLabel{i, it.item.ID}
	if it.has&hasContent != 0 || want&hasContent != 0 {
		if it.item.Content == "" {
			return refuse(CodeEmptyContent, name.String(), "The content of %s is empty. Say in a few words what is to be done.", name)
		}
		if n := utf8.RuneCountInString(it.item.Content); n > r.limits.Content {
			return refuse(CodeContentTooLong, name.String(), "The content of %s has %d characters; at most %d are allowed. Shorten it.", name, n, r.limits.Content)
		}
	}
	if n := utf8.RuneCountInString(it.item.ID); n > r.limits.ID {
		return refuse(CodeIDTooLong, name.String(), "The id of %s has %d characters; at most %d are allowed. Send a short id, or none.", itemName(i), n, r.limits.ID)
	}
	if it.item.Status == "" && (it.has&hasStatus != 0 || want&hasStatus != 0) {
		if it.has&hasStatus == 0 {
			return refuse(CodeBadStatus, name.String(), "%s has no status. Send pending, in_progress, completed or cancelled.", name)
		}
		return refuse(CodeBadStatus, name.String(), "The status of %s is %q. Send pending, in_progress, completed or cancelled.", name, short(it.status))
	}
	return nil
}

// itemLabel names an item that may have no id yet.
type itemLabel struct {
	i  int
	id string
}

func (l itemLabel) String() string {
	if l.id == "" {
		return itemName(l.i)
	}
	return itemName(l.i) + " (id " + short(l.id) + ")"
}

// assignIDs gives every item without an id that of the previous item with the same content, else the next integer
// behind the greatest one in use, and refuses doubled ids (rule 2).
func assignIDs(prev, items []Item) *RuleError {
	missing := false
	for i := range items {
		if items[i].ID == "" {
			missing = true
			continue
		}
		for j := range i {
			if items[j].ID == items[i].ID {
				return refuse(CodeDuplicateID, items[i].ID, "The id \"%s\" stands at items %d and %d. Give each item an id of its own, or leave ids of new items out.",
					short(items[i].ID), j+1, i+1)
			}
		}
	}
	if !missing {
		return nil
	}
	used := make(map[string]bool, len(items))
	for i := range items {
		used[items[i].ID] = true
	}
	next := nextID(prev, items)
	for i := range items {
		if items[i].ID != "" {
			continue
		}
		for j := range prev {
			if prev[j].Content == items[i].Content && !used[prev[j].ID] {
				items[i].ID = prev[j].ID
				break
			}
		}
		for ; items[i].ID == ""; next++ {
			if id := formatID(next); !used[id] && find(prev, id) < 0 {
				items[i].ID = id
			}
		}
		used[items[i].ID] = true
	}
	return nil
}

// nextID is one more than the greatest integer id in use. Ids beyond 2^53 do not count, so it may be taken where there are such.
func nextID(lists ...[]Item) int64 {
	var most int64
	for _, items := range lists {
		for i := range items {
			if n, err := strconv.ParseInt(items[i].ID, 10, 64); err == nil && n > most && n <= 1<<53 {
				most = n
			}
		}
	}
	return most + 1
}

// carry hands an item what the list knows of it and a write does not bring: fields of the task tools, unknown keys.
func carry(prev []Item, near int, it *Item, host bool) {
	if i := findNear(prev, it.ID, near); i >= 0 {
		p := &prev[i]
		it.extra = p.extra
		if host {
			return // it has seen these fields and says what they are
		}
		def(&it.Description, p.Description)
		def(&it.ActiveForm, p.ActiveForm)
		def(&it.Owner, p.Owner)
		if it.Metadata == nil {
			it.Metadata = p.Metadata
		}
	}
}

// judge holds the rules on statuses, dependencies and what is in progress.
func judge(r rules, prev, next *state) *RuleError {
	if !r.host {
		for i := range next.Todos {
			if bad := judgeReplan(r, prev, &next.Todos[i]); bad != nil {
				return bad
			}
		}
	}
	if r.dependencies {
		if bad := judgeDependencies(next.Todos); bad != nil {
			return bad
		}
	}
	return judgeProgress(r, prev.Todos, next.Todos)
}

// judgeReplan: needs_replan is the harness's to set, and only a new approach leads out of it (section 5).
func judgeReplan(r rules, prev *state, it *Item) *RuleError {
	stuck := prev.stuck(r, it)
	if i := find(prev.Todos, it.ID); stuck && i >= 0 && prev.Todos[i].Status == it.Status && prev.Todos[i].Content == it.Content {
		return nil // as it was: done before another item of this content got stuck
	}
	switch {
	case it.Status == StatusNeedsReplan && !stuck:
		return refuse(CodeReservedStatus, it.ID, "Item %s has the status needs_replan, which only failed checks set. Send pending, in_progress, completed or cancelled.", it.ID)
	case stuck && it.Status != StatusNeedsReplan && it.Status != StatusCancelled:
		return refuse(CodeNeedsReplan, it.ID, "Item %s (\"%s\") failed its check too often as it is. Change its content to a new approach, mark it cancelled, or leave it as needs_replan.",
			it.ID, short(it.Content))
	}
	return nil
}

// judgeProgress is rule 4.
func judgeProgress(r rules, prev, items []Item) *RuleError {
	first, second, ready := -1, -1, -1
	for i := range items {
		switch {
		case items[i].Status == StatusInProgress && first < 0:
			first = i
		case items[i].Status == StatusInProgress:
			second = i
		case ready < 0 && actionable(items, i):
			ready = i
		}
	}
	switch {
	case second >= 0 && !r.exactlyOne:
		if was := find(prev, items[second].ID); was >= 0 && prev[was].Status == StatusInProgress {
			first, second = second, first
		}
		return refuse(CodeNotOneInProgress, items[second].ID, "Item %s (\"%s\") is in_progress. Finish it, or set it back to pending, before you start %s.",
			items[first].ID, short(items[first].Content), items[second].ID)
	case second >= 0:
		return refuse(CodeNotOneInProgress, items[second].ID, "Items %s and %s are both in_progress. Keep one in_progress and make the other pending.",
			items[first].ID, items[second].ID)
	case r.exactlyOne && first < 0 && ready >= 0:
		return refuse(CodeNotOneInProgress, items[ready].ID, "No item is in_progress although work is left. Mark the one you work on now, for example %s (\"%s\").",
			items[ready].ID, short(items[ready].Content))
	}
	return nil
}

// compare says what the step from prev to next does.
func compare(prev, next *state) report {
	var rep report
	var renamed []string // ids in next that stand for an item of prev
	for i := range prev.Todos {
		p := &prev.Todos[i]
		if !p.Open() || findNear(next.Todos, p.ID, i) >= 0 {
			continue
		}
		if id := renamedTo(prev.Todos, next.Todos, p.Content, renamed); id != "" {
			renamed = append(renamed, id)
			continue
		}
		rep.dropped = append(rep.dropped, *p)
	}
	same := len(prev.Todos) == len(next.Todos)
	for i := range next.Todos {
		n := &next.Todos[i]
		was := findNear(prev.Todos, n.ID, i)
		if was != i || !equalItems(&prev.Todos[was], n) {
			same = false
		}
		if was < 0 || !equalItems(&prev.Todos[was], n) {
			rep.changed = append(rep.changed, n.ID)
		}
		if was >= 0 && n.Open() && !prev.Todos[was].Open() {
			rep.reopened = append(rep.reopened, *n)
		}
		if n.Status == StatusCompleted && (was < 0 || prev.Todos[was].Status != StatusCompleted ||
			prev.Todos[was].Content != n.Content && contentKey(prev.Todos[was].Content) != contentKey(n.Content)) {
			rep.completed = append(rep.completed, n.ID)
		}
	}
	for i := range next.Todos {
		for _, id := range next.Todos[i].DependsOn {
			if next.Todos[i].Open() && cancelledNow(prev.Todos, next.Todos, id) {
				rep.stranded = append(rep.stranded, next.Todos[i])
				break
			}
		}
	}
	rep.unchanged = same
	return rep
}

// renamedTo is the new id of an item that left the list by its id and not by its content; "": it is gone.
func renamedTo(prev, next []Item, content string, taken []string) string {
	for i := range next {
		if next[i].Content == content && find(prev, next[i].ID) < 0 && !slices.Contains(taken, next[i].ID) {
			return next[i].ID
		}
	}
	return ""
}

func cancelledNow(prev, next []Item, id string) bool {
	i, was := find(next, id), find(prev, id)
	return i >= 0 && next[i].Status == StatusCancelled && (was < 0 || prev[was].Status != StatusCancelled)
}

func equalItems(a, b *Item) bool {
	return a.ID == b.ID && a.Content == b.Content && a.Status == b.Status && slices.Equal(a.DependsOn, b.DependsOn) &&
		a.Description == b.Description && a.ActiveForm == b.ActiveForm && a.Owner == b.Owner && bytes.Equal(a.Metadata, b.Metadata)
}

// distinct drops doubled and blank entries, keeping the order.
func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

func countOpen(open []Item) string {
	if len(open) == 1 {
		return "item " + open[0].ID + " is open"
	}
	ids := make([]string, 0, 5)
	for i := range open {
		if i == 5 {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, open[i].ID)
	}
	return strconv.Itoa(len(open)) + " items are open (" + strings.Join(ids, ", ") + ")"
}

// short cuts a text for a message.
func short(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-3]) + "..."
}
