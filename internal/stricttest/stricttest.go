// Package stricttest has local servers that speak the protocol of a model provider and check every request as the provider
// does, or stricter. They give scripted replies, answer 400 to a request that breaks the protocol, and keep what was
// wrong for [Server.Check].
package stricttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Call is a tool call that a reply makes. Args is the text of a JSON object, except at an OpenAI server, which passes any
// text on. ID "" makes a call without id; Google has none anyway.
type Call struct{ ID, Name, Args string }

// Reply is one response of the scripted model.
type Reply struct {
	Text      string
	Calls     []Call
	Truncated bool // cut off by length
	Empty     bool // a response without any choice, block or candidate
	Status    int  // not 0: this HTTP status with an error body, and nothing else
	// Raw, if not nil, is sent in place of all others: the JSON objects of a stream, or the one of a plain response.
	Raw []string
}

// Server is a strict server. Safe for concurrent use.
type Server struct {
	*httptest.Server
	protocol protocol

	mu       sync.Mutex
	replies  []Reply
	answer   func(n int, req []Message) Reply // in place of replies
	requests [][]Message
	bodies   []string
	problems []string
	said     []Reply // everything given so far
}

// protocol is what differs between providers.
type protocol interface {
	// read decodes a request. Problems are what the provider would refuse in it.
	read(r *http.Request, body map[string]any) (req []Message, tools map[string]bool, stream bool, problems []string)
	write(w http.ResponseWriter, reply Reply, stream bool)
	fail(w http.ResponseWriter, status int, message string)
}

func start(t testing.TB, p protocol, replies []Reply) *Server {
	s := &Server{protocol: p, replies: replies}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// Answer makes the server ask f for each reply. n counts requests from 1. f may be called at once by several requests.
func (s *Server) Answer(f func(n int, req []Message) Reply) *Server {
	s.answer = f
	return s
}

// Check fails the test if a request broke the protocol or a reply was not asked for.
func (s *Server) Check(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.problems {
		t.Error(p)
	}
	if s.answer == nil && len(s.requests) < len(s.replies) {
		t.Errorf("%d of %d replies were not asked for", len(s.replies)-len(s.requests), len(s.replies))
	}
}

// Problems returns what was wrong with the requests so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.problems...)
}

// Requests returns the requests so far, in the terms of no provider.
func (s *Server) Requests() [][]Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]Message(nil), s.requests...)
}

// Bodies returns the requests so far, as they came.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		s.protocol.fail(w, http.StatusBadRequest, err.Error())
		return
	}
	reply, stream, bad := s.next(r, raw, body)
	switch {
	case bad != "":
		s.protocol.fail(w, http.StatusBadRequest, bad)
	case reply.Status != 0:
		s.protocol.fail(w, reply.Status, http.StatusText(reply.Status))
	default:
		s.protocol.write(w, reply, stream)
	}
}

func (s *Server) next(r *http.Request, raw []byte, body map[string]any) (Reply, bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req, tools, stream, problems := s.protocol.read(r, body)
	problems = append(problems, validate(req, tools, s.said)...)
	s.requests = append(s.requests, req)
	s.bodies = append(s.bodies, string(raw))
	n := len(s.requests)
	if len(problems) > 0 {
		bad := strings.Join(problems, "; ")
		s.problems = append(s.problems, fmt.Sprintf("request %d: %s", n, bad))
		return Reply{}, stream, bad
	}
	var reply Reply
	switch {
	case s.answer != nil:
		s.mu.Unlock()
		reply = s.answer(n, req)
		s.mu.Lock()
	case n > len(s.replies):
		bad := fmt.Sprintf("request %d is one too many", n)
		s.problems = append(s.problems, bad)
		return Reply{}, stream, bad
	default:
		reply = s.replies[n-1]
	}
	s.said = append(s.said, reply)
	return reply, stream, ""
}
