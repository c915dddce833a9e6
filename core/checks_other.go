//go:build !unix

package core

import "os/exec"

// ownGroup does nothing here: the deadline ends the command itself, not what it started.
func ownGroup(*exec.Cmd) {}
