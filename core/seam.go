package core

// The values that cross the seams between an adapter and the rules (docs/design.md, section 1). They are plain
// and framework-neutral: an adapter fills them from its framework's messages and acts on what comes back.

// Call is one tool call of a response.
type Call struct {
	ID   string `json:"id,omitempty"` // the framework's call id; some providers leave it empty
	Name string `json:"name"`
	Args string `json:"args,omitempty"` // as the model wrote them, byte for byte
}

// Prompt says what the adapter knows of the request that is about to be made.
type Prompt struct {
	// Boundary is the input boundary: an opaque token that is equal exactly as long as no new input came
	// (section 7). A new run, a user message within a run and a resume after an interrupt each give a new one.
	// "" means that the adapter cannot prove that there was no new input: a wait is then invalid.
	Boundary string
	// LastTool is the tool call whose result is the request's last message; zero if the last message is another.
	LastTool Call
}

// Response is one response of the model.
type Response struct {
	Text      string
	Calls     []Call
	Truncated bool // the provider cut the response off by length
	Unparsed  bool // a call was made that the framework could not read; the framework deals with it
	LastTurn  bool // no further model call is possible in this run: a correction would lose the answer
	// Boundary, if not "", is the input boundary now; "" is: as at the last BeforeModel.
	Boundary string
}

// Action is what an adapter does with a response.
type Action int

const (
	Accept  Action = iota // go on as the framework would
	Correct               // call the model once more, with Verdict.Message behind the answer
)

// Verdict is the answer of [Run.AfterModel].
type Verdict struct {
	Action  Action
	Message string // Correct: the text for the model. Mark the message by metadata, it is not to be recognised by its text
}

// Outcome tells [Run.Finish] how the run ended.
type Outcome struct {
	// Answer is the model's last text. "" if there is none, and also when the call that a correction asked for failed:
	// then the held answer alone is delivered.
	Answer string
	Reason EndReason // "": EndAnswered, or what Err says: EndCancelled for a context's error, else EndFailed
	Err    error     // the error that ended the run; nil if none did
}

// RunOptions tells core what an adapter's framework does with answers.
type RunOptions struct {
	// Delivered: answers reach the user as they are made, so a held answer was seen already and the correction says so.
	Delivered bool
	// CorrectionInTail: the framework has no place for a user message; BeforeModel then returns the correction, with the
	// held answer quoted, as part of its text.
	CorrectionInTail bool
}

// RunState is what one run remembers between two seams, as plain data. An adapter keeps it where its framework
// keeps values of a run (and a checkpoint saves it) and hands it to [Planner.Resume] when it has lost the [Run]. The
// fields are core's business: adapters read ID and nothing else.
type RunState struct {
	ID      string     `json:"id"`
	Session string     `json:"session"`
	Options RunOptions `json:"options"`

	Started  bool   `json:"started,omitempty"`  // BeforeModel has run
	Boundary string `json:"boundary,omitempty"` // as last told
	HasShown bool   `json:"has_shown,omitempty"`
	Shown    int64  `json:"shown,omitempty"`     // the revision that the model was last shown, if HasShown
	ShownSum uint64 `json:"shown_sum,omitempty"` // of that list; 0: not known
	Detached bool   `json:"detached,omitempty"`
	Ended    bool   `json:"ended,omitempty"`
	Answer   string `json:"answer,omitempty"`  // what was delivered, once ended
	Waiting  bool   `json:"waiting,omitempty"` // the last answer ends the run on background work

	Wrote     bool   `json:"wrote,omitempty"`      // a write was accepted in this run
	Writes    int    `json:"writes,omitempty"`     // whole-list writes in the current response
	FullID    string `json:"full_id,omitempty"`    // the call whose result held the whole list of revision FullRev
	FullRev   int64  `json:"full_rev,omitempty"`   //
	Stale     int    `json:"stale,omitempty"`      // turns without a write
	RemindDue bool   `json:"remind_due,omitempty"` // the next request carries a reminder

	Corrections int      `json:"corrections,omitempty"` // made so far
	Holding     bool     `json:"holding,omitempty"`     // Held is a held answer
	Held        string   `json:"held,omitempty"`
	Correction  string   `json:"correction,omitempty"`   // the text that the model was last corrected by
	TodoSince   bool     `json:"todo_since,omitempty"`   // a todo tool ran since the correction
	OtherSince  bool     `json:"other_since,omitempty"`  // another tool ran since
	ClosedSince []string `json:"closed_since,omitempty"` // ids of those of OpenThen that are closed now, or were when they left the list
	OpenThen    []string `json:"open_then,omitempty"`    // ids of the items that were open at the correction
	Blocked     bool     `json:"blocked,omitempty"`      // an explanation was asked for
	Explained   bool     `json:"explained,omitempty"`    // and given
	Suppressed  bool     `json:"suppressed,omitempty"`   // the guard is silent until the next accepted write
	Superseded  []string `json:"superseded,omitempty"`   // answers that gave way to a later one

	Batch   []Call       `json:"batch,omitempty"`   // task calls of the current response, in its order
	Results []CallResult `json:"results,omitempty"` // of those that were applied
}

// CallResult is the result text of one task call.
type CallResult struct {
	Text  string `json:"text"`
	Taken bool   `json:"taken,omitempty"` // its call has come
}
