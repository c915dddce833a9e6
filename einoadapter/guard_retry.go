package einoadapter

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// judge applies an agent's retry configuration to one attempt of the correction.
type judge[M adk.MessageType] struct {
	retry   *adk.TypedModelRetryConfig[M]
	ctx     context.Context
	attempt int // from 1
	in      []M
	opts    []model.Option

	again    bool // try once more
	decision *adk.TypedRetryDecision[M]
}

// errRejected is a response that the host's ShouldRetry refused.
var errRejected = errors.New("einoadapter: ShouldRetry rejected the model's response")

// over takes what an attempt gave, a response or an error or both, and returns the error that it amounts to.
func (j *judge[M]) over(out M, err error) error {
	if isInterrupt(err) {
		return err
	}
	if j.retry.ShouldRetry == nil {
		//lint:ignore SA1019 still eino's default
		j.again = err != nil && (j.retry.IsRetryAble == nil || j.retry.IsRetryAble(j.ctx, err))
		return err
	}
	d := j.retry.ShouldRetry(j.ctx, &adk.TypedRetryContext[M]{RetryAttempt: j.attempt, InputMessages: j.in, Options: j.opts, OutputMessage: out, Err: err})
	switch {
	case d == nil:
		return err
	case d.Retry:
		j.again, j.decision = true, d
		if err == nil {
			err = errRejected
		}
		return err
	case d.RewriteError != nil:
		return d.RewriteError
	}
	return err
}

// delay is how long to wait before the next attempt.
func (j *judge[M]) delay() time.Duration {
	if j.decision != nil && j.decision.Backoff > 0 {
		return j.decision.Backoff
	}
	if j.retry.BackoffFunc != nil {
		return j.retry.BackoffFunc(j.ctx, j.attempt)
	}
	return min(100*time.Millisecond<<min(j.attempt-1, 7), 10*time.Second)
}

// judgedModel hands what a model says to a judge before anybody sees the end of it: an answer that is refused reaches the
// event stream as a broken one, or not at all.
type judgedModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	judge *judge[M]
}

func (m *judgedModel[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	out, err := m.inner.Generate(ctx, in, opts...)
	return out, m.judge.over(out, err)
}

func (m *judgedModel[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	var none M
	sr, err := m.inner.Stream(ctx, in, opts...)
	if err != nil {
		return nil, m.judge.over(none, err)
	}
	var chunks []M
	whole := func(err error) error {
		out, _ := concat(chunks) // of a broken stream: as far as it goes
		return m.judge.over(out, err)
	}
	return schema.StreamReaderWithConvert(sr,
		func(chunk M) (M, error) {
			chunks = append(chunks, chunk)
			return chunk, nil
		},
		schema.WithErrWrapper(whole),
		schema.WithOnEOF(func() (any, error) {
			if err := whole(nil); err != nil {
				return nil, err
			}
			return nil, io.EOF
		})), nil
}
