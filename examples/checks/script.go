package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/todoguard/todoguard/examples/internal/demo"
)

type writeArgs struct {
	Name string `json:"name" jsonschema:"required" jsonschema_description:"name of the file"`
	Text string `json:"text" jsonschema:"required" jsonschema_description:"the whole new text of the file"`
}

// item is an item as a model writes it, with its id and what it depends on.
type item struct {
	ID        string   `json:"id"`
	Content   string   `json:"content"`
	Status    string   `json:"status"`
	DependsOn []string `json:"depends_on,omitempty"`
}

func list(tests, note string) map[string]any {
	return map[string]any{"todos": []item{
		{ID: "tests", Content: "Make the tests pass", Status: tests},
		{ID: "note", Content: "Say what was wrong", Status: note, DependsOn: []string{"tests"}},
	}}
}

// script is the model: a claim without any work, the work, the same claim, the answer.
func script() *demo.Model {
	return demo.Script(
		demo.Call("write_todos", list("completed", "in_progress")),
		demo.Call("write_file", writeArgs{Name: "mean.go", Text: strings.Replace(meanGo, "len(x) - 1", "len(x)", 1)}),
		demo.Call("write_todos", list("completed", "in_progress")),
		demo.Call("write_todos", list("completed", "completed")),
		demo.Say("Mean divided by one less than the number of values. It divides by their number now, and the tests pass."),
	)
}

const meanGo = `package mean

// Mean is the arithmetic mean of x, which is not empty.
func Mean(x ...float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x) - 1)
}
`

const meanTestGo = `package mean

import "testing"

func TestMean(t *testing.T) {
	if got := Mean(1, 2, 6); got != 3 {
		t.Errorf("Mean(1, 2, 6) is %v, want 3", got)
	}
}
`

// brokenPackage makes a folder with a module whose test fails.
func brokenPackage() (string, error) {
	dir, err := os.MkdirTemp("", "checks")
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{"go.mod": "module mean\n\ngo 1.26\n", "mean.go": meanGo, "mean_test.go": meanTestGo} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return dir, nil
}
