//go:build unix

package core

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the command a process group of its own, so that the deadline ends what it started as well.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
