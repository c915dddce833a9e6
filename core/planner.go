package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Planner keeps the lists of many sessions under one configuration. It holds no list itself: they are in the store.
// Safe for concurrent use. Make one with [New].
type Planner struct {
	cfg       Config
	texts     Texts
	store     Store
	observers observers
	locks     sessionLocks
}

// New makes a Planner. An error names each field of cfg that is wrong, the value got and the value wanted.
func New(cfg Config) (*Planner, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := &Planner{cfg: cfg, texts: cfg.Texts.withDefaults(), store: cfg.Store}
	if f := p.texts.braced(); f != "" {
		return nil, fmt.Errorf("core: Config.Texts.%s holds a brace, want none: both frameworks treat it as a template", f)
	}
	if cfg.OnEvent != nil {
		p.observers.add(cfg.OnEvent)
	}
	return p, nil
}

// Config returns the configuration with its defaults filled in. Texts are as they were given, see [DefaultTexts]; Reminder is a copy.
func (p *Planner) Config() Config {
	cfg, reminder := p.cfg, *p.cfg.Reminder
	cfg.Reminder = &reminder
	return cfg
}

// Observe registers fn for every event from now on. Events come one at a time and in order, on the goroutine that caused
// one of them; fn should return quickly and may call the Planner. stop unregisters it.
func (p *Planner) Observe(fn func(ctx context.Context, e Event)) (stop func()) {
	return p.observers.add(fn)
}

// Notify hands an event to the observers, behind all earlier ones. It is for adapters that learn from their framework's
// callbacks what the seams do not tell; core's own events need no Notify. A zero Time is set to now.
func (p *Planner) Notify(ctx context.Context, e Event) {
	p.emit(ctx, e)
	p.observers.drain()
}

func (p *Planner) emit(ctx context.Context, e Event) {
	if e.Time.IsZero() {
		e.Time = p.cfg.Now()
	}
	p.observers.enqueue(ctx, e)
}

func (p *Planner) rules(exactlyOne bool) rules {
	return rules{
		limits: p.cfg.Limits, keepOpen: p.cfg.KeepOpenItems, dependencies: p.cfg.Dependencies,
		maxFailures: p.cfg.MaxFailures, exactlyOne: exactlyOne,
	}
}

// load reads and decodes a session's state.
func (p *Planner) load(ctx context.Context, session string) (*state, Version, error) {
	if session == "" {
		return nil, "", fmt.Errorf("core: load: %w", ErrNoSession)
	}
	doc, v, err := p.store.Load(ctx, session)
	if err != nil {
		return nil, "", fmt.Errorf("core: load %q: %w", session, err)
	}
	st, err := decodeState(doc)
	if err != nil {
		return nil, "", fmt.Errorf("core: load %q: %w", session, err)
	}
	return st, v, nil
}

// saved is what save brings back.
type saved struct {
	st       *state // what is stored now
	v        Version
	conflict bool // another writer was first: st is theirs, nothing was stored
}

// save stores next over base and, if that changed the list, queues the event, both under the session's lock so that
// events come in the order of the revisions. A conflict is no error: the current state comes back instead.
func (p *Planner) save(ctx context.Context, session string, next *state, base Version, e *Event) (saved, error) {
	doc, err := next.encode()
	if err != nil {
		return saved{}, fmt.Errorf("core: encode %q: %w", session, err)
	}
	v, err := p.saveAndTell(ctx, session, doc, base, e)
	if err == nil {
		return saved{st: next, v: v}, nil
	}
	if !errors.Is(err, ErrConflict) {
		return saved{}, fmt.Errorf("core: save %q: %w", session, err)
	}
	var c *ConflictError
	if !errors.As(err, &c) {
		st, v, err := p.load(ctx, session)
		return saved{st: st, v: v, conflict: true}, err
	}
	st, err := decodeState(c.Doc)
	if err != nil {
		return saved{}, fmt.Errorf("core: save %q: %w", session, err)
	}
	return saved{st: st, v: c.Version, conflict: true}, nil
}

func (p *Planner) saveAndTell(ctx context.Context, session string, doc []byte, base Version, e *Event) (Version, error) {
	defer p.locks.lock(session)() // also where the store panics
	v, err := p.store.Save(ctx, session, doc, base)
	if err == nil && e != nil {
		p.emit(ctx, *e)
	}
	return v, err
}

// sessionLocks is one mutex a session, kept only while somebody holds or wants it.
type sessionLocks struct {
	mu sync.Mutex
	m  map[string]*sessionLock
}

type sessionLock struct {
	mu    sync.Mutex
	users int
}

func (l *sessionLocks) lock(session string) (unlock func()) {
	l.mu.Lock()
	if l.m == nil {
		l.m = map[string]*sessionLock{}
	}
	s := l.m[session]
	if s == nil {
		s = &sessionLock{}
		l.m[session] = s
	}
	s.users++
	l.mu.Unlock()
	s.mu.Lock()
	return func() {
		s.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(l.m, session)
		}
	}
}
