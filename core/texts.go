package core

import (
	"embed"
	"reflect"
	"strings"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Texts are the words that the model reads (docs/design.md, section 6). They may name placeholders: $TOOL is the tool's
// real name, others stand at the field. None may hold a brace: both frameworks treat instructions as templates. A
// field left "" keeps its default.
type Texts struct {
	Description      string // of write_todos
	DescriptionMerge string // of write_todos, with Updates: Merge
	Dependencies     string // behind the description, when dependencies are on
	Waiting          string // behind the description, when waits are on
	Instruction      string // for the system prompt

	Block    string // first line of the block of open items
	Reminder string // $TURNS: turns without an update
	Verify   string // in the result that closes a list of three or more items
	Kept     string // $HELD: the held answer, quoted where the model cannot see it otherwise

	Correction      string // $ITEMS: the open items; $ANSWER and $CLOSE: one of the pairs below
	AnswerDelivered string // the user has seen the answer
	AnswerHeld      string // the user has not seen it yet
	CloseDelivered  string
	CloseHeld       string
	Explain         string // $ITEMS: the open items

	TaskCreate string // descriptions of the task tools
	TaskUpdate string
	TaskGet    string
	TaskList   string
}

var defaultTexts = Texts{
	Description:      prompt("description"),
	DescriptionMerge: prompt("description_merge"),
	Dependencies:     prompt("dependencies"),
	Waiting:          prompt("waiting"),
	Instruction:      prompt("instruction"),
	Block:            prompt("block"),
	Reminder:         prompt("reminder"),
	Verify:           prompt("verify"),
	Kept:             prompt("kept"),
	Correction:       prompt("correction"),
	AnswerDelivered:  prompt("answer_delivered"),
	AnswerHeld:       prompt("answer_held"),
	CloseDelivered:   prompt("close_delivered"),
	CloseHeld:        prompt("close_held"),
	Explain:          prompt("explain"),
	TaskCreate:       prompt("task_create"),
	TaskUpdate:       prompt("task_update"),
	TaskGet:          prompt("task_get"),
	TaskList:         prompt("task_list"),
}

// DefaultTexts returns the texts of this version. A change of wording is a change of behaviour: see CHANGELOG.md.
func DefaultTexts() Texts { return defaultTexts }

func prompt(name string) string {
	b, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic("core: " + err.Error()) // the files are embedded: this cannot happen in a build that passes its tests
	}
	return strings.TrimSpace(string(b))
}

// withDefaults fills the fields that are "".
func (t *Texts) withDefaults() Texts {
	out := defaultTexts
	if t == nil {
		return out
	}
	from, to := reflect.ValueOf(*t), reflect.ValueOf(&out).Elem()
	for i := range from.NumField() {
		if s := from.Field(i).String(); s != "" {
			to.Field(i).SetString(s)
		}
	}
	return out
}

// braced names the first field that holds a brace, or "".
func (t *Texts) braced() string {
	v := reflect.ValueOf(*t)
	for i := range v.NumField() {
		if strings.ContainsAny(v.Field(i).String(), "{}") {
			return v.Type().Field(i).Name
		}
	}
	return ""
}

// fill puts values into a text's placeholders, all in one pass, so that a value cannot bring in another placeholder.
func fill(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }
