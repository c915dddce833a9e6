package core

import (
	"slices"
	"strings"
)

// mergeByID updates the list by id and appends what is new (docs/design.md, section 10). An item leaves the list only
// where room is needed: then the oldest closed items that nothing depends on go.
func mergeByID(r rules, prev *state, w write) ([]Item, *RuleError) {
	items := cloneItems(prev.Todos)
	touched := map[string]bool{}
	for i := range w.items {
		in := &w.items[i]
		at := target(items, in, touched)
		if at < 0 && in.has&hasContent == 0 {
			return nil, refuse(CodeUnknownItem, in.item.ID, "There is no item with the id \"%s\"; the ids are %s. Send a known id, or content and status for a new item.",
				short(in.item.ID), knownIDs(items))
		}
		want := field(0)
		if at < 0 {
			want = hasContent | hasStatus
		}
		if bad := checkFields(r, *in, i, want); bad != nil {
			return nil, bad
		}
		if at < 0 {
			it := in.item
			if it.ID == "" {
				it.ID = newID(items, w.items)
			}
			if !r.dependencies {
				it.DependsOn = nil
			}
			items = append(items, it)
			at = len(items) - 1
		} else {
			update(r, &items[at], in)
		}
		if touched[items[at].ID] {
			return nil, refuse(CodeDuplicateID, items[at].ID, "The id \"%s\" stands twice in this call. Send each item once.", short(items[at].ID))
		}
		touched[items[at].ID] = true
		items[at].DependsOn = distinct(items[at].DependsOn)
	}
	items = makeRoom(items, r.limits.Items, touched)
	return items, tooMany(r, len(items))
}

// newID is the next integer behind every id in the list and in the write.
func newID(items []Item, writes []writeItem) string {
	sent := make([]Item, len(writes))
	for i := range writes {
		sent[i].ID = writes[i].item.ID
	}
	for next := nextID(items, sent); ; next++ {
		if id := formatID(next); find(items, id) < 0 && find(sent, id) < 0 {
			return id
		}
	}
}

// target is the place of the item that is meant: by its id, or without one by the same content; -1 for a new one.
func target(items []Item, in *writeItem, touched map[string]bool) int {
	if in.has&hasID != 0 {
		return find(items, in.item.ID)
	}
	if in.fresh {
		return -1
	}
	return slices.IndexFunc(items, func(it Item) bool { return it.Content == in.item.Content && !touched[it.ID] })
}

// update sets the fields that were sent.
func update(r rules, it *Item, in *writeItem) {
	if in.has&hasContent != 0 {
		if it.Status == StatusNeedsReplan && in.has&hasStatus == 0 && contentKey(it.Content) != contentKey(in.item.Content) {
			it.Status = StatusPending // new content is the way out
		}
		it.Content = in.item.Content
	}
	if in.has&hasStatus != 0 {
		it.Status = in.item.Status
	}
	if in.has&hasDeps != 0 && r.dependencies {
		it.DependsOn = in.item.DependsOn
	}
	if in.has&hasExtras != 0 {
		it.Description, it.ActiveForm, it.Owner, it.Metadata = in.item.Description, in.item.ActiveForm, in.item.Owner, in.item.Metadata
	}
}

// makeRoom lets the oldest closed items go while the list is too long, but none that this write touched: an item that it
// closes would be gone unseen, and without its done-check.
func makeRoom(items []Item, most int, touched map[string]bool) []Item {
	for i := 0; len(items) > most && i < len(items); {
		if items[i].Open() || touched[items[i].ID] || slices.ContainsFunc(items, func(it Item) bool { return slices.Contains(it.DependsOn, items[i].ID) }) {
			i++
			continue
		}
		items = slices.Delete(items, i, i+1)
	}
	return items
}

func knownIDs(items []Item) string {
	if len(items) == 0 {
		return "none"
	}
	ids := make([]string, 0, 12)
	for i := range items {
		if i == 12 {
			ids = append(ids, "...")
			break
		}
		ids = append(ids, short(items[i].ID))
	}
	return strings.Join(ids, ", ")
}
