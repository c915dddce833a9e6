package redistest

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Server is a private server. Its methods are not for concurrent use.
type Server struct {
	bin, dir string
	port     int
	args     []string
	cmd      *exec.Cmd // nil: not running
}

// New starts a server with additional arguments in a directory of its own and stops it when the test ends.
// A server that cannot be had is handled as in [Require].
func New(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{bin: Require(t), dir: t.TempDir(), args: args}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// NewSentinel starts a sentinel with the lines of conf as its configuration.
func NewSentinel(t testing.TB, conf string) *Server {
	t.Helper()
	s := &Server{bin: Require(t), dir: t.TempDir()}
	file := filepath.Join(s.dir, "sentinel.conf") // it rewrites this file
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	s.args = []string{file, "--sentinel"}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// Addr is host:port. It stays the same over restarts.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Port is the port of Addr.
func (s *Server) Port() int { return s.port }

// Dir is where the server keeps its files.
func (s *Server) Dir() string { return s.dir }

// Start starts the server, again after [Server.Kill], and returns when it answers.
func (s *Server) Start() error {
	var err error
	for range 5 { // another process may take the port between our look and the server's bind
		fixed := s.port != 0
		if !fixed {
			s.port = freePort()
		}
		if err = s.start(); err == nil || fixed {
			return err
		}
		s.port = 0
	}
	return err
}

func (s *Server) start() error {
	own := []string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--logfile", filepath.Join(s.dir, "log")}
	args := append([]string{}, s.args...)
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") { // a file of settings comes first
		args = append(args[:1:1], append(own, args[1:]...)...)
	} else {
		args = append(append(own, "--save", "", "--daemonize", "no"), args...)
	}
	cmd := exec.Command(s.bin, args...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	watchdog("+", cmd.Process.Pid)
	s.cmd = cmd
	for deadline := time.Now().Add(15 * time.Second); ; {
		if s.answers() {
			return nil
		}
		if exited(cmd.Process.Pid) || time.Now().After(deadline) {
			s.Kill()
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("redistest: the server did not start: %s", log[max(0, len(log)-2000):])
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// answers asks for a sign of life. Any reply but "loading" is one.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		return false
	}
	reply := make([]byte, 64)
	n, err := c.Read(reply)
	return err == nil && !bytes.HasPrefix(reply[:n], []byte("-LOADING"))
}

// exited reports whether the process is dead, without waiting for it.
func exited(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// Kill ends the server with SIGKILL, as a crash does, and returns when it is gone. Not running: nothing happens.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	watchdog("-", s.cmd.Process.Pid)
	s.cmd = nil
}

// Pause stops the server as SIGSTOP does: connections stay open and nothing answers.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets a paused server go on.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// freePort finds a port that is free and whose cluster bus, 10,000 above, is free too.
func freePort() int {
	for {
		port := 12_000 + rand.IntN(20_000)
		if free(port) && free(port+10_000) {
			return port
		}
	}
}

func free(port int) bool {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

var dog struct {
	sync.Mutex
	in io.WriteCloser
}

// watchdog tells a shell which servers run. Its input ends with this process, also when that is killed, and then
// it kills those that still run and removes the directory of the shared one: no cleanup function is called on a crash.
// Ops: "+" and "-" with a process id, "rm" with the directory.
func watchdog(op string, what any) {
	dog.Lock()
	defer dog.Unlock()
	if dog.in == nil {
		r, w, err := os.Pipe()
		if err != nil {
			return
		}
		cmd := exec.Command("sh", "-c", `all=" "
while read op what; do
  case $op in
    +) all="$all$what " ;;
    -) all="${all%% $what *} ${all#* $what }" ;;
    rm) dir=$what ;;
  esac
done
for pid in $all; do kill -9 $pid; done
[ -z "$dir" ] || rm -rf "$dir"`)
		cmd.Stdin = r
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal must not end it first
		if err := cmd.Start(); err != nil {
			_ = w.Close()
			return
		}
		_ = r.Close()
		dog.in = w
	}
	_, _ = fmt.Fprintln(dog.in, op, what)
}
