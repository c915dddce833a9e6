package storytest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/todoguard/todoguard/core"
)

// Message is one message of a request, as the model gets it, in no framework's terms.
type Message struct {
	Role  string // system, user, assistant or tool
	Text  string // the tail block included
	Calls []core.Call
	// For role tool: the call that it answers.
	CallID, Name string
}

// Reply is one response of the scripted model.
type Reply struct {
	Text  string
	Calls []core.Call
}

// Script plays the model of one run: it records every request and gives the story's replies in turn. Safe for concurrent
// use, though a request that comes out of turn is a failure of the story.
type Script struct {
	mu        sync.Mutex
	replies   []Reply
	next      int
	requests  [][]Message
	onRequest func()
	extra     int                        // requests beyond the last reply
	before    func(context.Context, int) // called with the number of replies given so far, before the next request is answered
	rewrite   func(context.Context, Reply) (Reply, error)
	spoil     func([]Message) []Message // the runner's own tests
}

// OnRequest has fn called at each request, before it is answered: a place to count what a turn costs. Set it before the run.
func (s *Script) OnRequest(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onRequest = fn
}

// Next records a request and returns the next reply. Beyond the last reply it returns an error, and the story fails.
func (s *Script) Next(ctx context.Context, request []Message) (Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	request = slices.Clone(request)
	if s.spoil != nil {
		request = s.spoil(request)
	}
	s.requests = append(s.requests, request)
	if s.onRequest != nil {
		s.onRequest()
	}
	if s.before != nil {
		s.before(ctx, s.next)
	}
	if s.next >= len(s.replies) {
		s.extra++
		return Reply{}, fmt.Errorf("storytest: the story has %d replies; request %d is one too many", len(s.replies), s.next+s.extra)
	}
	r := s.replies[s.next]
	s.next++
	if s.rewrite != nil {
		return s.rewrite(ctx, r)
	}
	return r, nil
}
