package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/todoguard/todoguard/core"
)

// watchStore is a sound store with a sound watcher that keeps all history, and switches for its defects.
type watchStore struct {
	*broken
	mu      sync.Mutex
	changed *sync.Cond
	log     []logged
	readers int
	behind  int // changes that no reader has taken yet

	emptyIsNone, swapLate, noDeletes, resumeAtEnd, trustToken, allSessions, blockSaves, neverClose, anySession bool
}

type logged struct {
	id string
	c  core.Change
}

func watching(defect func(*watchStore)) func(*clock) core.Store {
	return func(*clock) core.Store {
		w := &watchStore{broken: newBroken(func(*broken) {})}
		w.changed = sync.NewCond(&w.mu)
		defect(w)
		return w
	}
}

func (w *watchStore) Save(ctx context.Context, id string, doc []byte, base core.Version) (core.Version, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.blockSaves && w.readers > 0 && w.behind > 64 {
		w.changed.Wait()
	}
	v, err := w.broken.Save(ctx, id, doc, base)
	if err == nil {
		w.add(id, core.Change{Version: v})
	}
	return v, err
}

func (w *watchStore) Delete(ctx context.Context, id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, had, _ := w.broken.Load(ctx, id)
	err := w.broken.Delete(ctx, id)
	if err == nil && had != "" && !w.noDeletes {
		w.add(id, core.Change{})
	}
	return err
}

// add is called with the mutex held.
func (w *watchStore) add(id string, c core.Change) {
	c.Token = strconv.Itoa(len(w.log)) + "@" + id
	w.log = append(w.log, logged{id, c})
	if n := len(w.log); w.swapLate && n > 20 && n%2 == 0 && w.log[n-2].id == id {
		w.log[n-2].c.Version, w.log[n-1].c.Version = w.log[n-1].c.Version, w.log[n-2].c.Version
	}
	if w.readers > 0 {
		w.behind++
	}
	w.changed.Broadcast()
}

func (w *watchStore) Watch(ctx context.Context, id, token string) (<-chan core.Change, error) {
	if id == "" && !w.anySession {
		return nil, core.ErrNoSession
	}
	w.mu.Lock()
	at := -1
	for i, l := range w.log {
		if l.id == id && l.c.Token == token {
			at = i + 1
		}
	}
	var first []core.Change
	switch {
	case at >= 0 && w.resumeAtEnd:
		at = len(w.log)
	case at < 0 && token != "" && w.trustToken:
		at = len(w.log)
	case at < 0:
		doc, v, _ := w.broken.Load(context.Background(), id)
		c := core.Change{Version: v, Snapshot: true, Doc: doc}
		if w.emptyIsNone && len(doc) == 0 {
			c.Doc = nil
		}
		for _, l := range w.log {
			if l.id == id {
				c.Token = l.c.Token
			}
		}
		first, at = []core.Change{c}, len(w.log)
	}
	w.readers++
	w.mu.Unlock()

	out := make(chan core.Change)
	stop := context.AfterFunc(ctx, func() { w.mu.Lock(); defer w.mu.Unlock(); w.changed.Broadcast() })
	go func() {
		defer stop()
		if !w.neverClose {
			defer close(out)
		}
		defer func() { w.mu.Lock(); defer w.mu.Unlock(); w.readers--; w.behind = 0; w.changed.Broadcast() }()
		for {
			for _, c := range first {
				select {
				case out <- c:
				case <-ctx.Done():
					return
				}
			}
			w.mu.Lock()
			for at == len(w.log) && ctx.Err() == nil {
				w.changed.Wait()
			}
			if ctx.Err() != nil {
				w.mu.Unlock()
				return
			}
			first = nil
			for ; at < len(w.log); at++ {
				if l := w.log[at]; l.id == id || w.allSessions {
					first = append(first, l.c)
				}
			}
			w.mu.Unlock()
			if w.blockSaves { // take one by one, and let saves wait for it
				for _, c := range first {
					select {
					case out <- c:
						w.mu.Lock()
						w.behind--
						w.changed.Broadcast()
						w.mu.Unlock()
					case <-ctx.Done():
						return
					case <-time.After(2 * time.Second):
						fmt.Println("storetest: a broken watcher gave up waiting for its reader")
						return
					}
				}
				first = nil
			}
		}
	}()
	return out, nil
}
