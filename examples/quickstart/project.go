package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"

	"github.com/todoguard/todoguard/examples/internal/demo"
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
	screen *demo.Printer
	mu     sync.Mutex
	files  map[string]string
}

func newProject(screen *demo.Printer) *project {
	return &project{screen: screen, files: map[string]string{"client.go": clientGo, "README.md": readmeMD}}
}

type readArgs struct {
	Name string `json:"name" jsonschema:"required" jsonschema_description:"name of the file"`
}

type writeArgs struct {
	Name string `json:"name" jsonschema:"required" jsonschema_description:"name of the file"`
	Text string `json:"text" jsonschema:"required" jsonschema_description:"the whole new text of the file"`
}

func (p *project) tools() []tool.BaseTool {
	return []tool.BaseTool{
		must(utils.InferTool("read_file", "Reads a file of the project.", p.read)),
		must(utils.InferTool("write_file", "Replaces a file of the project, or makes a new one.", p.write)),
	}
}

func (p *project) read(_ context.Context, a readArgs) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, ok := p.files[a.Name]
	if !ok {
		return fmt.Sprintf("There is no file %q. The files are: %s.", a.Name, strings.Join(slices.Sorted(maps.Keys(p.files)), ", ")), nil
	}
	p.screen.Say("", fmt.Sprintf("read %s, %d lines", a.Name, strings.Count(text, "\n")))
	return text, nil
}

func (p *project) write(_ context.Context, a writeArgs) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.files[a.Name] = a.Text
	said := fmt.Sprintf("wrote %s, %d lines", a.Name, strings.Count(a.Text, "\n"))
	p.screen.Say("", said)
	return said, nil
}

// must is for tools whose types are written above: they can only be wrong always.
func must(t tool.InvokableTool, err error) tool.BaseTool {
	if err != nil {
		panic(err)
	}
	return t
}
