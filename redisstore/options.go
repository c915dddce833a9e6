package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Defaults of [Options], used where a field is zero.
const (
	DefaultPrefix    = "todo"
	DefaultTimeout   = 5 * time.Second
	DefaultFeedLen   = 128
	DefaultFeedBlock = 5 * time.Second
)

// Options say where and how a [Store] keeps its documents. The zero value is usable, nil is the same.
// Once given to [New] it may be changed without effect on the store.
type Options struct {
	// Prefix starts every key. "": [DefaultPrefix]. Braces are refused: they would move the hash slot.
	Prefix string
	// Tenant separates the sessions of one customer from those of all others; it stands in every key, so an ACL can
	// hold the separation. "" is a tenant like any other.
	Tenant string
	// TTL is how long a session lives after its last save, in whole milliseconds. A load that finds less than
	// half of it left renews it. 0: for ever.
	TTL time.Duration
	// Timeout bounds how long a call rides out an outage. A Load or Delete ends after Timeout or at the context's
	// deadline, whichever is first. A Save whose outcome is unknown is repeated until the context's deadline, and
	// for Timeout where the context has none. 0: [DefaultTimeout].
	Timeout time.Duration

	// Feed makes each save and delete an entry in a stream beside the session. [Store.Watch] needs it.
	Feed bool
	// FeedLen is about how many entries the stream of one session keeps; Redis trims in steps of 100.
	// 0: [DefaultFeedLen].
	FeedLen int
	// FeedBlock is how long a follower waits in one XREAD before it compares what it knows with what is stored.
	// At most 5 s. 0: [DefaultFeedBlock].
	FeedBlock time.Duration
	// FeedClient serves the followers, which hold one connection each: on the client of the savers they would
	// starve them. Nil: the store opens a second client with the settings of the first when Watch is first called,
	// and [Store.Close] closes it. A client of an unknown type cannot be copied and serves both.
	FeedClient redis.UniversalClient

	// NoScripts saves by WATCH, MULTI and EXEC in three round trips instead of by a script in one. The store
	// switches to that by itself when the server denies scripts.
	NoScripts bool
	// AllowRing accepts a *redis.Ring. A ring moves keys when a shard fails: a list can fork, one half on the shard
	// that failed and one on its stand-in, and the half that was saved last is lost when the shard is back.
	AllowRing bool
}

// withDefaults returns a copy of o with every zero field set.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.FeedLen == 0 {
		c.FeedLen = DefaultFeedLen
	}
	if c.FeedBlock == 0 {
		c.FeedBlock = DefaultFeedBlock
	}
	return c
}

// validate names the first field that cannot be used, the value got and the value wanted.
func (o *Options) validate() error {
	switch {
	case strings.ContainsAny(o.Prefix, "{}"):
		return fmt.Errorf("redisstore: Options.Prefix: got %q, want a text without braces", o.Prefix)
	case o.TTL < 0 || o.TTL > 0 && o.TTL < time.Millisecond:
		return fmt.Errorf("redisstore: Options.TTL: got %v, want 0 (for ever) or at least 1ms", o.TTL)
	case o.Timeout < 0:
		return fmt.Errorf("redisstore: Options.Timeout: got %v, want 0 (%v) or more", o.Timeout, DefaultTimeout)
	case o.FeedLen < 0:
		return fmt.Errorf("redisstore: Options.FeedLen: got %d, want 0 (%d) or more", o.FeedLen, DefaultFeedLen)
	case o.FeedBlock < time.Millisecond || o.FeedBlock > DefaultFeedBlock:
		return fmt.Errorf("redisstore: Options.FeedBlock: got %v, want 1ms to %v", o.FeedBlock, DefaultFeedBlock)
	}
	return nil
}

// New returns a store on client. It sends nothing: a server that is down is seen by the first call. The client
// stays the caller's and is not closed by [Store.Close]. An error names the field, the value got and the value wanted.
//
// Give the client ContextTimeoutEnabled. Without it the store has to hand each command to another goroutine to be back
// by the deadline, which about doubles what a call costs. With it a cancelled context, unlike a deadline, is noticed at
// the latest when the client's ReadTimeout ends a read.
func New(client redis.UniversalClient, o *Options) (*Store, error) {
	if isNil(client) {
		return nil, errors.New("redisstore: client: got nil, want a redis.UniversalClient")
	}
	opt := o.withDefaults()
	if err := opt.validate(); err != nil {
		return nil, err
	}
	for field, c := range map[string]redis.UniversalClient{"client": client, "Options.FeedClient": opt.FeedClient} {
		if _, ring := c.(*redis.Ring); ring && !opt.AllowRing {
			return nil, fmt.Errorf("redisstore: %s: got a *redis.Ring, want a client, cluster client or failover client, "+
				"or Options.AllowRing: a ring forks a list when a shard fails", field)
		}
	}
	return newStore(client, opt), nil
}

// NewURL returns a store on the server at rawURL, redis://[user:password@]host:port[/db] or rediss:// for TLS, with
// a client that respects deadlines and sends no CLIENT commands, which some managed services refuse. The store
// owns the client: call [Store.Close]. No error repeats the URL, since it may hold a password.
func NewURL(rawURL string, o *Options) (*Store, error) {
	ro, err := redis.ParseURL(rawURL)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("redisstore: url: got a text that is no Redis URL (%w), want redis://host:port/db", err)
	}
	ro.ContextTimeoutEnabled = true
	ro.DisableIdentity = true
	ro.DialerRetries = 1 // calls are repeated here, within their time
	ro.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(ro)
	s, err := New(client, o)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	s.owned = client
	return s, nil
}

// isNil finds also a nil pointer inside the interface, which would panic at the first call.
func isNil(client redis.UniversalClient) bool {
	if client == nil {
		return true
	}
	v := reflect.ValueOf(client)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
