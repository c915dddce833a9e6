package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/tools"
)

const (
	clientGo = `package client

// Tries is how often a request is tried.
var Tries = 3

func Do(r Request) (Response, error) {
	for {
		if resp, err := send(r); err == nil {
			return resp, nil
		}
	}
	return Response{}, ErrGaveUp
}
`
	readmeMD = "# client\n\nSends requests.\n"
)

// project is a folder of files in memory, for the agent to work on.
type project struct {
	mu    sync.Mutex
	files map[string]string
}

func newProject() *project {
	return &project{files: map[string]string{"client.go": clientGo, "README.md": readmeMD}}
}

func (p *project) tools() []tools.Tool {
	return []tools.Tool{
		fileTool{"read_file", "Reads a file of the project. The input is the name of the file.", p.read},
		fileTool{"write_file", "Replaces a file of the project, or makes a new one. The first line of the input is the name of the file, the rest its whole new text.", p.write},
	}
}

func (p *project) read(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = strings.TrimSpace(name)
	if text, ok := p.files[name]; ok {
		return text
	}
	return fmt.Sprintf("There is no file %q. The files are: %s.", name, strings.Join(slices.Sorted(maps.Keys(p.files)), ", "))
}

func (p *project) write(input string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	name, text, ok := strings.Cut(input, "\n")
	if !ok {
		return "The text is missing: the first line is the name of the file, the rest its whole new text."
	}
	p.files[strings.TrimSpace(name)] = text
	return fmt.Sprintf("Wrote %d lines.", strings.Count(text, "\n"))
}

type fileTool struct {
	name, description string
	do                func(input string) string
}

func (t fileTool) Name() string                                         { return t.name }
func (t fileTool) Description() string                                  { return t.description }
func (t fileTool) Call(_ context.Context, input string) (string, error) { return t.do(input), nil }
