package redistest_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todoguard/todoguard/redisstore/redistest"
)

func ping(addr string) string {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = c.Write([]byte("PING\r\n"))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

func TestSharedServerIsStartedOnce(t *testing.T) {
	a, b := redistest.Start(t), redistest.Start(t)
	if a != b {
		t.Errorf("Start: got %s, then %s, want one server", a, b)
	}
	if got := ping(a); got != "+PONG" {
		t.Errorf("PING: got %q, want +PONG", got)
	}
}

func TestPrivateServerComesBackOnTheSamePort(t *testing.T) {
	s := redistest.New(t)
	addr := s.Addr()
	s.Kill()
	if got := ping(addr); got == "+PONG" {
		t.Errorf("PING after Kill: got %q, want a refusal", got)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if got := ping(addr); s.Addr() != addr || got != "+PONG" {
		t.Errorf("after Start: got address %s, reply %q, want %s, +PONG", s.Addr(), got, addr)
	}
}

func TestMissingServerIsASkipUnlessRequired(t *testing.T) {
	run := func(require string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestPrivateServerComesBackOnTheSamePort$", "-test.v")
		cmd.Env = append(os.Environ(), "TODOGUARD_REDIS_BIN=/no/such/program", "TODOGUARD_REQUIRE_REDIS="+require)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := run(""); !strings.Contains(out, "--- SKIP") {
		t.Errorf("without a server: got %s, want a skip", out)
	}
	if out := run("1"); !strings.Contains(out, "--- FAIL") {
		t.Errorf("without a server that is required: got %s, want a failure", out)
	}
}

// The process that started a server is killed: the server must not outlive it.
func TestNoServerOutlivesItsTestProcess(t *testing.T) {
	if os.Getenv("REDISTEST_CHILD") == "1" {
		s := redistest.New(t)
		_, _ = os.Stdout.WriteString("SERVER " + s.Addr() + "\n")
		time.Sleep(time.Minute)
		return
	}
	redistest.Require(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoServerOutlivesItsTestProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "REDISTEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	for lines := bufio.NewScanner(out); addr == "" && lines.Scan(); {
		_, addr, _ = strings.Cut(lines.Text(), "SERVER ")
	}
	if got := ping(addr); got != "+PONG" {
		t.Fatalf("PING of the child's server %q: got %q, want +PONG", addr, got)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	for range 200 {
		if ping(addr) != "+PONG" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("server %s: still answers 2 s after its test process was killed", addr)
}

func TestProxyLosesOneReply(t *testing.T) {
	p := redistest.NewProxy(t, redistest.New(t).Addr())
	if got := ping(p.Addr()); got != "+PONG" {
		t.Fatalf("PING through the proxy: got %q, want +PONG", got)
	}
	p.Lose("ping", 1, false)
	if got := ping(p.Addr()); got != "" {
		t.Errorf("PING whose reply is lost: got %q, want nothing", got)
	}
	if got := ping(p.Addr()); got != "+PONG" || p.Lost() != 1 {
		t.Errorf("the next PING: got %q and %s lost, want +PONG and 1", got, strconv.Itoa(p.Lost()))
	}
	p.Down(true)
	if got := ping(p.Addr()); got == "+PONG" {
		t.Errorf("PING while the proxy is down: got %q, want none", got)
	}
	p.Down(false)
	if got := ping(p.Addr()); got != "+PONG" {
		t.Errorf("PING after the proxy is back: got %q, want +PONG", got)
	}
}
