package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Route makes a [Checker] from rules that are tried in order: the first that gives a check for an item decides. No rule for
// an item, or no rules at all: it needs no check. A nil rule is passed over.
func Route(rules ...Checker) Checker {
	return func(it Item) Check {
		for _, rule := range rules {
			if rule == nil {
				continue
			}
			if c := rule(it); c != nil {
				return c
			}
		}
		return nil
	}
}

// ByID is a rule of [Route]: the check of the item with this id. Ids are the model's choice unless the host wrote the list.
func ByID(id string, c Check) Checker { return When(func(it Item) bool { return it.ID == id }, c) }

// When is a rule of [Route]: the check of every item for which is reports true.
func When(is func(Item) bool, c Check) Checker {
	return func(it Item) Check {
		if is(it) {
			return c
		}
		return nil
	}
}

// ForAll is a rule of [Route]: one check for every item.
func ForAll(c Check) Checker { return When(func(Item) bool { return true }, c) }

// Command is a program that decides whether an item is done: exit status 0 is passed, any other is failed. There is no shell,
// and nothing of the item reaches the program: neither arguments nor environment are built from what the model wrote.
type Command struct {
	Path string   // looked up in PATH if it holds no slash
	Args []string // without the program's name; nil: none
	Dir  string   // "": the process's own
	Env  []string // "KEY=value"; nil: the process's own environment, empty but not nil: none
}

// commandOutput is how much of a command's output is kept while it runs, from its end; Config.CheckOutput cuts further.
const commandOutput = 64 << 10

// CommandCheck runs a [Command]. At the deadline it and what it started are killed: that is CheckTimed. A program that cannot be
// started, or that a signal from outside ended, is CheckNotRun. The output is stdout and stderr together.
func CommandCheck(cmd Command) Check {
	return func(ctx context.Context, _ Item) CheckResult {
		c := exec.CommandContext(ctx, cmd.Path, cmd.Args...)
		c.Dir, c.Env = cmd.Dir, cmd.Env
		out := &lastBytes{most: commandOutput}
		c.Stdout, c.Stderr = out, out
		c.WaitDelay = time.Second // for output pipes that a grandchild keeps open
		ownGroup(c)
		err := c.Run()
		var exit *exec.ExitError
		switch {
		case ctx.Err() != nil:
			return CheckResult{Status: CheckTimed, Output: out.String()}
		case err == nil, errors.Is(err, exec.ErrWaitDelay) && c.ProcessState.Success():
			return CheckResult{Status: CheckPassed, Output: out.String()}
		case errors.As(err, &exit) && exit.Exited():
			return CheckResult{Status: CheckFailed, Output: strings.TrimRight(out.String(), "\n") + fmt.Sprintf("\nexit status %d", exit.ExitCode())}
		}
		return CheckResult{Status: CheckNotRun, Output: strings.TrimSpace(fmt.Sprintf("%s\n%v", out, err))}
	}
}

// lastBytes keeps the last bytes written to it.
type lastBytes struct {
	most    int
	buf     []byte
	dropped bool
}

func (b *lastBytes) Write(p []byte) (int, error) {
	b.buf = append(b.buf, p...)
	if over := len(b.buf) - b.most; over > 0 {
		b.buf = append(b.buf[:0], b.buf[over:]...)
		b.dropped = true
	}
	return len(p), nil
}

func (b *lastBytes) String() string {
	if b.dropped {
		return "[...]" + string(bytes.ToValidUTF8(b.buf, []byte("\uFFFD")))
	}
	return string(bytes.ToValidUTF8(b.buf, []byte("\uFFFD")))
}

// FileExists passes when there is a file or folder at path.
func FileExists(path string) Check {
	return func(context.Context, Item) CheckResult {
		switch _, err := os.Stat(path); {
		case err == nil:
			return CheckResult{Status: CheckPassed}
		case errors.Is(err, os.ErrNotExist):
			return CheckResult{Status: CheckFailed, Output: path + " does not exist"}
		default:
			return CheckResult{Status: CheckNotRun, Output: err.Error()}
		}
	}
}

// AllOf passes when every check passes. They run in order; the first that does not pass decides. None: passed.
func AllOf(checks ...Check) Check {
	return func(ctx context.Context, it Item) CheckResult {
		for _, c := range checks {
			if r := c(ctx, it); r.Status != CheckPassed {
				return r
			}
		}
		return CheckResult{Status: CheckPassed}
	}
}

// AnyOf passes when one check passes. They run in order until one does. Otherwise it failed if any of them failed, else it
// could not run; the outputs are joined. None: CheckNotRun.
func AnyOf(checks ...Check) Check {
	return func(ctx context.Context, it Item) CheckResult {
		all := CheckResult{Status: CheckNotRun}
		var outs []string
		for _, c := range checks {
			r := c(ctx, it)
			if r.Status == CheckPassed {
				return r
			}
			if r.Status == CheckFailed {
				all.Status = CheckFailed
			}
			if r.Output != "" {
				outs = append(outs, r.Output)
			}
		}
		all.Output = strings.Join(outs, "\n")
		return all
	}
}
