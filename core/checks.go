package core

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"time"
	"unicode"
)

// CheckStatus is how a done-check came out. "failed" is a verdict on the work; "could not run" is none.
type CheckStatus string

const (
	CheckPassed CheckStatus = "passed"
	CheckFailed CheckStatus = "failed"
	CheckNotRun CheckStatus = "could not run" // a missing binary, a panic, a signal from outside, a cancelled run
	CheckTimed  CheckStatus = "timed out"     // no verdict within the deadline
)

// CheckResult is what a [Check] answers. The zero value counts as CheckNotRun.
type CheckResult struct {
	Status CheckStatus
	Output string // for the model; cut to Config.CheckOutput bytes
}

// Check decides whether the work of an item is done (docs/design.md, section 5). ctx has the deadline Config.CheckTime;
// a check that ignores it is left behind as timed out. A panic is CheckNotRun. Checks may run for several sessions at
// once; those of one write run one after another, and no lock is held meanwhile.
type Check func(ctx context.Context, item Item) CheckResult

// Checker picks the check of an item; nil: the item needs none. See [Route].
type Checker func(item Item) Check

// CheckReport is one check that ran for a write, as results and events tell it.
type CheckReport struct {
	ID       string      `json:"id"`
	Status   CheckStatus `json:"status"`
	Output   string      `json:"output,omitempty"`
	Failures int         `json:"failures,omitempty"` // failed checks of this content so far
}

// record is what the ledger keeps of one content.
type record struct {
	ID       string `json:"id"` // the id it last had
	Failures int    `json:"failures"`
	Output   string `json:"output,omitempty"`
}

// ledger keeps failures by content: neither a new id nor dropping and adding an item again makes them go away.
type ledger map[string]record

// contentKey is equal for contents that differ only in case, blanks, hyphens and the punctuation round words. What stands
// inside a word, and signs, count: "1.5" is not "15", "C++" is not "C#".
func contentKey(content string) string {
	words := strings.FieldsFunc(strings.ToLower(content), func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || r == '_' })
	kept := words[:0]
	for _, w := range words {
		if w = strings.TrimFunc(w, isPunctuation); w != "" {
			kept = append(kept, w)
		}
	}
	flat := strings.Join(kept, " ")
	if flat == "" { // nothing but punctuation: then that is the content
		flat = content
	}
	sum := fnv.New128a()
	_, _ = sum.Write([]byte(flat)) // never fails
	return hex.EncodeToString(sum.Sum(nil))
}

// isPunctuation leaves out the signs that carry meaning at the edge of a word (C#, 50%, @home, a & b, *.go).
func isPunctuation(r rune) bool { return unicode.IsPunct(r) && !strings.ContainsRune("#%@&*/\\", r) }

// stuck reports whether an item of this content has used up its failures, under whatever id.
func (s *state) stuck(r rules, it *Item) bool {
	if i := find(s.Todos, it.ID); i >= 0 && s.Todos[i].Status == StatusNeedsReplan && contentKey(s.Todos[i].Content) == contentKey(it.Content) {
		return true
	}
	return len(s.Checks) > 0 && s.Checks[contentKey(it.Content)].Failures >= r.maxFailures
}

// settle applies check outcomes to the list that a write asked for: what did not pass is open again, and what depends
// on it with it (section 5). prev is the list before the write. It is pure; outcomes without an entry passed.
func settle(r rules, prev, next *state, outcomes map[string]CheckReport) (*state, []CheckReport) {
	out := next.clone()
	var reports []CheckReport
	var held []int // open again, and not stuck
	for i := range out.Todos {
		it := &out.Todos[i]
		rep, ran := outcomes[it.ID]
		if !ran {
			continue
		}
		switch rep.Status {
		case CheckPassed:
		case CheckFailed:
			rep.Failures = out.fail(it, rep.Output)
			if rep.Failures >= r.maxFailures {
				it.Status = StatusNeedsReplan
			} else {
				held = append(held, i)
			}
		default: // no verdict: where it was
			if was := find(prev.Todos, it.ID); was >= 0 && prev.Todos[was].Status == StatusCancelled {
				it.Status = StatusCancelled
			} else {
				held = append(held, i)
			}
		}
		reports = append(reports, rep)
	}
	if len(reports) == 0 {
		return out, nil
	}
	for _, i := range held {
		out.Todos[i].Status = StatusPending
	}
	demote(out.Todos)
	if best := resume(prev.Todos, out.Todos, held); best >= 0 {
		out.Todos[best].Status = StatusInProgress
	}
	return out, reports
}

// fail counts one failure of an item's content and returns the count.
func (s *state) fail(it *Item, output string) int {
	if s.Checks == nil {
		s.Checks = ledger{}
	} else {
		s.Checks = maps.Clone(s.Checks)
	}
	key := contentKey(it.Content)
	rec := s.Checks[key]
	rec.ID, rec.Output = it.ID, output
	rec.Failures++
	s.Checks[key] = rec
	s.forgetOutputs()
	return rec.Failures
}

// forgetOutputs drops the outputs of contents that left the list: their counts stay for ever, at some 60 bytes each.
func (s *state) forgetOutputs() {
	here := make(map[string]bool, len(s.Todos))
	for i := range s.Todos {
		here[contentKey(s.Todos[i].Content)] = true
	}
	for key, rec := range s.Checks {
		if !here[key] && rec.Output != "" {
			rec.Output = ""
			s.Checks[key] = rec
		}
	}
}

// demote sends back to pending whatever is in progress or completed before what it depends on, until nothing is.
func demote(items []Item) {
	for again := true; again; {
		again = false
		for i := range items {
			if (items[i].Status == StatusInProgress || items[i].Status == StatusCompleted) && len(waitsFor(items, i)) > 0 {
				items[i].Status = StatusPending
				again = true
			}
		}
	}
}

// resume picks, where nothing is in progress, the held item that goes on: the one that was in progress, else the first.
func resume(prev, items []Item, held []int) int {
	best := -1
	for i := range items {
		if items[i].Status == StatusInProgress {
			return -1
		}
	}
	for _, i := range held {
		if items[i].Status != StatusPending || !actionable(items, i) {
			continue
		}
		if was := find(prev, items[i].ID); was >= 0 && prev[was].Status == StatusInProgress {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	return best
}

// runChecks runs the checks of the items that would become completed, in an order in which dependencies come first.
// An item that depends on one that did not pass is not checked: it goes back to pending anyway.
func (c *Config) runChecks(ctx context.Context, items []Item, ids []string) map[string]CheckReport {
	out := map[string]CheckReport{}
	if c.Checks == nil {
		return out
	}
	failed := map[string]bool{}
	todo := ids
	for len(todo) > 0 {
		var later []string
		for _, id := range todo {
			it := items[find(items, id)]
			state := 0 // 0: ready; 1: wait for another check; 2: a dependency did not pass
			for _, dep := range it.DependsOn {
				if failed[dep] {
					state = 2
					break
				}
				for _, other := range todo {
					if other == dep {
						state = 1
					}
				}
			}
			switch state {
			case 1:
				later = append(later, id)
			case 2:
				failed[id] = true
			default:
				if check := c.pick(it); check != nil {
					rep := c.runCheck(ctx, check, it)
					out[id] = rep
					failed[id] = rep.Status != CheckPassed
				}
			}
		}
		if len(later) == len(todo) {
			break // a circle: the rules have refused it before
		}
		todo = later
	}
	return out
}

// pick asks for the check of an item. A Checker that panics gives one that could not run.
func (c *Config) pick(it Item) (check Check) {
	defer func() {
		if p := recover(); p != nil {
			check = func(context.Context, Item) CheckResult {
				return CheckResult{Status: CheckNotRun, Output: fmt.Sprintf("the choice of the check panicked: %v", p)}
			}
		}
	}()
	return c.Checks(it)
}

// runCheck runs one check, bounded in time and safe from its panics.
func (c *Config) runCheck(ctx context.Context, check Check, it Item) CheckReport {
	cctx, cancel := context.WithTimeout(ctx, c.CheckTime)
	defer cancel()
	got := make(chan CheckResult, 1)
	go func() {
		var res CheckResult
		defer func() {
			if p := recover(); p != nil {
				res = CheckResult{Status: CheckNotRun, Output: fmt.Sprintf("the check panicked: %v", p)}
			}
			got <- res
		}()
		res = check(cctx, it)
	}()
	var res CheckResult
	select {
	case res = <-got:
	case <-cctx.Done():
		// A check that heeds ctx answers now and may have output to show.
		select {
		case res = <-got:
		case <-time.After(100 * time.Millisecond):
			res = CheckResult{Status: CheckTimed}
		}
	}
	switch {
	case res.Status == CheckPassed && cctx.Err() == nil, res.Status == CheckFailed && cctx.Err() == nil, res.Status == CheckTimed:
	case ctx.Err() != nil:
		res.Status = CheckNotRun
	case cctx.Err() != nil:
		res.Status = CheckTimed
	default:
		res.Status = CheckNotRun
	}
	if res.Status == CheckTimed && res.Output == "" {
		res.Output = fmt.Sprintf("no verdict within %v", c.CheckTime)
	}
	return CheckReport{ID: it.ID, Status: res.Status, Output: cut(res.Output, c.CheckOutput)}
}

// cut keeps the beginning and the end of a text that is longer than most bytes, as valid UTF-8.
func cut(s string, most int) string {
	if len(s) > most {
		const gap = "\n[...]\n"
		if most <= len(gap)+8 {
			s = s[:most]
		} else {
			head := (most - len(gap)) / 4
			s = s[:head] + gap + s[len(s)-(most-len(gap)-head):]
		}
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
