// Resume: a run is killed in the middle and another process goes on with its list.
//
// The program starts itself twice as a worker. The first worker plans three migrations, does one, and is killed (kill -9) in
// the middle of the second. The second worker gets the same session id and nothing else: its model is shown what is open, and
// works on. The list is in Redis; TODOGUARD_REDIS_URL names a server, without it one is started for the time of the program.
//
//	go run ./examples/resume
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
)

const session = "migration-42"

func main() {
	if os.Getenv(roleVar) != "" {
		if err := work(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "resume: worker:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "resume:", err)
		os.Exit(1)
	}
}

// run is the host: it kills the first worker and starts the second.
func run(ctx context.Context, out io.Writer) error {
	url, stop, err := server(out)
	if err != nil {
		return err
	}
	defer stop()
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("TODOGUARD_REDIS_URL: %w", err)
	}
	client := redis.NewClient(o)
	defer client.Close()
	store, err := redisstore.New(client, &redisstore.Options{Prefix: prefix})
	if err != nil {
		return err
	}
	planner, err := core.New(core.Config{Store: store})
	if err != nil {
		return err
	}
	// A list of an earlier call of this program on the same server.
	if err := planner.Clear(ctx, session); err != nil {
		return err
	}
	if err := client.Del(ctx, doneKey).Err(); err != nil {
		return err
	}

	fmt.Fprintln(out, "\n== process 1")
	if err := worker(ctx, out, url, "orders"); err != nil {
		return err
	}
	fmt.Fprintln(out, "\n== process 2, the same session")
	if err := worker(ctx, out, url, ""); err != nil {
		return err
	}

	s, err := planner.Get(ctx, session)
	if err != nil {
		return err
	}
	done, err := client.LRange(ctx, doneKey, 0, -1).Result()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n== what was migrated, in order: %s\n", strings.Join(done, ", "))
	fmt.Fprintf(out, "== open items: %d, revision of the list: %d\n", s.Summary.Open(), s.Revision)
	if want := []string{"users", "orders", "invoices"}; !slices.Equal(done, want) || s.Summary.Open() != 0 {
		return fmt.Errorf("migrated %q with %d items open, want %q and none", done, s.Summary.Open(), want)
	}
	return nil
}

// worker runs this program as a worker and prints what it says. Where it hangs in the migration of hangIn, it is killed.
func worker(ctx context.Context, out io.Writer, url, hangIn string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self)
	c.Env = append(os.Environ(), roleVar+"=1", urlVar+"="+url, hangVar+"="+hangIn)
	c.Stderr = os.Stderr
	said, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	killed := false
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(out, "  "+lines.Text())
		if lines.Text() == hangs {
			killed = true
			fmt.Fprintln(out, "  kill -9")
			if err := c.Process.Kill(); err != nil {
				return err
			}
		}
	}
	err = c.Wait()
	var exit *exec.ExitError
	if killed && errors.As(err, &exit) {
		return nil
	}
	if hangIn != "" && err == nil {
		return errors.New("the worker was to be killed and came to its end")
	}
	return err
}
