package storytest_test

import (
	"testing"

	"github.com/todoguard/todoguard/core/storytest"
)

func TestStories(t *testing.T) {
	storytest.Run(t, storytest.Options{Modes: storytest.Modes()}, storytest.Core())
}
