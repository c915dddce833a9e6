package decisions

import (
	"testing"

	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
	"github.com/todoguard/todoguard/internal/surfaces/einograph"
	"github.com/todoguard/todoguard/internal/surfaces/lcg"
)

// Every story that makes sense by merges or task calls, on every surface.
func TestStoriesInAllModes(t *testing.T) {
	surfaces := append(einoadk.Surfaces(), lcg.All()...)
	surfaces = append(surfaces, einograph.All()...)
	storytest.Run(t, storytest.Options{Modes: []storytest.Mode{storytest.ModeMerge, storytest.ModeTasks}}, surfaces...)
}
