package core

import (
	"context"
	"errors"
	"fmt"
)

// Version is an opaque token of one stored document. "" is: not stored.
// It changes with every save; it says nothing about order and is compared only for equality.
type Version string

// Store keeps one opaque document a session (docs/design.md, section 8).
//
// A store has no opinion on the bytes. It copies what it is given and hands out copies: a caller may change
// a document after Save and after Load. The session id is used as it is and is never empty.
// All methods are safe for concurrent use, return the context's error (wrapped) once the context is done,
// and wrap what they return so that errors.Is finds the sentinels below.
type Store interface {
	// Load returns the document and its version. Missing: nil, "", nil.
	Load(ctx context.Context, session string) (doc []byte, v Version, err error)
	// Save stores doc if the stored version is base ("": nothing is stored) and returns the new version,
	// else ErrConflict with nothing changed. A retry after an unknown outcome is the store's business and
	// never counts as a conflict with itself.
	Save(ctx context.Context, session string, doc []byte, base Version) (Version, error)
	// Delete removes the document. Missing: nil. A version from before a Delete never matches again.
	Delete(ctx context.Context, session string) error
}

// Watcher is the optional ability of a Store to report saves as they happen, also those of other processes.
type Watcher interface {
	// Watch reports the changes of one session until ctx is done, then closes the channel.
	// With an empty token the first Change is a snapshot of what is stored now (Doc nil: nothing is stored);
	// with the Token of an earlier Change it continues behind that change. Changes come in the order of the saves,
	// each once. Where the sequence cannot be proven complete, a snapshot takes the place of what was missed.
	// A consumer that stops reading delays no Save. Errors that end the watch before ctx is done arrive as
	// a last Change with Err.
	Watch(ctx context.Context, session, token string) (<-chan Change, error)
}

// Change is one save, as a Watcher reports it.
type Change struct {
	Version  Version // what the save produced; "" after a Delete
	Token    string  // resume token; "" where the watcher cannot resume
	Snapshot bool    // Doc is the current document; saves before it may have been skipped
	Doc      []byte  // set in a snapshot only; other changes are followed by a Load where the document is wanted
	Err      error   // the watch ended by this error; no other field is set
}

// What a Store's errors mean. Test with errors.Is.
var (
	// ErrConflict: the stored version is not base. Nothing was changed. See [ConflictError].
	ErrConflict = errors.New("todoguard: the stored version is another one")
	// ErrCorrupt: what is stored cannot be read (foreign type, bad header, bad or newer document). It is never overwritten.
	ErrCorrupt = errors.New("todoguard: the stored state cannot be read")
	// ErrUnavailable: the store cannot serve now; nothing was changed. Try again later.
	ErrUnavailable = errors.New("todoguard: the store is unavailable")
	// ErrUnknown: the outcome of a save is not known: it may or may not have been stored.
	ErrUnknown = errors.New("todoguard: the outcome of the save is unknown")
	// ErrDenied: the store refuses this client (credentials, permissions). Nothing was changed.
	ErrDenied = errors.New("todoguard: the store denies access")
	// ErrFull: the store has no room. Nothing was changed.
	ErrFull = errors.New("todoguard: the store is full")
	// ErrNoSession: the session id is missing or empty. There is no shared default.
	ErrNoSession = errors.New("todoguard: no session id")
)

// ConflictError is an ErrConflict that carries what is stored, so that the loser of a race needs no extra Load.
// A Store may return it in place of the bare ErrConflict.
type ConflictError struct {
	Doc     []byte  // the stored document; nil: nothing is stored
	Version Version // its version; "": nothing is stored
}

// Error implements error.
func (e *ConflictError) Error() string { return fmt.Sprintf("%v (%q)", ErrConflict, e.Version) }

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
