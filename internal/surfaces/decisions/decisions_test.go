// Package decisions holds one story against several frameworks: the same story comes to the same decisions
// (docs/design.md, section 9).
package decisions

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/core/storytest"
	"github.com/todoguard/todoguard/internal/surfaces/einoadk"
	"github.com/todoguard/todoguard/internal/surfaces/einograph"
	"github.com/todoguard/todoguard/internal/surfaces/lcg"
)

// decisions is what has to be equal.
type decisions struct {
	Results  map[string]string // call id to "ok" or the code of the refusal
	Corrects int
	Named    []string // the items that each correction names
	Reminded []int
	Stored   string
	Answers  []string
	Open     []int // open items at the end of each run
	Reasons  []core.EndReason
}

func TestStoriesDecidedAlike(t *testing.T) {
	stories, err := storytest.Builtin()
	require.NoError(t, err)
	surfaces := append(einoadk.Surfaces(), lcg.All()...)
	surfaces = append(surfaces, einograph.All()...)
	for _, s := range stories {
		t.Run(s.Name, func(t *testing.T) {
			want := decide(t, s, storytest.Core())
			compared := 0
			for _, sf := range surfaces {
				if why := s.CannotOn(sf, storytest.ModeReplace); why != "" {
					t.Logf("not on %s: %s", sf.Name, why)
					continue
				}
				require.Equal(t, want, decide(t, s, sf), "%s against core", sf.Name)
				compared++
			}
			require.GreaterOrEqual(t, compared, 8, "both frameworks are compared")
		})
	}
}

func decide(t *testing.T, s *storytest.Story, sf storytest.Surface) decisions {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	rec := storytest.Play(ctx, t, s, sf, storytest.ModeReplace, core.NewMemoryStore())
	require.Empty(t, rec.Problems, sf.Name)
	d := decisions{Results: map[string]string{}, Corrects: len(rec.Corrections), Reminded: rec.Reminded, Stored: rec.Stored}
	for id, text := range rec.Results {
		d.Results[id] = storytest.Code(text)
	}
	for _, text := range rec.Corrections {
		d.Named = append(d.Named, text[:strings.LastIndex(text, `"`)+1])
	}
	for _, e := range rec.Ends {
		d.Open = append(d.Open, len(e.Open))
		d.Reasons = append(d.Reasons, e.Reason)
		d.Answers = append(d.Answers, e.Answer) // what the rules say is delivered; the stories hold what arrives
	}
	slices.Sort(d.Reminded)
	return d
}
