package core

import (
	"encoding/json"
	"strings"
)

// ToolSpec describes one tool to a framework.
type ToolSpec struct {
	Name        string
	Description string          // no braces: both frameworks treat it as a template somewhere
	Schema      json.RawMessage // a JSON schema of type object; nothing outside the plain subset that providers share
}

// The names of the task tools (docs/design.md, section 10).
const (
	TaskCreate = "TaskCreate"
	TaskGet    = "TaskGet"
	TaskUpdate = "TaskUpdate"
	TaskList   = "TaskList"
)

// Tools returns the tools that the model gets, in a fixed order. The slice is the caller's.
func (p *Planner) Tools() []ToolSpec {
	if p.cfg.Tools == ToolsTasks {
		return p.taskSpecs()
	}
	t := &p.texts
	desc := t.Description
	if p.cfg.Updates == Merge {
		desc = t.DescriptionMerge
	}
	if p.cfg.Dependencies {
		desc += " " + t.Dependencies
	}
	if p.cfg.ValidateWait != nil {
		desc += " " + t.Waiting
	}
	item := props{
		{"id", `{"type":"string"}`},
		{"content", `{"type":"string"}`},
		{"status", `{"type":"string","enum":["pending","in_progress","completed","cancelled"]}`},
	}
	required := `["content","status"]`
	if p.cfg.Updates == Merge {
		required = `[]`
	}
	if p.cfg.Dependencies {
		item = append(item, prop{"depends_on", `{"type":"array","items":{"type":"string"}}`})
	}
	top := props{{"todos", `{"type":"array","items":` + item.object(required) + `}`}}
	need := `["todos"]`
	if p.cfg.Updates == Merge {
		top = append(top, prop{"merge", `{"type":"boolean","description":"Default true; false replaces the whole list."}`})
		need = `[]`
	}
	if p.cfg.ValidateWait != nil {
		top = append(top, prop{"wait_for_tasks", `{"type":"array","items":{"type":"string"}}`})
	}
	return []ToolSpec{{Name: p.cfg.ToolName, Description: fill(desc, "$TOOL", p.cfg.ToolName), Schema: json.RawMessage(top.object(need))}}
}

// IsTool reports whether name is one of the tools of [Planner.Tools]. Case does not matter, as in some frameworks.
func (p *Planner) IsTool(name string) bool {
	if p.cfg.Tools != ToolsTasks {
		return strings.EqualFold(name, p.cfg.ToolName)
	}
	return taskTool(name) != ""
}

// taskTool returns the exact name of a task tool, or "".
func taskTool(name string) string {
	for _, n := range []string{TaskCreate, TaskGet, TaskUpdate, TaskList} {
		if strings.EqualFold(name, n) {
			return n
		}
	}
	return ""
}

// toolName is the tool that texts name: the one that changes items.
func (p *Planner) toolName() string {
	if p.cfg.Tools == ToolsTasks {
		return TaskUpdate
	}
	return p.cfg.ToolName
}

// Instruction is the text for the system prompt, without braces and without a line break at its ends.
func (p *Planner) Instruction() string {
	name := p.toolName()
	if p.cfg.Tools == ToolsTasks {
		name = TaskCreate
	}
	return fill(p.texts.Instruction, "$TOOL", name)
}

// prop and props write JSON schemas with their properties in the order in which a model should fill them.
type (
	prop  struct{ name, schema string }
	props []prop
)

func (ps props) object(required string) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + p.name + `":` + p.schema)
	}
	b.WriteString(`}`)
	if required != `[]` {
		b.WriteString(`,"required":` + required)
	}
	b.WriteString(`}`)
	return b.String()
}
