package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/todoguard/todoguard/core"
)

//go:embed testdata/work.json
var workJSON []byte

// work is a scripted piece of work: a plan, then for each item one call of another tool and one update of the list.
type work struct {
	System string `json:"system"`
	User   string `json:"user"`
	Final  string `json:"final"`
	Tool   struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tool"`
	StepResult string `json:"step_result"`
	Items      []struct {
		Content    string `json:"content"`
		ActiveForm string `json:"activeForm"`
	} `json:"items"`
}

func sixSteps(t testing.TB) work {
	var w work
	require.NoError(t, json.Unmarshal(workJSON, &w))
	require.Len(t, w.Items, 6)
	return w
}

// status is that of item i once n items are done.
func (w work) status(i, n int) core.Status {
	switch {
	case i < n:
		return core.StatusCompleted
	case i == n:
		return core.StatusInProgress
	}
	return core.StatusPending
}

func (w work) stepArgs(n int) string { return fmt.Sprintf(`{"step":%d}`, n+1) }
