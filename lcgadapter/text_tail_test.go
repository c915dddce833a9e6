package lcgadapter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What follows the JSON of a text agent's call is dropped only where it is talk: JSON that goes on is no complete list, and
// core refuses it.
func TestFirstValue(t *testing.T) {
	for in, want := range map[string][2]string{
		`{"a":1}`:                               {`{"a":1}`, ""},
		" {\"a\":1} \n":                         {`{"a":1}`, ""},
		"{\"a\":1}\nObservation: done":          {`{"a":1}`, "\nObservation: done"},
		"{\"a\":1}\nThat is the plan.":          {`{"a":1}`, "\nThat is the plan."},
		"{\"a\":1}Observation: done":            {`{"a":1}`, "Observation: done"},
		"{\"a\":1}\nAction: x\nAction Input: y": {`{"a":1}`, "\nAction: x\nAction Input: y"},
		`{"a":1}}`:                              {`{"a":1}}`, ""},
		"{\"a\":1}\n}":                          {"{\"a\":1}\n}", ""},
		`{"a":1} and more`:                      {`{"a":1} and more`, ""},
		"{\"a\":1}}\nObservation: done":         {`{"a":1}}`, "\nObservation: done"},
		`{"a":`:                                 {`{"a":`, ""},
		"{\"a\":\nObservation: done":            {`{"a":`, "\nObservation: done"},
	} {
		args, rest := firstValue(in)
		require.Equal(t, want, [2]string{args, rest}, "%q", in)
	}
}
