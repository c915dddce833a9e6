//go:build unix

package core

import (
	"os"
	"syscall"
)

func killSelf() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}
