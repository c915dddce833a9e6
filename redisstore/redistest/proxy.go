package redistest

import (
	"bytes"
	"net"
	"sync"
	"testing"
)

// Proxy stands between a client and a server and loses replies: the case in which a client cannot know what happened.
// Safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	match []byte // lower case; requests that hold it lose their reply
	left  int    // how many
	hang  bool
	lost  int
	after func() // called once, when a reply is lost
	down  bool
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

// NewProxy starts a proxy in front of the server at addr and closes it when the test ends.
func NewProxy(t testing.TB, addr string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	p := &Proxy{listener: l, server: addr, conns: map[net.Conn]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.Down(true)
		p.wg.Wait()
	})
	return p
}

// Addr is host:port of the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Lose makes the replies to the next n requests that hold match, in any case, disappear after the server executed
// them: the connection is cut, or with hang it stays open and silent.
func (p *Proxy) Lose(match string, n int, hang bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.match, p.left, p.hang = bytes.ToLower([]byte(match)), n, hang
}

// OnLost calls f once, when the next reply is lost and before the client can notice.
func (p *Proxy) OnLost(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = f
}

// Lost is how many replies were lost so far.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Down cuts all connections and, while true, refuses new ones.
func (p *Proxy) Down(down bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = down
	if down {
		for c := range p.conns {
			_ = c.Close()
		}
	}
}

func (p *Proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// track registers a connection; false: the proxy is down.
func (p *Proxy) track(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) untrack(c net.Conn) {
	_ = c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

func (p *Proxy) serve(client net.Conn) {
	if !p.track(client) {
		return
	}
	defer p.untrack(client)
	server, err := net.Dial("tcp", p.server)
	if err != nil || !p.track(server) {
		return
	}
	defer p.untrack(server)

	var lose, hang bool // of this connection; guarded by p.mu
	p.wg.Go(func() {
		pump(server, client, func(b []byte) bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.left > 0 && bytes.Contains(bytes.ToLower(b), p.match) {
				p.left--
				p.lost++
				lose, hang = true, p.hang
			}
			return true
		})
		_ = server.Close()
	})
	pump(client, server, func([]byte) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return !lose
	})
	p.mu.Lock()
	silent := lose && hang
	var after func()
	if lose {
		after, p.after = p.after, nil
	}
	p.mu.Unlock()
	if after != nil {
		after()
	}
	if silent { // until the client leaves or the proxy goes down
		pump(nil, server, func([]byte) bool { return true })
	}
}

// pump copies until one side ends or pass says no. To nil: what comes is dropped.
func pump(to, from net.Conn, pass func([]byte) bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			if !pass(b[:n]) {
				return
			}
			if to != nil {
				if _, err := to.Write(b[:n]); err != nil {
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}
