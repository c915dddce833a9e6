package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/todoguard/todoguard/core"
)

// jobs runs work in the background of the host. Jobs outlive the run that started them.
type jobs struct {
	mu   sync.Mutex
	jobs map[string]*job
}

type job struct {
	Session string `json:"session"`
	What    string `json:"what"`
	result  string
	done    chan struct{}
}

func newJobs() *jobs { return &jobs{jobs: map[string]*job{}} }

// start begins a job and returns its id at once.
func (j *jobs) start(session, what string, work func() string) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	id := fmt.Sprintf("job-%d", len(j.jobs)+1)
	it := &job{Session: session, What: what, done: make(chan struct{})}
	j.jobs[id] = it
	go func() {
		it.result = work()
		close(it.done)
	}()
	return id
}

func (j *jobs) get(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.jobs[id]
}

// wait returns the result of a job, once there is one.
func (j *jobs) wait(ctx context.Context, id string) (string, error) {
	it := j.get(id)
	select {
	case <-it.done:
		return it.result, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// validate is the core.ValidateWait of this host: a run may end on jobs of its own session that still run. It is asked when the
// model declares the wait, and again when the run would end on it: a job that is done by then has a result for the model to use.
func (j *jobs) validate(_ context.Context, ids []string, info core.WaitInfo, _ *core.WaitBinding) (core.WaitValidation, error) {
	var found []*job
	for _, id := range ids {
		it := j.get(id)
		if it == nil || it.Session != info.Session {
			return core.WaitValidation{Status: core.WaitInvalid, Reason: fmt.Sprintf("there is no job %q", id)}, nil
		}
		select {
		case <-it.done:
			return core.WaitValidation{Status: core.WaitInvalid, Reason: fmt.Sprintf("the job %q is done: %s", id, it.result)}, nil
		default:
		}
		found = append(found, it)
	}
	evidence, err := json.Marshal(found)
	return core.WaitValidation{Status: core.WaitValid, Evidence: evidence}, err
}
