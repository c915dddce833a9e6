package core

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// DefaultToolName is what the tool is called unless Config.ToolName says otherwise.
const DefaultToolName = "write_todos"

// Arm says which lists the finalization guard looks at (docs/design.md, section 6).
type Arm string

const (
	ArmAlways     Arm = "always"      // any list, also one restored from an earlier run; the default
	ArmAfterWrite Arm = "after_write" // only a list written in this run
)

// Exhausted says what happens when the model answers again while items are open and no correction is left.
type Exhausted string

const (
	Proceed Exhausted = "proceed" // the run ends as the model leaves it; the default
	Explain Exhausted = "explain" // the model is asked once for a plain-text explanation, which is the answer
)

// Updates says how write_todos changes the list (docs/design.md, section 10).
type Updates string

const (
	Replace Updates = "replace" // the whole list replaces the whole list; the default
	Merge   Updates = "merge"   // items are updated by id, new ones appended; "merge": false replaces
)

// Tools says which tools the model gets (docs/design.md, section 10).
type Tools string

const (
	ToolsWrite Tools = "write" // write_todos; the default
	ToolsTasks Tools = "tasks" // TaskCreate, TaskGet, TaskUpdate and TaskList
)

// Results says what an accepted write returns (docs/design.md, section 3).
type Results string

const (
	ResultsFull  Results = "full"  // the list, the summary and what was noteworthy; the default
	ResultsBrief Results = "brief" // the same without the list, and with the next item
)

// Reminder sets when a stale list is mentioned. Both numbers count model turns that called other tools only.
type Reminder struct {
	After int // turns until the first reminder; 0: never
	Every int // turns between further reminders; 0: no further one
}

// Limits bounds what the model can store. 0 in a field means its default.
type Limits struct {
	Items   int // items in a list; 100
	Content int // characters of an item's content; 1,000
	ID      int // characters of an id; 80
}

// Config configures a [Planner]. The zero value is a working default: write_todos on a new [MemoryStore],
// no checks, no dependencies, no waits. A Config is read once, by [New].
type Config struct {
	Store    Store  // nil: a new MemoryStore
	ToolName string // "": DefaultToolName; ignored with ToolsTasks
	Limits   Limits

	Updates Updates // "": Replace
	Tools   Tools   // "": ToolsWrite
	Results Results // "": ResultsFull

	KeepOpenItems bool // refuse a list that loses an open item (rule 7)
	Dependencies  bool // depends_on in schema and rules (rule 8)

	Reminder    *Reminder // nil: after 5, every 5
	Arm         Arm       // "": ArmAlways
	OnExhausted Exhausted // "": Proceed
	NoGuard     bool      // no finalization guard at all; WithGuard switches it per run

	Checks      Checker       // done-checks; nil: an item is done when the model says so (section 5)
	MaxFailures int           // failed checks until an item needs replanning; 0: 2
	CheckTime   time.Duration // deadline of one check; 0: 2 minutes
	CheckOutput int           // bytes of check output that are kept and shown; 0: 2,000

	ValidateWait ValidateWait  // nil: waiting is not offered (section 7)
	WaitTime     time.Duration // deadline of one validation; 0: 10 seconds
	WaitEvidence int           // bytes of evidence at most; 0: 16 KiB

	// OnStoreError may let a run go on without the list when the store fails: it returns nil for that, or the error
	// that ends the run. It is not asked about a cancelled ctx. nil: the run ends with the error (section 8).
	OnStoreError func(ctx context.Context, err error) error
	// OnEvent gets every event, in order, on the goroutine that caused it; it should return quickly.
	// More observers: [Planner.Observe]. nil: none.
	OnEvent func(ctx context.Context, e Event)

	Texts *Texts           // nil: DefaultTexts; a field left "" keeps its default
	Now   func() time.Time // nil: time.Now
	NewID func() string    // makes run ids; nil: random, 96 bits
}

func (c Config) withDefaults() Config {
	if c.Store == nil {
		c.Store = NewMemoryStore()
	}
	def(&c.ToolName, DefaultToolName)
	def(&c.Limits.Items, 100)
	def(&c.Limits.Content, 1000)
	def(&c.Limits.ID, 80)
	def(&c.Updates, Replace)
	def(&c.Tools, ToolsWrite)
	def(&c.Results, ResultsFull)
	if c.Reminder == nil {
		c.Reminder = &Reminder{After: 5, Every: 5}
	}
	reminder := *c.Reminder // the caller's may change
	c.Reminder = &reminder
	def(&c.Arm, ArmAlways)
	def(&c.OnExhausted, Proceed)
	def(&c.MaxFailures, 2)
	def(&c.CheckTime, 2*time.Minute)
	def(&c.CheckOutput, 2000)
	def(&c.WaitTime, 10*time.Second)
	def(&c.WaitEvidence, 16<<10)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	nonNegative := func(field string, n int64) {
		if n < 0 {
			errs = append(errs, fmt.Errorf("core: Config.%s is %d, want 0 (the default) or more", field, n))
		}
	}
	nonNegative("Limits.Items", int64(c.Limits.Items))
	nonNegative("Limits.Content", int64(c.Limits.Content))
	nonNegative("Limits.ID", int64(c.Limits.ID))
	nonNegative("Reminder.After", int64(c.Reminder.After))
	nonNegative("Reminder.Every", int64(c.Reminder.Every))
	nonNegative("MaxFailures", int64(c.MaxFailures))
	nonNegative("CheckTime", int64(c.CheckTime))
	nonNegative("CheckOutput", int64(c.CheckOutput))
	nonNegative("WaitTime", int64(c.WaitTime))
	nonNegative("WaitEvidence", int64(c.WaitEvidence))
	oneOf(&errs, "Updates", c.Updates, Replace, Merge)
	oneOf(&errs, "Tools", c.Tools, ToolsWrite, ToolsTasks)
	oneOf(&errs, "Results", c.Results, ResultsFull, ResultsBrief)
	oneOf(&errs, "Arm", c.Arm, ArmAlways, ArmAfterWrite)
	oneOf(&errs, "OnExhausted", c.OnExhausted, Proceed, Explain)
	if !plainToolName(c.ToolName) {
		errs = append(errs, fmt.Errorf("core: Config.ToolName is %q, want 1 to 64 of a-z A-Z 0-9 _ -", c.ToolName))
	}
	return errors.Join(errs...)
}

func plainToolName(s string) bool {
	for _, r := range s {
		if !(r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 64
}

func def[T comparable](p *T, d T) {
	var zero T
	if *p == zero {
		*p = d
	}
}

func oneOf[T ~string](errs *[]error, field string, got T, want ...T) {
	for _, w := range want {
		if got == w {
			return
		}
	}
	*errs = append(*errs, fmt.Errorf("core: Config.%s is %q, want one of %q", field, got, want))
}

func randomID() string {
	var b [12]byte // no secret: it only has to differ from every other
	binary.LittleEndian.PutUint64(b[:], rand.Uint64())
	binary.LittleEndian.PutUint32(b[8:], rand.Uint32())
	return base64.RawURLEncoding.EncodeToString(b[:])
}
