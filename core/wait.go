package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// WaitStatus is the host's word on background tasks (docs/design.md, section 7).
type WaitStatus string

const (
	WaitValid     WaitStatus = "valid"     // the tasks are the session's and still run
	WaitCancelled WaitStatus = "cancelled" // the user stopped them; with a reason it ends the run as well
	WaitInvalid   WaitStatus = "invalid"   // anything else
)

// WaitValidation is what a [ValidateWait] answers.
type WaitValidation struct {
	Status WaitStatus // anything but the three above counts as WaitInvalid
	Reason string
	// Evidence is the host's own proof, any JSON value; nil: none. It is stored with the binding and handed back
	// byte for byte. A value that is no JSON, or is longer than Config.WaitEvidence, is an ErrConfig.
	Evidence json.RawMessage
}

// WaitInfo is the context that a wait is validated in.
type WaitInfo struct {
	Session  string
	RunID    string
	Boundary string // the input boundary
	Revision int64  // of the list, after the write that declares the wait
	Todos    []Item // the list, after the write that declares the wait
	Final    bool   // true: the model has answered and the run would end on this wait
}

// ValidateWait is the host's: may this run end while these background tasks run? taskIDs are trimmed, distinct and
// not empty. prior is nil when the model declares the wait, and the stored binding when the run would end on it. ctx has
// the deadline Config.WaitTime. An error, a panic and a time-out count as invalid; a cancelled run stays cancelled.
// It is called without any lock held and may be called from several runs at once.
type ValidateWait func(ctx context.Context, taskIDs []string, info WaitInfo, prior *WaitBinding) (WaitValidation, error)

// WaitBinding is an accepted declaration. It binds the tasks to the list, the run and the input boundary.
type WaitBinding struct {
	Tasks    []string        `json:"tasks"`
	Revision int64           `json:"revision"`
	RunID    string          `json:"run_id"`
	Boundary string          `json:"boundary"`
	Evidence json.RawMessage `json:"-"` // as the validator gave it
}

type storedBinding struct {
	*plainBinding
	Evidence string `json:"evidence,omitempty"` // the JSON text as a string: so not a byte of it changes
}

type plainBinding WaitBinding

// MarshalJSON implements json.Marshaler.
func (b WaitBinding) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedBinding{(*plainBinding)(&b), string(b.Evidence)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *WaitBinding) UnmarshalJSON(data []byte) error {
	s := storedBinding{plainBinding: (*plainBinding)(b)}
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	b.Evidence = nil
	if s.Evidence != "" {
		b.Evidence = json.RawMessage(s.Evidence)
	}
	return nil
}

// WaitOutcome is how the last wait stood when the run ended on it.
type WaitOutcome struct {
	Status WaitStatus `json:"status"`
	Reason string     `json:"reason"`
}

// bound reports whether a binding still holds for this run, list and boundary.
func (b *WaitBinding) bound(rs *RunState, revision int64) bool {
	return b != nil && b.RunID == rs.ID && b.Revision == revision && b.Boundary != "" && b.Boundary == rs.Boundary
}

// cleanTasks trims the ids of a declaration and refuses blank and doubled ones.
func cleanTasks(ids []string) ([]string, *RuleError) {
	out := make([]string, 0, len(ids))
	for i, id := range ids {
		id = strings.TrimSpace(id)
		switch {
		case id == "":
			return nil, refuse(CodeWaitInvalid, "", "wait_for_tasks[%d] is blank. Send the ids of the background tasks, or leave wait_for_tasks out.", i)
		case slices.Contains(out, id):
			return nil, refuse(CodeWaitInvalid, "", "wait_for_tasks names \"%s\" twice. Send each id once.", id)
		}
		out = append(out, id)
	}
	return out, nil
}

// validateWait asks the host, bounded in time and safe from its panics. err is a done ctx or an ErrConfig; whatever else
// goes wrong is a WaitInvalid with a reason.
func (c *Config) validateWait(ctx context.Context, ids []string, info WaitInfo, prior *WaitBinding) (WaitValidation, error) {
	vctx, cancel := context.WithTimeout(ctx, c.WaitTime)
	defer cancel()
	type answer struct {
		v   WaitValidation
		err error
	}
	got := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a = answer{err: fmt.Errorf("the validator panicked: %v", p)}
			}
			got <- a
		}()
		a.v, a.err = c.ValidateWait(vctx, slices.Clone(ids), info, prior)
	}()
	var a answer
	select {
	case a = <-got:
	case <-vctx.Done():
		a.err = fmt.Errorf("the validator gave no answer within %v", c.WaitTime)
	}
	if err := ctx.Err(); err != nil {
		return WaitValidation{}, fmt.Errorf("core: validate wait: %w", err)
	}
	if a.err != nil {
		return WaitValidation{Status: WaitInvalid, Reason: oneLine(a.err.Error())}, nil
	}
	if n := len(a.v.Evidence); n > c.WaitEvidence {
		return WaitValidation{}, fmt.Errorf("core: ValidateWait: Evidence has %d bytes, want at most %d: %w", n, c.WaitEvidence, ErrConfig)
	}
	if a.v.Evidence != nil && !(json.Valid(a.v.Evidence) && utf8.Valid(a.v.Evidence)) {
		return WaitValidation{}, fmt.Errorf("core: ValidateWait: Evidence is %.40q, want JSON: %w", a.v.Evidence, ErrConfig)
	}
	a.v.Evidence = slices.Clone(a.v.Evidence) // the host may use its bytes again
	if a.v.Status != WaitValid && a.v.Status != WaitCancelled {
		a.v.Status = WaitInvalid
	}
	return a.v, nil
}
