package einoadapter

import (
	"context"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/todoguard/todoguard/core"
)

// correct asks the model once more, with the chain, the ctx and the options of its last call. history ends with the correction.
// The second answer goes to the event stream as the first one did. eino's retry does not reach this place, so the agent's
// retry configuration is followed here.
func (m *middleware[M]) correct(ctx context.Context, run *core.Run, e *execution, call *modelCall[M], history []M, mc *adk.TypedModelContext[M]) (answer M, err error) {
	tail, err := run.BeforeModel(ctx, core.Prompt{Boundary: e.input.request(inputsOf(history))})
	if err != nil {
		return answer, err
	}
	var retry adk.TypedModelRetryConfig[M] // zero: no retries
	if mc != nil && mc.ModelRetryConfig != nil {
		retry = *mc.ModelRetryConfig
	}
	opts := call.opts
	for attempt := 1; ; attempt++ {
		j := &judge[M]{retry: &retry, ctx: call.ctx, attempt: attempt, in: history, opts: opts}
		sender, err := withEvents(call.ctx, &judgedModel[M]{inner: call.inner, judge: j}, mc)
		if err != nil {
			return answer, err
		}
		answer, err = askOnce(call, sender, withTail(history, tail), opts)
		if err == nil || isFatal(ctx, err) || !j.again || attempt > retry.MaxRetries {
			return answer, err
		}
		if d := j.decision; d != nil {
			if d.ModifiedInputMessages != nil {
				history = d.ModifiedInputMessages
			}
			opts = append(opts[:len(opts):len(opts)], d.AdditionalOptions...)
		}
		if err := sleep(ctx, j.delay()); err != nil {
			return answer, err
		}
	}
}

// askOnce makes one call and reads it to its end.
func askOnce[M adk.MessageType](call *modelCall[M], m model.BaseModel[M], req []M, opts []model.Option) (answer M, err error) {
	if !call.streaming {
		return m.Generate(call.ctx, req, opts...)
	}
	sr, err := m.Stream(call.ctx, req, opts...)
	if err != nil {
		return answer, err
	}
	chunks, err := readChunks(sr)
	if err != nil {
		return answer, err
	}
	return concat(chunks)
}

// isFatal reports whether an error of the correction is no failure of the model but the end of the run.
func isFatal(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || isInterrupt(err))
}

// withEvents puts an event sender in front of a model. For *schema.Message it is eino's own, which also watches for
// CancelImmediate. It gets no ShouldRetry, because eino's sender would wait for a verdict that only eino's retry gives; with one
// retry to come it reports a broken stream as WillRetryError, which consumers skip.
func withEvents[M adk.MessageType](ctx context.Context, m model.BaseModel[M], mc *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	msgModel, ok := any(m).(model.BaseModel[*schema.Message])
	if !ok {
		return &eventSender[M]{inner: m}, nil
	}
	var c adk.ModelContext
	if msgContext, _ := any(mc).(*adk.ModelContext); msgContext != nil {
		c = *msgContext
	}
	c.ModelRetryConfig, c.ModelFailoverConfig = &adk.ModelRetryConfig{MaxRetries: 1}, nil
	sender, err := adk.NewEventSenderModelWrapper().WrapModel(ctx, msgModel, &c)
	if err != nil {
		return nil, err
	}
	return any(sender).(model.BaseModel[M]), nil
}

// eventSender sends what a model says as events, for the message type that eino exports no sender for.
type eventSender[M adk.MessageType] struct{ inner model.BaseModel[M] }

func (s *eventSender[M]) Generate(ctx context.Context, in []M, opts ...model.Option) (M, error) {
	m, err := s.inner.Generate(ctx, in, opts...)
	if err == nil {
		err = adk.TypedSendEvent(ctx, assistantEvent(m, nil))
	}
	return m, err
}

func (s *eventSender[M]) Stream(ctx context.Context, in []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	sr, err := s.inner.Stream(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	copies := sr.Copy(2)
	broken := schema.WithErrWrapper(func(err error) error {
		if isInterrupt(err) {
			return err
		}
		return &adk.WillRetryError{ErrStr: err.Error()}
	})
	events := schema.StreamReaderWithConvert(copies[0], func(m M) (M, error) { return m, nil }, broken)
	var none M
	if err := adk.TypedSendEvent(ctx, assistantEvent(none, events)); err != nil {
		events.Close()
		copies[1].Close()
		return nil, err
	}
	return copies[1], nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
