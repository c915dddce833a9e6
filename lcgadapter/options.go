package lcgadapter

import (
	"context"
	"fmt"
	"time"

	"github.com/todoguard/todoguard/core"
)

// Option configures a [Plugin]. Most are named after the field of [core.Config] that they set, with its default: see
// there. A later option wins.
type Option func(*settings)

type settings struct {
	cfg           core.Config
	session       func(context.Context) string
	inputKey      string
	maxIterations int
}

func (s *settings) validate() error {
	if s.maxIterations < 0 {
		return fmt.Errorf("lcgadapter: WithMaxIterations is %d, want 0 (the default) or more", s.maxIterations)
	}
	return nil
}

// WithConfig replaces the whole core.Config, also what earlier options set in it.
func WithConfig(c core.Config) Option { return func(s *settings) { s.cfg = c } }

// WithStore says where the lists are kept. nil: in memory.
func WithStore(st core.Store) Option { return func(s *settings) { s.cfg.Store = st } }

// WithToolName names the tool. "": core.DefaultToolName.
func WithToolName(name string) Option { return func(s *settings) { s.cfg.ToolName = name } }

// WithLimits bounds what the model can store. A field that is 0 has its default.
func WithLimits(l core.Limits) Option { return func(s *settings) { s.cfg.Limits = l } }

// WithUpdates says how the tool changes the list. Default: core.Replace.
func WithUpdates(u core.Updates) Option { return func(s *settings) { s.cfg.Updates = u } }

// WithTools chooses write_todos (the default) or the four task tools.
func WithTools(t core.Tools) Option { return func(s *settings) { s.cfg.Tools = t } }

// WithResults says what an accepted write returns. Default: core.ResultsFull.
func WithResults(r core.Results) Option { return func(s *settings) { s.cfg.Results = r } }

// WithKeepOpenItems refuses a list that loses an open item.
func WithKeepOpenItems() Option { return func(s *settings) { s.cfg.KeepOpenItems = true } }

// WithDependencies puts depends_on into schema and rules.
func WithDependencies() Option { return func(s *settings) { s.cfg.Dependencies = true } }

// WithReminder sets after how many turns without a write a reminder goes out (0: never) and every how many further
// turns another one (0: none). Default: 5 and 5.
func WithReminder(after, every int) Option {
	return func(s *settings) { s.cfg.Reminder = &core.Reminder{After: after, Every: every} }
}

// WithArm says which lists the finalization guard looks at. Default: core.ArmAlways.
func WithArm(a core.Arm) Option { return func(s *settings) { s.cfg.Arm = a } }

// WithOnExhausted says what happens when no correction is left. Default: core.Proceed.
func WithOnExhausted(e core.Exhausted) Option { return func(s *settings) { s.cfg.OnExhausted = e } }

// WithNoGuard switches the finalization guard off. For one run: core.WithGuard.
func WithNoGuard() Option { return func(s *settings) { s.cfg.NoGuard = true } }

// WithChecks sets the done-checks. nil: none.
func WithChecks(c core.Checker) Option { return func(s *settings) { s.cfg.Checks = c } }

// WithMaxFailures is the number of failed checks until an item needs replanning. 0: 2.
func WithMaxFailures(n int) Option { return func(s *settings) { s.cfg.MaxFailures = n } }

// WithCheckTime is the deadline of one check. 0: 2 minutes.
func WithCheckTime(d time.Duration) Option { return func(s *settings) { s.cfg.CheckTime = d } }

// WithCheckOutput is how many bytes of a check's output are kept and shown. 0: 2,000.
func WithCheckOutput(bytes int) Option { return func(s *settings) { s.cfg.CheckOutput = bytes } }

// WithValidateWait lets runs end on background work that the host owns. nil: waiting is not offered.
func WithValidateWait(v core.ValidateWait) Option {
	return func(s *settings) { s.cfg.ValidateWait = v }
}

// WithWaitTime is the deadline of one validation. 0: 10 seconds.
func WithWaitTime(d time.Duration) Option { return func(s *settings) { s.cfg.WaitTime = d } }

// WithWaitEvidence is how many bytes of evidence a validation may bring. 0: 16 KiB.
func WithWaitEvidence(bytes int) Option { return func(s *settings) { s.cfg.WaitEvidence = bytes } }

// WithOnStoreError may let runs go on without the list when the store fails. nil: the run ends with the error.
func WithOnStoreError(f func(ctx context.Context, err error) error) Option {
	return func(s *settings) { s.cfg.OnStoreError = f }
}

// WithOnEvent gets every event, in order, on the goroutine that caused it.
func WithOnEvent(f func(ctx context.Context, e core.Event)) Option {
	return func(s *settings) { s.cfg.OnEvent = f }
}

// WithTexts replaces the words that the model reads. A field left "" keeps its default.
func WithTexts(t core.Texts) Option { return func(s *settings) { s.cfg.Texts = &t } }

// WithNow is the clock. nil: time.Now.
func WithNow(now func() time.Time) Option { return func(s *settings) { s.cfg.Now = now } }

// WithNewID makes run ids. nil: random.
func WithNewID(f func() string) Option { return func(s *settings) { s.cfg.NewID = f } }

// WithSessionFunc takes the session id from ctx in the host's own way. nil: core.SessionFrom. A run for which it gives ""
// fails with core.ErrNoSession. It is called by several runs at once.
func WithSessionFunc(f func(ctx context.Context) string) Option {
	return func(s *settings) { s.session = f }
}

// WithInputKey names the input that holds the user's text; the list is shown behind it while no tool has run yet. "": "input",
// or the agent's only input key.
func WithInputKey(key string) Option { return func(s *settings) { s.inputKey = key } }

// WithMaxIterations tells the hook the limit of an executor that is not made by [NewExecutor], so that no correction costs
// the last call of the model. 0: 5, the default of agents.NewExecutor.
func WithMaxIterations(n int) Option { return func(s *settings) { s.maxIterations = n } }
