package einoadapter_test

import (
	"testing"

	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
)

func TestStoriesADK(t *testing.T) {
	storytest.Run(t, storytest.Options{}, einoadk.Surfaces()...)
}
