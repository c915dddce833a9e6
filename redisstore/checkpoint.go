package redisstore

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// CheckPointStore keeps the checkpoints of interrupted agent runs under <prefix>:cp:{<id>}, so that a run and its
// list both survive a restart. It has the methods of Eino's CheckPointStore and CheckPointDeleter (packages adk and
// compose) and needs neither. Unlike [Store] it does not compare: the last Set wins, as those interfaces want it.
// Make one with [NewCheckPointStore] or [Store.CheckPoints]. Safe for concurrent use.
//
// Errors are found by errors.Is as for [Store]. A call without an answer is repeated until its time is up; a Set or
// Delete is then core.ErrUnknown, a Get core.ErrUnavailable. An empty id is core.ErrNoSession.
type CheckPointStore struct{ store *Store }

// CheckPointOptions are the settings of [NewCheckPointStore]. Nil and the zero value are usable.
type CheckPointOptions struct {
	// Prefix starts every key. "": [DefaultPrefix]. Braces are refused.
	Prefix string
	// TTL is how long a checkpoint lives after Set, at least a millisecond. 0: for ever.
	TTL time.Duration
	// Timeout bounds how long a call rides out an outage, or the context's deadline if that is sooner.
	// 0: [DefaultTimeout].
	Timeout time.Duration
}

// NewCheckPointStore returns a store on client, which stays the caller's. It sends nothing. An error names the
// field, the value got and the value wanted.
func NewCheckPointStore(client redis.UniversalClient, o *CheckPointOptions) (*CheckPointStore, error) {
	if o == nil {
		o = &CheckPointOptions{}
	}
	s, err := New(client, &Options{Prefix: o.Prefix, TTL: o.TTL, Timeout: o.Timeout})
	if err != nil {
		return nil, err
	}
	return s.CheckPoints(), nil
}

// CheckPoints returns a store for checkpoints with the client, the prefix and the TTL of s. The tenant does not
// enter its keys: ids of checkpoints are the host's own. It is usable until s is closed.
func (s *Store) CheckPoints() *CheckPointStore {
	return &CheckPointStore{store: s}
}

// Get returns the checkpoint and true, or false where there is none.
func (c *CheckPointStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	value, err := checkPointCall(ctx, c.store, "get", id, core.ErrUnavailable, func(ctx context.Context, key string) ([]byte, error) {
		value, err := c.store.client.Get(ctx, key).Bytes()
		if err == nil && value == nil {
			value = []byte{}
		}
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		return value, err
	})
	return value, value != nil, err
}

// Set stores the checkpoint for the full TTL, whatever was there.
func (c *CheckPointStore) Set(ctx context.Context, id string, checkPoint []byte) error {
	checkPoint = bytes.Clone(checkPoint) // an attempt that is left behind may still send it
	_, err := checkPointCall(ctx, c.store, "set", id, core.ErrUnknown, func(ctx context.Context, key string) (string, error) {
		return c.store.client.Set(ctx, key, checkPoint, c.store.opt.TTL).Result()
	})
	return err
}

// Delete removes the checkpoint. Missing: nil.
func (c *CheckPointStore) Delete(ctx context.Context, id string) error {
	_, err := checkPointCall(ctx, c.store, "delete", id, core.ErrUnknown, func(ctx context.Context, key string) (int64, error) {
		return c.store.client.Del(ctx, key).Result()
	})
	return err
}

func checkPointCall[T any](ctx context.Context, s *Store, verb, id string, lost error, f func(ctx context.Context, key string) (T, error)) (T, error) {
	verb += " checkpoint"
	var none T
	if err := admit(ctx, verb, id); err != nil {
		return none, err
	}
	key := checkPointKey(s.opt.Prefix, id)
	v, fail := attempts(s.begin(ctx, lost, false), func(ctx context.Context) (T, error) { return f(ctx, key) })
	if fail != nil {
		return none, failed(ctx, verb, id, fail)
	}
	return v, nil
}
