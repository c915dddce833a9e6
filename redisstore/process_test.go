package redisstore_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

const perProcess = 1000

func init() {
	workers["count"] = func() error {
		ro, err := redis.ParseURL(os.Getenv("TODOGUARD_TEST_URL"))
		if err != nil {
			return err
		}
		c := redis.NewClient(ro)
		defer func() { _ = c.Close() }()
		s, err := redisstore.New(c, &redisstore.Options{Prefix: os.Getenv("TODOGUARD_TEST_PREFIX"), Feed: true})
		if err != nil {
			return err
		}
		conflicts := 0
		for range perProcess {
			n, err := increment(s, "a")
			if err != nil {
				return err
			}
			conflicts += n
		}
		fmt.Print(conflicts)
		return nil
	}
}

// Two processes count on one session, a thousand times each.
func TestTwoProcessesLoseNoUpdate(t *testing.T) {
	prefix := redistest.Prefix()
	s, _ := shared(t, redisstore.Options{Prefix: prefix})
	run := func() <-chan string {
		out := make(chan string, 1)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), workerEnv+"=count", "TODOGUARD_TEST_URL="+redistest.URL(t), "TODOGUARD_TEST_PREFIX="+prefix)
		go func() {
			b, err := cmd.Output()
			if err != nil {
				t.Errorf("worker: %v", err)
			}
			out <- string(b)
		}()
		return out
	}
	a, b := run(), run()
	ca, err := strconv.Atoi(<-a)
	require.NoError(t, err)
	cb, err := strconv.Atoi(<-b)
	require.NoError(t, err)
	doc, _ := load(t, s, "a")
	total, err := strconv.Atoi(doc)
	require.NoError(t, err)
	t.Logf("processes: 2, acknowledged writes: %d, lost: %d (conflicts retried: %d and %d)", 2*perProcess, 2*perProcess-total, ca, cb)
	require.Equal(t, 2*perProcess, total)
	require.NotZero(t, ca+cb, "the processes did meet")
}
