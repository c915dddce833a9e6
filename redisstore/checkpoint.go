package redisstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// CheckPointStore keeps the checkpoints of interrupted agent runs under <prefix>:cp:{<id>}, so that a run and its
// list both survive a restart. It has the methods of Eino's CheckPointStore and CheckPointDeleter (packages adk and
// compose) and needs neither. Unlike [Store] it does not compare: the last Set wins, as those interfaces want it.
// Make one with [NewCheckPointStore] or [Store.CheckPoints]. Safe for concurrent use.
//
// Errors are found by errors.Is as for [Store]; a Set or Delete without an answer is core.ErrUnknown. An empty id
// is core.ErrNoSession.
type CheckPointStore struct {
	client redis.UniversalClient
	prefix string
	ttl    time.Duration
}

// CheckPointOptions are the settings of [NewCheckPointStore]. Nil and the zero value are usable.
type CheckPointOptions struct {
	// Prefix starts every key. "": [DefaultPrefix]. Braces are refused.
	Prefix string
	// TTL is how long a checkpoint lives after Set, at least a millisecond. 0: for ever.
	TTL time.Duration
}

// NewCheckPointStore returns a store on client, which stays the caller's. It sends nothing. An error names the
// field, the value got and the value wanted.
func NewCheckPointStore(client redis.UniversalClient, o *CheckPointOptions) (*CheckPointStore, error) {
	if o == nil {
		o = &CheckPointOptions{}
	}
	s, err := New(client, &Options{Prefix: o.Prefix, TTL: o.TTL})
	if err != nil {
		return nil, err
	}
	return s.CheckPoints(), nil
}

// CheckPoints returns a store for checkpoints with the client, the prefix and the TTL of s. The tenant does not
// enter its keys: ids of checkpoints are the host's own. It is usable until s is closed.
func (s *Store) CheckPoints() *CheckPointStore {
	return &CheckPointStore{client: s.client, prefix: s.opt.Prefix, ttl: s.opt.TTL}
}

// Get returns the checkpoint and true, or false where there is none.
func (c *CheckPointStore) Get(ctx context.Context, id string) ([]byte, bool, error) {
	var value []byte
	err := c.call(ctx, "get", id, core.ErrUnavailable, func(key string) (err error) {
		value, err = c.client.Get(ctx, key).Bytes()
		return err
	})
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return value, true, nil
}

// Set stores the checkpoint for the full TTL, whatever was there.
func (c *CheckPointStore) Set(ctx context.Context, id string, checkPoint []byte) error {
	return c.call(ctx, "set", id, core.ErrUnknown, func(key string) error {
		return c.client.Set(ctx, key, checkPoint, c.ttl).Err()
	})
}

// Delete removes the checkpoint. Missing: nil.
func (c *CheckPointStore) Delete(ctx context.Context, id string) error {
	return c.call(ctx, "delete", id, core.ErrUnknown, func(key string) error {
		return c.client.Del(ctx, key).Err()
	})
}

func (c *CheckPointStore) call(ctx context.Context, verb, id string, lost error, f func(key string) error) error {
	verb += " checkpoint"
	if id == "" {
		return fmt.Errorf("redisstore: %s: the id is empty: %w", verb, core.ErrNoSession)
	}
	err := f(checkPointKey(c.prefix, id))
	if err == nil || errors.Is(err, redis.Nil) {
		return err
	}
	return failed(ctx, verb, id, classify(err, lost))
}
