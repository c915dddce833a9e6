// Package redistest gives tests a real redis-server on loopback: one shared by all tests of a process, or a private
// one that a test may kill, stop and start again. It uses the standard library alone.
//
//	TODOGUARD_REDIS_URL      a server to use in place of a shared one, redis://host:port/db; tests write under
//	                         prefixes of their own and flush nothing
//	TODOGUARD_REDIS_BIN      the server program; default: redis-server, then valkey-server, from PATH
//	TODOGUARD_REQUIRE_REDIS  1: a test that finds no server fails instead of being skipped
package redistest

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"testing"
)

var shared struct {
	sync.Mutex
	server *Server
}

// Start returns the address, host:port, of a server that all tests of this process share. The first call starts it;
// it is killed when the process ends, however it ends. With TODOGUARD_REDIS_URL it is that server's address.
// Without a server the test is skipped, or fails with TODOGUARD_REQUIRE_REDIS=1. Safe for concurrent use.
func Start(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("TODOGUARD_REDIS_URL"); given != "" {
		u, err := url.Parse(given)
		if err != nil || u.Host == "" {
			t.Fatalf("redistest: TODOGUARD_REDIS_URL: got a text that is no URL with a host, want redis://host:port/db")
		}
		return u.Host
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		bin := Require(t)
		dir, err := os.MkdirTemp("", "redistest") // outlives the test that asks first
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
		watchdog("rm", dir)
		s := &Server{dir: dir, bin: bin}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	return shared.server.Addr()
}

// URL is [Start] as a redis:// URL; TODOGUARD_REDIS_URL is returned as it is.
func URL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv("TODOGUARD_REDIS_URL"); given != "" {
		return given
	}
	return "redis://" + Start(t) + "/0"
}

// Prefix returns a key prefix that no other test uses, in this process or another.
func Prefix() string { return fmt.Sprintf("test-%016x", rand.Uint64()) }

// Require returns the server program. Without one the test is skipped, or fails with TODOGUARD_REQUIRE_REDIS=1.
func Require(t testing.TB) string {
	t.Helper()
	names := []string{"redis-server", "valkey-server"}
	if bin := os.Getenv("TODOGUARD_REDIS_BIN"); bin != "" {
		names = []string{bin}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	const missing = "redistest: no server program: got none of %q, want one of them on PATH"
	if os.Getenv("TODOGUARD_REQUIRE_REDIS") == "1" {
		t.Fatalf(missing, names)
	}
	t.Skipf(missing, names)
	return ""
}
