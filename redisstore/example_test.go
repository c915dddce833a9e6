package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
)

func ExampleNew() {
	server, _ := miniredis.Run() // in production: your Redis
	defer server.Close()

	client := redis.NewClient(&redis.Options{Addr: server.Addr(), ContextTimeoutEnabled: true, DisableIdentity: true})
	defer client.Close()
	store, err := redisstore.New(client, &redisstore.Options{Tenant: "acme", TTL: 7 * 24 * time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ctx := context.Background()
	v1, _ := store.Save(ctx, "session 1", []byte(`{"todos":[]}`), "")
	_, err = store.Save(ctx, "session 1", []byte(`{"todos":["a"]}`), v1)
	fmt.Println("on the stored version:", err)

	_, err = store.Save(ctx, "session 1", []byte(`{"todos":["b"]}`), v1)
	var conflict *core.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println("on an older one: a conflict with", string(conflict.Doc))
	}
	fmt.Println(server.Keys())
	// Output:
	// on the stored version: <nil>
	// on an older one: a conflict with {"todos":["a"]}
	// [todo:{acme:session 1}]
}

func ExampleStore_Watch() {
	server, _ := miniredis.Run()
	defer server.Close()
	store, err := redisstore.NewURL("redis://"+server.Addr(), &redisstore.Options{Feed: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	v, _ := store.Save(ctx, "session 1", []byte("one"), "")
	changes, err := store.Watch(ctx, "session 1", "") // or with the token of the last change that was seen
	if err != nil {
		fmt.Println(err)
		return
	}
	first := <-changes
	fmt.Printf("snapshot: %s\n", first.Doc)

	v, _ = store.Save(ctx, "session 1", []byte("two"), v)
	second := <-changes
	fmt.Println("the save is reported:", second.Version == v, "can resume:", second.Token != "")
	// Output:
	// snapshot: one
	// the save is reported: true can resume: true
}

func ExampleNewCheckPointStore() {
	server, _ := miniredis.Run()
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer client.Close()

	// For Eino: adk.RunnerConfig.CheckPointStore, or compose.WithCheckPointStore.
	checkPoints, err := redisstore.NewCheckPointStore(client, &redisstore.CheckPointOptions{TTL: 24 * time.Hour})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_ = checkPoints.Set(ctx, "run 1", []byte("state"))
	state, found, _ := checkPoints.Get(ctx, "run 1")
	fmt.Printf("%s %v %v\n", state, found, server.Keys())
	// Output:
	// state true [todo:cp:{run 1}]
}
