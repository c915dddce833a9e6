package core

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An error names the field, the value got and the value wanted; several come together.
func TestConfigErrors(t *testing.T) {
	for field, c := range map[string]struct {
		cfg       Config
		got, want string
	}{
		"Limits.Items":     {Config{Limits: Limits{Items: -1}}, "is -1", "want 0 (the default) or more"},
		"Limits.Content":   {Config{Limits: Limits{Content: -2}}, "is -2", "or more"},
		"Limits.ID":        {Config{Limits: Limits{ID: -3}}, "is -3", "or more"},
		"Reminder.After":   {Config{Reminder: &Reminder{After: -4}}, "is -4", "or more"},
		"Reminder.Every":   {Config{Reminder: &Reminder{Every: -5}}, "is -5", "or more"},
		"MaxFailures":      {Config{MaxFailures: -6}, "is -6", "or more"},
		"CheckTime":        {Config{CheckTime: -7}, "is -7", "or more"},
		"CheckOutput":      {Config{CheckOutput: -8}, "is -8", "or more"},
		"WaitTime":         {Config{WaitTime: -9}, "is -9", "or more"},
		"WaitEvidence":     {Config{WaitEvidence: -10}, "is -10", "or more"},
		"Updates":          {Config{Updates: "some"}, `is "some"`, `one of ["replace" "merge"]`},
		"Tools":            {Config{Tools: "all"}, `is "all"`, `one of ["write" "tasks"]`},
		"Results":          {Config{Results: "none"}, `is "none"`, `one of ["full" "brief"]`},
		"Arm":              {Config{Arm: "never"}, `is "never"`, `one of ["always" "after_write"]`},
		"OnExhausted":      {Config{OnExhausted: "shout"}, `is "shout"`, `one of ["proceed" "explain"]`},
		"ToolName":         {Config{ToolName: "write todos"}, `is "write todos"`, "1 to 64 of a-z A-Z 0-9 _ -"},
		"Texts.Block":      {Config{Texts: &Texts{Block: "a {b}"}}, "holds a brace", "want none"},
		"Texts.TaskCreate": {Config{Texts: &Texts{TaskCreate: "}"}}, "holds a brace", "want none"},
	} {
		p, err := New(c.cfg)
		require.Nil(t, p)
		require.ErrorContains(t, err, "Config."+field)
		require.ErrorContains(t, err, c.got)
		require.ErrorContains(t, err, c.want)
	}
	_, err := New(Config{Arm: "x", MaxFailures: -1, ToolName: strings.Repeat("n", 65)})
	for _, s := range []string{"Config.Arm", "Config.MaxFailures", "Config.ToolName"} {
		require.ErrorContains(t, err, s)
	}
}

func TestConfigDefaults(t *testing.T) {
	p, err := New(Config{})
	require.NoError(t, err)
	got := p.Config()
	require.IsType(t, &MemoryStore{}, got.Store)
	require.NotNil(t, got.Now)
	require.NotEmpty(t, got.NewID())
	require.NotEqual(t, got.NewID(), got.NewID())
	got.Store, got.Now, got.NewID = nil, nil, nil
	require.Equal(t, Config{
		ToolName: "write_todos", Limits: Limits{Items: 100, Content: 1000, ID: 80}, Updates: Replace, Tools: ToolsWrite, Results: ResultsFull,
		Reminder: &Reminder{After: 5, Every: 5}, Arm: ArmAlways, OnExhausted: Proceed, MaxFailures: 2, CheckTime: 2 * time.Minute, CheckOutput: 2000,
		WaitTime: 10 * time.Second, WaitEvidence: 16 << 10,
	}, got)
	got.Reminder.After = 1
	require.Equal(t, 5, p.Config().Reminder.After, "a copy")
}

// A Config is read once: what the host does to it afterwards has no effect.
func TestConfigIsReadOnce(t *testing.T) {
	rem := &Reminder{After: 1}
	texts := &Texts{Block: "MINE"}
	p, err := New(Config{Reminder: rem, Texts: texts})
	require.NoError(t, err)
	rem.After, texts.Block = 0, "{"
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	require.Contains(t, before(t, r), "MINE")
	work(t, r)
	require.Contains(t, before(t, r), "Reminder:")
}

func TestTexts(t *testing.T) {
	all := DefaultTexts()
	v := reflect.ValueOf(all)
	for i := range v.NumField() {
		name, s := v.Type().Field(i).Name, v.Field(i).String()
		require.NotEmpty(t, s, name)
		require.NotContains(t, s, "{", name)
		require.NotContains(t, s, "}", name)
		require.NotContains(t, s, DefaultToolName, "%s names the tool by $TOOL", name)
	}
	// Own texts take the place of the defaults one by one, and name the tool by its real name.
	p, _ := newTest(t, Config{ToolName: "plan", Texts: &Texts{Instruction: "Use $TOOL."}})
	require.Equal(t, "Use plan.", p.Instruction())
	require.Equal(t, DefaultTexts().Description, strings.ReplaceAll(p.Tools()[0].Description, "plan", "plan"))
	seed(t, p, "1 in_progress A")
	r := begin(t, p)
	require.Contains(t, say(t, r, "x").Message, "plan")
	require.Equal(t, DefaultTexts(), all, "the caller's copy is its own")
}
