package core

import (
	"errors"
	"fmt"
)

// Code names the rule that a write broke (docs/design.md, section 3). Codes are API: models and hosts branch on them.
type Code string

// Every code that a refusal can carry.
const (
	CodeMalformed         Code = "malformed"
	CodeEmptyContent      Code = "empty_content"
	CodeContentTooLong    Code = "content_too_long"
	CodeIDTooLong         Code = "id_too_long"
	CodeTooManyItems      Code = "too_many_items"
	CodeBadStatus         Code = "bad_status"
	CodeDuplicateID       Code = "duplicate_id"
	CodeNotOneInProgress  Code = "not_one_in_progress"
	CodeEmptyList         Code = "empty_list"
	CodeParallelWrite     Code = "parallel_write"
	CodeNeedsReplan       Code = "needs_replan"
	CodeReservedStatus    Code = "reserved_status"
	CodeUnknownDependency Code = "unknown_dependency"
	CodeDependencyCycle   Code = "dependency_cycle"
	CodeBlocked           Code = "blocked"
	CodeOpenItemsDropped  Code = "open_items_dropped"
	CodeStaleWrite        Code = "stale_write"
	CodeWaitNotConfigured Code = "wait_not_configured"
	CodeWaitInvalid       Code = "wait_invalid"
	CodeUnknownItem       Code = "unknown_item" // an update by id names an item that is not there (section 10)
	CodeNotSaved          Code = "not_saved"    // the store failed and OnStoreError let the run go on (section 8)
)

// ErrRule is what every [RuleError] is: errors.Is(err, ErrRule).
var ErrRule = errors.New("todoguard: the write breaks a rule")

// ErrConfig: a callback of the host gave something that its contract rules out.
var ErrConfig = errors.New("todoguard: misconfigured")

// ErrEnded: the run is over; a tool call that comes after its end does nothing.
var ErrEnded = errors.New("todoguard: the run has ended")

// RuleError says which rule a write broke. To the model it is a tool result; the host's own edits return it as an error.
type RuleError struct {
	Code   Code
	Item   string // id of the item, or its place ("item 2") where it has none; "" if the rule is about the whole list
	Advice string // what is wrong and what to send instead, in a sentence or two
}

// Error implements error.
func (e *RuleError) Error() string {
	return fmt.Sprintf("todoguard: %s: %s", e.Code, e.Advice)
}

// Is makes errors.Is(err, ErrRule) true.
func (e *RuleError) Is(target error) bool { return target == ErrRule }

func refuse(code Code, item, format string, args ...any) *RuleError {
	return &RuleError{Code: code, Item: item, Advice: fmt.Sprintf(format, args...)}
}
