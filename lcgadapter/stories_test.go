package lcgadapter_test

import (
	"testing"

	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/lcg"
)

func TestStories(t *testing.T) {
	storytest.Run(t, storytest.Options{}, lcg.All()...)
}
