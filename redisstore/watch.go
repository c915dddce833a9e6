package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
)

// feedPool is how many connections the store's own client for followers may open. Each follower holds one.
const feedPool = 4096

// Watch implements core.Watcher on the feed. The token of a change is the id of its entry in the stream, which fits
// the Last-Event-ID of server-sent events; it is "" where the stream is empty. A token that cannot be continued from
// (trimmed, expired, lost in a failover, not a token at all) begins with a snapshot, and so does a gap.
//
// Each watch holds one connection of Options.FeedClient. An outage is waited out; what ends a watch with a last
// Change with Err is a refusal (core.ErrDenied), a foreign or damaged value (core.ErrCorrupt), and [Store.Close].
// A session that expires or is deleted by a store without a feed is noticed within Options.FeedBlock.
//
// Without Options.Feed the error is errors.ErrUnsupported.
func (s *Store) Watch(ctx context.Context, session, token string) (<-chan core.Change, error) {
	if err := admit(ctx, "watch", session); err != nil {
		return nil, err
	}
	if !s.opt.Feed {
		return nil, fmt.Errorf("redisstore: watch %q: Options.Feed is false, want true: %w", session, errors.ErrUnsupported)
	}
	client, err := s.feedClient()
	if err != nil {
		return nil, failed(ctx, "watch", session, err)
	}
	out := make(chan core.Change)
	f := &follower{client: client, keys: s.keys(session), block: s.opt.FeedBlock, out: out}
	go func() {
		defer close(out)
		if err := f.follow(ctx, token); err != nil {
			f.send(ctx, core.Change{Err: failed(ctx, "watch", session, err)})
		}
	}()
	return out, nil
}

// feedClient returns the client of the followers, and makes it at the first call.
func (s *Store) feedClient() (redis.UniversalClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, &failure{core.ErrUnavailable, errors.New("the store is closed"), false}
	case s.feed != nil:
	case s.opt.FeedClient != nil:
		s.feed = s.opt.FeedClient
	default:
		s.feed = secondClient(s.client)
	}
	return s.feed, nil
}

// secondClient opens a client with the settings of c and a pool of its own. Hooks are not copied. A client of a type
// that cannot be copied is returned as it is.
func secondClient(c redis.UniversalClient) redis.UniversalClient {
	switch c := c.(type) {
	case *redis.Client:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = feedPool, 0, 0, 0
		o.PipelinePoolSize = -1 // one pool does
		o.MaxRetries = -1       // a follower has its own patience
		o.PushNotificationProcessor, o.ClientSideCache, o.ClientSideCacheConfig = nil, nil, nil
		return redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.PoolSize, o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns = feedPool, 0, 0, 0
		o.PipelinePoolSize = -1
		return redis.NewClusterClient(&o)
	default:
		return c
	}
}
