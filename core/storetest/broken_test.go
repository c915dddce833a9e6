package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/todoguard/todoguard/core"
)

// broken is a sound store in memory whose parts can be replaced by defective ones.
type broken struct {
	mu   sync.Mutex
	docs map[string]entry
	past map[string][]core.Version // all versions a session ever had
	seq  int

	load           func(*broken, string) ([]byte, core.Version, error)
	save           func(*broken, string, []byte, core.Version) (core.Version, error)
	id             func(string) string
	defaultSession string
	noContext      bool
	aliasIn        bool
	aliasOut       bool
	aliasConflict  bool
}

type entry struct {
	doc     []byte
	v       core.Version
	deleted bool
	saves   int
}

func wrap(defect func(*broken)) func(*clock) core.Store {
	return func(*clock) core.Store { return newBroken(defect) }
}

func newBroken(defect func(*broken)) *broken {
	s := &broken{docs: map[string]entry{}, past: map[string][]core.Version{}, load: soundLoad, save: soundSave, id: strings.Clone}
	defect(s)
	return s
}

func (s *broken) check(ctx context.Context, id *string) error {
	if *id == "" {
		*id = s.defaultSession
	}
	if *id == "" {
		return core.ErrNoSession
	}
	*id = s.id(*id)
	if s.noContext {
		return nil
	}
	return ctx.Err()
}

func (s *broken) Load(ctx context.Context, id string) ([]byte, core.Version, error) {
	if err := s.check(ctx, &id); err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.load(s, id)
}

func (s *broken) Save(ctx context.Context, id string, doc []byte, base core.Version) (core.Version, error) {
	if err := s.check(ctx, &id); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.save(s, id, doc, base)
}

func (s *broken) Delete(ctx context.Context, id string) error {
	if err := s.check(ctx, &id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.docs[id]; ok {
		s.docs[id] = entry{v: "", deleted: true, saves: e.saves}
	}
	return nil
}

func soundLoad(s *broken, id string) ([]byte, core.Version, error) {
	e := s.docs[id]
	if e.v == "" {
		return nil, "", nil
	}
	if s.aliasOut {
		return e.doc, e.v, nil
	}
	return bytes.Clone(e.doc), e.v, nil
}

func soundSave(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if e := s.docs[id]; e.v != base {
		ce := &core.ConflictError{Doc: bytes.Clone(e.doc), Version: e.v}
		if s.aliasConflict {
			ce.Doc = e.doc
		}
		return "", ce
	}
	return s.put(id, doc), nil
}

// put stores without a question.
func (s *broken) put(id string, doc []byte) core.Version {
	s.seq++
	v := core.Version(fmt.Sprintf("v%d", s.seq))
	return s.putAs(id, doc, v)
}

func (s *broken) putAs(id string, doc []byte, v core.Version) core.Version {
	if !s.aliasIn {
		doc = bytes.Clone(doc)
	}
	if doc == nil {
		doc = []byte{}
	}
	s.docs[id] = entry{doc: doc, v: v, deleted: s.docs[id].deleted, saves: s.docs[id].saves + 1}
	s.past[id] = append(s.past[id], v)
	return v
}

// The defects.

func loadMissingIsError(s *broken, id string) ([]byte, core.Version, error) {
	if e, ok := s.docs[id]; !ok && !strings.Contains(id, "-gone-") && !strings.Contains(id, "-nothing-") {
		return nil, e.v, errors.New("not found")
	}
	return soundLoad(s, id)
}

func saveLosesFirstUpdate(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if e := s.docs[id]; e.v == base && e.saves == 1 && string(doc) == "two" && string(e.doc) == "one" && strings.Contains(id, "round trip") {
		return s.putAs(id, e.doc, base+"'"), nil // acknowledged, the old bytes kept
	}
	return soundSave(s, id, doc, base)
}

func saveKeepsVersionOfSameBytes(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if e := s.docs[id]; e.v == base && base != "" && bytes.Equal(e.doc, doc) {
		return base, nil
	}
	return soundSave(s, id, doc, base)
}

func saveCreateOverwrites(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if base == "" && string(doc) == "two" {
		return s.put(id, doc), nil
	}
	return soundSave(s, id, doc, base)
}

func saveTakesOldVersions(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	past := s.past[id]
	for i, v := range past {
		if v == base && i < len(past)-8 {
			return s.put(id, doc), nil
		}
	}
	return soundSave(s, id, doc, base)
}

func saveTrimsVersion(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	return soundSave(s, id, doc, core.Version(strings.TrimSpace(string(base))))
}

func saveConflictShowsSent(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	v, err := soundSave(s, id, doc, base)
	var ce *core.ConflictError
	if errors.As(err, &ce) && ce.Doc != nil {
		ce.Doc = bytes.Clone(doc)
	}
	return v, err
}

func saveRevives(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if e := s.docs[id]; e.deleted && e.v == "" && base != "" && string(doc) == "two" {
		return s.put(id, doc), nil
	}
	return soundSave(s, id, doc, base)
}

func saveForgivesAfterDelete(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	if e := s.docs[id]; e.deleted && e.v != "" && len(s.past[id]) > 0 && base == s.past[id][0] {
		return s.put(id, doc), nil
	}
	return soundSave(s, id, doc, base)
}

func saveInTwoSteps(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	current := s.docs[id].v == base
	s.mu.Unlock()
	for range 100 {
		runtime.Gosched()
	}
	s.mu.Lock()
	if current {
		return s.put(id, doc), nil
	}
	return soundSave(s, id, doc, base)
}

func saveTrimsBlanks(s *broken, id string, doc []byte, base core.Version) (core.Version, error) {
	return soundSave(s, id, bytes.TrimRight(doc, "\x00"), base)
}

// clock is what Harness.Advance moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }
func (c *clock) time() time.Time         { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

// ttlStore lets the sessions of a sound store expire after an hour.
type ttlStore struct {
	*broken
	clock       *clock
	mu          sync.Mutex
	ends        map[string]time.Time
	expired     map[string]bool
	revive      bool
	firstOnly   bool
	renewFailed bool
}

func expiring(defect func(*ttlStore)) func(*clock) core.Store {
	return func(c *clock) core.Store {
		s := &ttlStore{broken: newBroken(func(*broken) {}), clock: c, ends: map[string]time.Time{}, expired: map[string]bool{}}
		defect(s)
		return s
	}
}

func (s *ttlStore) expire(id string) {
	s.mu.Lock()
	end, ok := s.ends[id]
	late := ok && !s.clock.time().Before(end)
	if late {
		delete(s.ends, id)
		s.expired[id] = true
	}
	s.mu.Unlock()
	if late {
		_ = s.broken.Delete(context.Background(), id)
	}
}

func (s *ttlStore) Load(ctx context.Context, id string) ([]byte, core.Version, error) {
	s.expire(id)
	return s.broken.Load(ctx, id)
}

func (s *ttlStore) Save(ctx context.Context, id string, doc []byte, base core.Version) (core.Version, error) {
	s.expire(id)
	v, err := s.broken.Save(ctx, id, doc, base)
	if err != nil && s.revive && base == "v1" && s.expired[id] {
		v, err = s.broken.put(id, doc), nil
	}
	if err != nil && !s.renewFailed {
		return v, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, has := s.ends[id]; !has || !s.firstOnly {
		s.ends[id] = s.clock.time().Add(time.Hour)
	}
	return v, err
}
