package core

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
)

// MemoryStore keeps documents in the process. It is the default store and the reference for all others
// (docs/design.md, section 8); nothing in it survives the process and nothing expires.
// The zero value is not usable, see [NewMemoryStore]. Safe for concurrent use.
type MemoryStore struct {
	mu   sync.Mutex
	docs map[string]memoryDoc
	subs map[string]map[*memorySub]struct{}
	seq  uint64 // over all sessions, so that no version repeats, not even after Delete
}

type memoryDoc struct {
	doc []byte
	v   Version
}

// NewMemoryStore returns an empty store.
func NewMemoryStore() *MemoryStore {
	return &MemoryStore{docs: map[string]memoryDoc{}, subs: map[string]map[*memorySub]struct{}{}}
}

// Load implements [Store].
func (s *MemoryStore) Load(ctx context.Context, session string) ([]byte, Version, error) {
	if err := memoryCheck(ctx, "load", session); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs[session]
	return bytes.Clone(d.doc), d.v, nil
}

// Save implements [Store]. A conflict is a [*ConflictError].
func (s *MemoryStore) Save(ctx context.Context, session string, doc []byte, base Version) (Version, error) {
	if err := memoryCheck(ctx, "save", session); err != nil {
		return "", err
	}
	if doc == nil {
		doc = []byte{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.docs[session]
	if d.v != base {
		return "", fmt.Errorf("core: save %q: %w", session, &ConflictError{Doc: bytes.Clone(d.doc), Version: d.v})
	}
	s.seq++
	v := Version(strconv.FormatUint(s.seq, 36))
	s.docs[session] = memoryDoc{bytes.Clone(doc), v}
	s.notify(session, Change{Version: v, Token: string(v)})
	return v, nil
}

// Delete implements [Store].
func (s *MemoryStore) Delete(ctx context.Context, session string) error {
	if err := memoryCheck(ctx, "delete", session); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.docs[session]; ok {
		delete(s.docs, session)
		s.notify(session, Change{})
	}
	return nil
}

// Watch implements [Watcher]. A token continues only at the version that is stored now; with an older one
// the first change is a snapshot, since the store keeps no history.
func (s *MemoryStore) Watch(ctx context.Context, session, token string) (<-chan Change, error) {
	if err := memoryCheck(ctx, "watch", session); err != nil {
		return nil, err
	}
	sub := &memorySub{wake: make(chan struct{}, 1)}
	out := make(chan Change)
	s.mu.Lock()
	if d := s.docs[session]; token == "" || token != string(d.v) {
		sub.queue = append(sub.queue, Change{Version: d.v, Token: string(d.v), Snapshot: true, Doc: bytes.Clone(d.doc)})
		sub.wake <- struct{}{}
	}
	if s.subs[session] == nil {
		s.subs[session] = map[*memorySub]struct{}{}
	}
	s.subs[session][sub] = struct{}{}
	s.mu.Unlock()

	go func() {
		defer close(out)
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if delete(s.subs[session], sub); len(s.subs[session]) == 0 {
				delete(s.subs, session)
			}
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case <-sub.wake:
			}
			s.mu.Lock()
			todo := sub.queue
			sub.queue = nil
			s.mu.Unlock()
			for _, c := range todo {
				select {
				case out <- c:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

// memoryBacklog is how many changes one slow consumer may be behind before it gets a snapshot instead.
const memoryBacklog = 1024

type memorySub struct {
	queue []Change // guarded by the store's mutex
	wake  chan struct{}
}

// notify is called with the mutex held.
func (s *MemoryStore) notify(session string, c Change) {
	for sub := range s.subs[session] {
		if len(sub.queue) >= memoryBacklog {
			d := s.docs[session]
			sub.queue = []Change{{Version: d.v, Token: string(d.v), Snapshot: true, Doc: bytes.Clone(d.doc)}}
		} else {
			sub.queue = append(sub.queue, c)
		}
		select {
		case sub.wake <- struct{}{}:
		default:
		}
	}
}

func memoryCheck(ctx context.Context, verb, session string) error {
	if session == "" {
		return fmt.Errorf("core: %s: %w", verb, ErrNoSession)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("core: %s %q: %w", verb, session, err)
	}
	return nil
}
