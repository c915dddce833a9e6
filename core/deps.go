package core

import "strings"

// actionable reports whether work on items[i] can go on now: it is in progress, or pending with all that it depends on
// completed (rule 4).
func actionable(items []Item, i int) bool {
	return items[i].Status == StatusInProgress || items[i].Status == StatusPending && len(waitsFor(items, i)) == 0
}

// waitsFor returns the ids that items[i] depends on and that are not completed. A cancelled one counts as not completed.
func waitsFor(items []Item, i int) []string {
	var out []string
	for _, id := range items[i].DependsOn {
		if j := find(items, id); j < 0 || items[j].Status != StatusCompleted {
			out = append(out, id)
		}
	}
	return out
}

// nextActionable is the first actionable item, the one in progress before all others; nil if there is none. It is none whose chain
// holds an item that needs replanning: the rules let nothing start or complete on top of one, but a stored list may be from elsewhere.
func nextActionable(items []Item) *Item {
	best := -1
	for i := range items {
		if !actionable(items, i) || len(items[i].DependsOn) > 0 && onStuck(items, i) {
			continue
		}
		if items[i].Status == StatusInProgress {
			return &items[i]
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return &items[best]
}

// onStuck reports whether the chain of what items[i] depends on holds an item that needs replanning.
func onStuck(items []Item, i int) bool {
	seen := make([]bool, len(items))
	for todo := []int{i}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, id := range items[at].DependsOn {
			j := find(items, id)
			switch {
			case j < 0 || seen[j]:
			case items[j].Status == StatusNeedsReplan:
				return true
			default:
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	return false
}

// judgeDependencies is rule 8: known ids, no cycle, nothing started or done before what it depends on.
func judgeDependencies(items []Item) *RuleError {
	for i := range items {
		for _, id := range items[i].DependsOn {
			if find(items, id) < 0 {
				return refuse(CodeUnknownDependency, items[i].ID, "Item %s depends on \"%s\", which is not in the list. Add that item or take the id out of depends_on.",
					items[i].ID, short(id))
			}
		}
	}
	if path := cycle(items); path != nil {
		return refuse(CodeDependencyCycle, path[0], "The dependencies go round in a circle: %s. Take one of them out.", strings.Join(path, " -> "))
	}
	for i := range items {
		if items[i].Status != StatusInProgress && items[i].Status != StatusCompleted {
			continue
		}
		if w := waitsFor(items, i); len(w) > 0 {
			return refuse(CodeBlocked, items[i].ID, "Item %s is %s but depends on %s, which is not completed. Work on that first, or change depends_on.",
				items[i].ID, items[i].Status, strings.Join(w, ", "))
		}
	}
	return nil
}

// cycle returns a path of ids whose last is its first, or nil. Each item is visited once, without recursion.
func cycle(items []Item) []string {
	const (
		fresh = iota
		onPath
		done
	)
	mark := make([]int, len(items))
	index := make(map[string]int, len(items))
	for i := range items {
		index[items[i].ID] = i
	}
	type step struct{ item, dep int }
	for start := range items {
		if mark[start] != fresh {
			continue
		}
		path := []step{{start, 0}}
		mark[start] = onPath
		for len(path) > 0 {
			top := &path[len(path)-1]
			deps := items[top.item].DependsOn
			if top.dep == len(deps) {
				mark[top.item] = done
				path = path[:len(path)-1]
				continue
			}
			j := index[deps[top.dep]]
			top.dep++
			switch mark[j] {
			case fresh:
				mark[j] = onPath
				path = append(path, step{j, 0})
			case onPath:
				var ids []string
				for k := range path {
					if path[k].item == j || ids != nil {
						ids = append(ids, items[path[k].item].ID)
					}
				}
				return append(ids, items[j].ID)
			}
		}
	}
	return nil
}
