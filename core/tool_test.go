package core

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is not switched on is not in the schema, and neither is anything outside the subset that providers share.
func TestToolSchemas(t *testing.T) {
	for name, c := range map[string]struct {
		cfg                  Config
		tools                []string
		dependencies, waits  bool
		required             []string
		merge, mentionsWaits bool
	}{
		"default":      {Config{}, []string{"write_todos"}, false, false, []string{"todos"}, false, false},
		"renamed":      {Config{ToolName: "plan"}, []string{"plan"}, false, false, []string{"todos"}, false, false},
		"dependencies": {Config{Dependencies: true}, []string{"write_todos"}, true, false, []string{"todos"}, false, false},
		"waits":        {Config{ValidateWait: validWait}, []string{"write_todos"}, false, true, []string{"todos"}, false, true},
		"merge":        {Config{Updates: Merge}, []string{"write_todos"}, false, false, nil, true, false},
		"all":          {Config{Updates: Merge, Dependencies: true, ValidateWait: validWait}, []string{"write_todos"}, true, true, nil, true, true},
		"tasks":        {Config{Tools: ToolsTasks}, []string{TaskCreate, TaskUpdate, TaskGet, TaskList}, false, false, []string{"subject"}, false, false},
		"tasks, all":   {Config{Tools: ToolsTasks, Dependencies: true, ValidateWait: validWait}, []string{TaskCreate, TaskUpdate, TaskGet, TaskList}, true, true, []string{"subject"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newTest(t, c.cfg)
			var names []string
			all := ""
			for _, spec := range p.Tools() {
				names = append(names, spec.Name)
				require.True(t, p.IsTool(spec.Name))
				require.NotContains(t, spec.Description, "$")
				require.NotContains(t, spec.Description, "{")
				var schema struct {
					Type       string
					Properties map[string]json.RawMessage
					Required   []string
				}
				require.NoError(t, json.Unmarshal(spec.Schema, &schema))
				require.Equal(t, "object", schema.Type)
				require.NotNil(t, schema.Properties)
				for _, r := range schema.Required {
					require.Contains(t, schema.Properties, r)
				}
				if spec.Name == p.Tools()[0].Name {
					require.Equal(t, c.required, schema.Required)
				}
				all += string(spec.Schema) + spec.Description
			}
			require.Equal(t, c.tools, names)
			require.Equal(t, c.dependencies, strings.Contains(all, "depends_on") || strings.Contains(all, "addBlockedBy"))
			require.Equal(t, c.waits, strings.Contains(all, `"wait_for_tasks"`))
			require.Equal(t, c.mentionsWaits, strings.Contains(all, "background work"))
			require.Equal(t, c.merge, strings.Contains(all, `"merge"`))
			require.NotContains(t, all, string(StatusNeedsReplan), "it is not the model's to set")
			for _, s := range Statuses() {
				require.True(t, s == StatusNeedsReplan || strings.Contains(all, string(s)), s)
			}
			require.NotContains(t, p.Instruction(), "$")
			require.Contains(t, p.Instruction(), names[0])
		})
	}
}
