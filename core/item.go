package core

import "encoding/json"

// Status is where an item stands (docs/design.md, section 2).
type Status string

// The five statuses. The model sets all but StatusNeedsReplan, which only the harness sets, after failed checks.
const (
	StatusPending     Status = "pending"
	StatusInProgress  Status = "in_progress"
	StatusNeedsReplan Status = "needs_replan"
	StatusCompleted   Status = "completed"
	StatusCancelled   Status = "cancelled"
)

// Statuses lists every status, in the order of the table of docs/design.md, section 2.
func Statuses() []Status {
	return []Status{StatusPending, StatusInProgress, StatusNeedsReplan, StatusCompleted, StatusCancelled}
}

// Open reports whether an item of this status still wants work. Unknown statuses are not open.
func (s Status) Open() bool {
	return s == StatusPending || s == StatusInProgress || s == StatusNeedsReplan
}

// Item is one line of the list. The order of the items is their priority.
type Item struct {
	ID        string   `json:"id"`                   // unique in the list, never changes
	Content   string   `json:"content"`              // one line, valid UTF-8, not empty
	Status    Status   `json:"status"`               // never empty in a stored list
	DependsOn []string `json:"depends_on,omitempty"` // ids of items of the same list; nil: none

	// Fields of the task tools (docs/design.md, section 10); empty elsewhere.
	Description string          `json:"description,omitempty"`
	ActiveForm  string          `json:"activeForm,omitempty"`
	Owner       string          `json:"owner,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"` // a JSON object; nil: none

	// What the harness keeps beside the item, from the check ledger; never taken from the model.
	Failures   int    `json:"-"` // failed done-checks of this content so far
	LastOutput string `json:"-"` // output of the last failed check, cut to the limit; "": none

	extra map[string]json.RawMessage // keys of the stored item that this version does not know
}

// Open reports whether the item still wants work.
func (it Item) Open() bool { return it.Status.Open() }

// Summary counts a list by status.
type Summary struct {
	Total       int `json:"total"`
	Pending     int `json:"pending"`
	InProgress  int `json:"in_progress"`
	Completed   int `json:"completed"`
	Cancelled   int `json:"cancelled"`
	NeedsReplan int `json:"needs_replan"`
}

// Open is the number of open items.
func (s Summary) Open() int { return s.Pending + s.InProgress + s.NeedsReplan }

// Summarize counts items by status. nil gives the zero Summary.
func Summarize(items []Item) Summary {
	s := Summary{Total: len(items)}
	for i := range items {
		switch items[i].Status {
		case StatusPending:
			s.Pending++
		case StatusInProgress:
			s.InProgress++
		case StatusCompleted:
			s.Completed++
		case StatusCancelled:
			s.Cancelled++
		case StatusNeedsReplan:
			s.NeedsReplan++
		}
	}
	return s
}

// OpenItems returns the open items, the one in progress first, the rest in list order. nil if there are none.
func OpenItems(items []Item) []Item {
	var out []Item
	for _, it := range items {
		if it.Status == StatusInProgress {
			out = append(out, it)
		}
	}
	for _, it := range items {
		if it.Open() && it.Status != StatusInProgress {
			out = append(out, it)
		}
	}
	return out
}

// cloneItems copies a list deeply enough that neither side sees later changes of the other.
func cloneItems(items []Item) []Item {
	if items == nil {
		return nil
	}
	out := make([]Item, len(items))
	copy(out, items)
	for i := range out {
		if out[i].DependsOn != nil {
			out[i].DependsOn = append([]string(nil), out[i].DependsOn...)
		}
	}
	return out
}

// find returns the index of the item with this id, or -1.
func find(items []Item, id string) int {
	for i := range items {
		if items[i].ID == id {
			return i
		}
	}
	return -1
}

// findNear is find with a guess of where the item stands.
func findNear(items []Item, id string, near int) int {
	if near < len(items) && items[near].ID == id {
		return near
	}
	return find(items, id)
}
