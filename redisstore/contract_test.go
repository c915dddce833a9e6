package redisstore_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storetest"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// The kinds of store that must all hold the whole contract.
var kinds = map[string]redisstore.Options{
	"scripts":                  {TTL: time.Hour},
	"scripts and feed":         {TTL: time.Hour, Feed: true, Tenant: "acme"},
	"scripts, feed, no expiry": {Feed: true},
	"no scripts":               {TTL: time.Hour, NoScripts: true},
	"no scripts and feed":      {TTL: time.Hour, Feed: true, NoScripts: true, Tenant: "a:{b}%"},
}

func TestContractOnMiniredis(t *testing.T) {
	for name, o := range kinds {
		t.Run(name, func(t *testing.T) {
			server := miniredis.RunT(t)
			storetest.Run(t, storetest.Harness{
				New: func(t testing.TB) core.Store {
					return newStore(t, client(t, server.Addr()), o)
				},
				TTL: o.TTL, Advance: server.FastForward,
			})
		})
	}
}

func TestContractOnRedis(t *testing.T) {
	for name, o := range kinds {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, storetest.Harness{New: func(t testing.TB) core.Store {
				s, _ := shared(t, o)
				return s
			}})
		})
	}
}

// The clock of a real server cannot be moved, but what is left of a life can be cut short, which is the same.
func TestExpiryOnRedis(t *testing.T) {
	for name, o := range kinds {
		if o.TTL == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			o.Prefix = redistest.Prefix()
			var c *redis.Client
			storetest.Run(t, storetest.Harness{
				New: func(t testing.TB) (s core.Store) { s, c = shared(t, o); return s },
				TTL: o.TTL,
				Advance: func(d time.Duration) {
					for _, key := range names(t, c, o.Prefix+":*") {
						if left := c.PTTL(bg, key).Val() - d; left <= 0 {
							c.Del(bg, key)
						} else {
							c.PExpire(bg, key, left)
						}
					}
				},
			})
		})
	}
}
