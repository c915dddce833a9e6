package docs

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
)

// A list in Redis, read by the host.
func Example_redis() {
	store, err := redisstore.NewURL(redisURL(), &redisstore.Options{Tenant: "acme", TTL: 7 * 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	planner, err := core.New(core.Config{Store: store}) // einoadapter.Config and lcgadapter.WithStore take it as well
	if err != nil {
		log.Fatal(err)
	}
	list, err := planner.Get(context.Background(), "user-7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(list.Summary.Open(), "items are open")
	// Output: 0 items are open
}

// redisURL stands for redis://user:password@host:6379/0.
func redisURL() string {
	s, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	return "redis://" + s.Addr()
}
