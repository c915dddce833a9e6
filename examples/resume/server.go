package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// server gives a Redis: the one of TODOGUARD_REDIS_URL, or one that is started here and stopped by stop.
func server(out io.Writer) (url string, stop func(), err error) {
	if url := os.Getenv("TODOGUARD_REDIS_URL"); url != "" {
		fmt.Fprintln(out, "using the server of TODOGUARD_REDIS_URL")
		return url, func() {}, nil
	}
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		return "", nil, errors.New("there is no redis-server on PATH: install one (Debian: apt-get install redis-server), or name a server by TODOGUARD_REDIS_URL=redis://host:port/0")
	}
	port, err := freePort()
	if err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp("", "todoguard-resume")
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		_ = os.RemoveAll(dir)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			fmt.Fprintln(out, "started a redis-server for this program")
			return "redis://" + addr + "/0", stop, nil
		}
		if time.Now().After(deadline) {
			stop()
			return "", nil, fmt.Errorf("the redis-server that was started does not answer: %w", err)
		}
	}
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
