package storytest

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/todoguard/todoguard/core"
)

func formatArchive(a *txtar.Archive) []byte { return txtar.Format(a) }

// compare holds the whole story against what happened.
func (p *play) compare(ctx context.Context) {
	e := &p.story.Expect
	p.rec.Stored = p.list(ctx)
	for _, ev := range p.events {
		switch ev.Kind {
		case core.EventCorrected:
			p.rec.Corrections = append(p.rec.Corrections, ev.Text)
			if !p.wasSent(ev.Text) {
				p.problem("a correction was made but no request holds it: %s", ev.Text)
			}
		case core.EventRunEnded:
			p.rec.Ends = append(p.rec.Ends, ev)
		}
	}
	if reminded := p.count(core.EventReminded); reminded != len(p.rec.Reminded) {
		p.problem("%d reminder events, but %d requests carried a reminder", reminded, len(p.rec.Reminded))
	}
	count := func(what string, got int, want *int) {
		if want != nil && got != *want {
			p.problem("%s: %d, want %d", what, got, *want)
		}
	}
	count("model_calls", len(p.rec.Requests), e.ModelCalls)
	count("corrections", len(p.rec.Corrections), e.Corrections)
	count("reminders", len(p.rec.Reminded), e.Reminders)
	if e.RemindedBefore != nil && !slices.Equal(e.RemindedBefore, p.rec.Reminded) {
		p.problem("reminded_before: %v, want %v", p.rec.Reminded, e.RemindedBefore)
	}
	if !p.mode.ownResults() {
		p.compareResults(e)
	}
	for id, want := range e.StoredAfter {
		if p.mode == ModeTasks {
			break // one call changes one item: what lies between two states is the mode's own
		}
		if got, ok := p.after[id]; !ok || got != strings.TrimSpace(want) {
			p.problem("stored_after %s:\n%s\nwant:\n%s", id, got, want)
		}
	}
	p.compareTails(e)
	p.compareState(ctx, e)
	for _, name := range e.CorrectionNames {
		if !strings.Contains(strings.Join(p.rec.Corrections, "\n"), p.mode.rename(name)) {
			p.problem("correction_names: no correction holds %q: %q", name, p.rec.Corrections)
		}
	}
	for id, want := range e.CheckRuns {
		if got := p.checkRuns[id]; got != want {
			p.problem("check_runs of %s: %d, want %d", id, got, want)
		}
	}
	if e.End != nil && e.End.Open != nil {
		if n := len(p.rec.Ends); n == 0 || len(p.rec.Ends[n-1].Open) != *e.End.Open {
			p.problem("end: %+v, want %d open items", p.rec.Ends, *e.End.Open)
		}
	}
	if p.story.Stored != nil && p.rec.Stored != *p.story.Stored {
		p.problem("stored:\n%s\nwant:\n%s", p.rec.Stored, *p.story.Stored)
	}
	p.compareSeen()
}

func (p *play) wasSent(text string) bool {
	for _, req := range p.rec.Requests {
		for _, m := range req {
			if strings.Contains(m.Text, text) {
				return true
			}
		}
	}
	return false
}

func (p *play) compareResults(e *expectation) {
	for id, want := range e.Results {
		text, ok := p.rec.Results[id]
		if !ok {
			p.problem("results: the call %s has no result", id)
		} else if got := p.code(id, text); got != want {
			p.problem("results: %s is %q, want %q: %s", id, got, want, text)
		}
	}
	for id, texts := range e.ResultContains {
		for _, want := range texts {
			if !strings.Contains(p.rec.Results[id], want) {
				p.problem("result_contains: %s does not hold %q: %s", id, want, p.rec.Results[id])
			}
		}
	}
}

// code is Code for a call of the todo tool; other tools may say what they like and are "ok".
func (p *play) code(id, text string) string {
	for _, run := range p.story.Runs {
		for _, r := range run.Replies {
			for _, c := range r.Calls {
				if c.ID == id && c.Name != core.DefaultToolName {
					return "ok"
				}
			}
		}
	}
	return Code(text)
}

// Code reads a tool result: the code of a refusal, else "ok". What follows the JSON (the tail block) does not matter.
func Code(result string) string {
	var r struct {
		Error *struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.NewDecoder(strings.NewReader(result)).Decode(&r) == nil && r.Error != nil {
		return r.Error.Code
	}
	return "ok"
}

func (p *play) compareTails(e *expectation) {
	tail := func(key string) string {
		n, err := strconv.Atoi(key)
		if err != nil || n < 1 || n > len(p.rec.Requests) {
			p.problem("request %q: there were %d", key, len(p.rec.Requests))
			return ""
		}
		return tailBlock(p.rec.Requests[n-1])
	}
	for key, texts := range e.Shown {
		block := tail(key)
		for _, want := range texts {
			if !strings.Contains(block, want) {
				p.problem("shown: the tail of request %s does not hold %q: %q", key, want, block)
			}
		}
	}
	for key, texts := range e.Hidden {
		block := tail(key)
		for _, no := range texts {
			if strings.Contains(block, no) {
				p.problem("hidden: the tail of request %s holds %q: %q", key, no, block)
			}
		}
	}
	for key, most := range e.TailLinesMax {
		if block := tail(key); block != "" && strings.Count(block, "\n")+1 > most {
			p.problem("tail_lines_max: the tail of request %s has more than %d lines: %q", key, most, block)
		}
	}
}

func (p *play) compareState(ctx context.Context, e *expectation) {
	doc := p.doc(ctx)
	for key, want := range e.State {
		var w, g any
		if err := json.Unmarshal(want, &w); err != nil {
			p.problem("state: %s: %v", key, err)
		}
		if raw, ok := doc[key]; ok {
			if err := json.Unmarshal(raw, &g); err != nil {
				p.problem("state: %s: %v", key, err)
			}
		}
		if !reflect.DeepEqual(w, g) && !(g == nil && isZero(w)) {
			p.problem("state: %s is %s, want %s", key, doc[key], want)
		}
	}
	if e.Revisions == nil || p.mode.ownResults() {
		return
	}
	var rev int64
	if raw, ok := doc["revision"]; ok {
		if err := json.Unmarshal(raw, &rev); err != nil {
			p.problem("revision: %v", err)
		}
	}
	if rev != *e.Revisions {
		p.problem("revisions: %d, want %d", rev, *e.Revisions)
	}
}

// isZero: a key that is not in the document stands for null, false, 0 and "".
func isZero(v any) bool { return v == nil || v == false || v == 0.0 || v == "" }

func (p *play) compareSeen() {
	if p.story.Seen == nil || !p.surface.Golden || p.mode != ModeReplace {
		return
	}
	seen := p.seen()
	if seen == *p.story.Seen {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := p.golden(seen); err != nil {
			p.problem("UPDATE_GOLDEN: %v", err)
		}
		return
	}
	p.problem("seen:\n%s\nwant:\n%s", seen, *p.story.Seen)
}
