package einoadapter_test

import (
	"testing"

	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einograph"
)

func TestStoriesGraph(t *testing.T) {
	storytest.Run(t, storytest.Options{}, einograph.All()...)
}

func TestStoriesGraphRedis(t *testing.T) {
	storytest.Run(t, storytest.Options{Stores: onRedis(t)}, einograph.All()...)
}
