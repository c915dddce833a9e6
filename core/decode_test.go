package core

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

const (
	oneItem = `{"id":"1","content":"A","status":"in_progress"}`
	oneLst  = `[` + oneItem + `]`
)

// Every leniency of docs/design.md, section 3: accepted, and said under "normalized".
func TestDecodeAcceptsAndSays(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       string // the only line; "" is an empty list
		said       string // "" is: nothing to say
	}{
		{"as asked", `{"todos":` + oneLst + `}`, "1 in_progress A", ""},
		{"empty", `{"todos":[]}`, "", ""},
		{"blanks around", " \n{\"todos\" :\t[ {\"id\" : \"1\" , \"content\":\"A\",\"status\":\"in_progress\"} ] } \r\n", "1 in_progress A", ""},
		{"extra fields", `{"todos":[{"id":"1","content":"A","status":"in_progress","activeForm":"x","priority":3}],"x":1}`, "1 in_progress A", ""},
		{"todos as a string", `{"todos":` + quote(oneLst) + `}`, "1 in_progress A", "todos was a JSON string"},
		{"todos as a string in a string", `{"todos":` + quote(quote(oneLst)) + `}`, "1 in_progress A", "todos was a JSON string"},
		{"item as a string", `{"todos":[` + quote(oneItem) + `]}`, "1 in_progress A", "item 1 was a JSON string"},
		{"item as a string in a string", `{"todos":[` + quote(quote(oneItem)) + `]}`, "1 in_progress A", "item 1 was a JSON string"},
		{"bare array", oneLst, "1 in_progress A", "a bare array"},
		{"one object", `{"todos":` + oneItem + `}`, "1 in_progress A", "one object"},
		{"one object as a string", `{"todos":` + quote(oneItem) + `}`, "1 in_progress A", "one object"},
		{"fence", "```\n{\"todos\":" + oneLst + "}\n```", "1 in_progress A", "fence"},
		{"fence with a language", "```json\n{\"todos\":" + oneLst + "}\n```", "1 in_progress A", "fence"},
		{"fence in one line", "```{\"todos\":" + oneLst + "}```", "1 in_progress A", "fence"},
		{"fence round a bare array", "```json\n" + oneLst + "\n```", "1 in_progress A", "fence"},
		{"__arg1 string", `{"__arg1":` + quote(`{"todos":`+oneLst+`}`) + `}`, "1 in_progress A", "__arg1"},
		{"__arg1 bare array", `{"__arg1":` + quote(oneLst) + `}`, "1 in_progress A", "__arg1"},
		{"__arg1 object", `{"__arg1":{"todos":` + oneLst + `}}`, "1 in_progress A", "__arg1"},
		{"__arg1 array", `{"__arg1":` + oneLst + `}`, "1 in_progress A", "__arg1"},
		{"__arg1 fence", `{"__arg1":` + quote("```json\n{\"todos\":"+oneLst+"}\n```") + `}`, "1 in_progress A", "fence"},
		{"integer id", `{"todos":[{"id":7,"content":"A","status":"in_progress"}]}`, "7 in_progress A", "the integer 7"},
		{"negative integer id", `{"todos":[{"id":-7,"content":"A","status":"in_progress"}]}`, "-7 in_progress A", "the integer -7"},
		{"blanks round an id", `{"todos":[{"id":" 7 ","content":"A","status":"in_progress"}]}`, "7 in_progress A", "id of item 1"},
		{"blank id", `{"todos":[{"id":"  ","content":"A","status":"in_progress"}]}`, "1 in_progress A", "blank id of item 1"},
		{"null id", `{"todos":[{"id":null,"content":"A","status":"in_progress"}]}`, "1 in_progress A", ""},
		{"no id", `{"todos":[{"content":"A","status":"in_progress"}]}`, "1 in_progress A", ""},
		{"blanks round content", `{"todos":[{"id":"1","content":"  A ","status":"in_progress"}]}`, "1 in_progress A", "content of item 1"},
		{"line breaks in content", `{"todos":[{"id":"1","content":"A\r\nB\nC\u2028D\u2029E\u0085F\tG","status":"in_progress"}]}`, "1 in_progress A B C D E F G", "content of item 1"},
		{"control characters", `{"todos":[{"id":"1","content":"A\u0000B\u001bC\u007fD","status":"in_progress"}]}`, "1 in_progress A\uFFFDB\uFFFDC\uFFFDD", "content of item 1"},
		{"lone surrogate", `{"todos":[{"id":"1","content":"A\ud800B","status":"in_progress"}]}`, "1 in_progress A\uFFFDB", ""},
		{"surrogate pair", `{"todos":[{"id":"1","content":"\ud83d\ude00","status":"in_progress"}]}`, "1 in_progress 😀", ""},
		{"bytes that are no UTF-8", "{\"todos\":[{\"id\":\"1\",\"content\":\"A\xff\",\"status\":\"in_progress\"}]}", "1 in_progress A\uFFFD", ""},
		{"key in escapes", `{"\u0074odos":` + oneLst + `}`, "1 in_progress A", ""},
		{"wait null", `{"todos":` + oneLst + `,"wait_for_tasks":null}`, "1 in_progress A", ""},
		{"wait empty", `{"todos":` + oneLst + `,"wait_for_tasks":[]}`, "1 in_progress A", ""},
		{"deps null", `{"todos":[{"id":"1","content":"A","status":"in_progress","depends_on":null}]}`, "1 in_progress A", ""},
		{"merge is ignored in Replace", `{"todos":` + oneLst + `,"merge":"no"}`, "1 in_progress A", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := newTest(t, Config{})
			res := accepted(t, writeRaw(t, begin(t, p), c.args))
			want := []string{}
			if c.want != "" {
				want = []string{c.want}
			}
			require.Equal(t, want, lines(res.Todos))
			require.Equal(t, want, storedLines(t, p))
			said := strings.Join(res.Normalized, "\n")
			if c.said == "" {
				require.Empty(t, said)
			} else {
				require.Contains(t, said, c.said)
			}
		})
	}
}

func TestDecodeStatusSpellings(t *testing.T) {
	spellings := map[Status][]string{
		StatusPending:     {"pending", "Pending", "PENDING", "todo", "TODO", "to-do", "to do", " pending "},
		StatusInProgress:  {"in_progress", "in-progress", "in progress", "inProgress", "InProgress", "IN_PROGRESS", "inprogress"},
		StatusCompleted:   {"completed", "Completed", "complete", "done", "DONE", "Done"},
		StatusCancelled:   {"cancelled", "canceled", "Canceled", "CANCELLED"},
		StatusNeedsReplan: {"needs_replan", "needs-replan", "needsReplan"},
	}
	for _, s := range Statuses() {
		require.NotEmpty(t, spellings[s], "no spellings for %s: add the status here", s)
		for _, sp := range spellings[s] {
			w, bad := decodeWrite(`{"todos":[{"id":"1","content":"A","status":`+quote(sp)+`}]}`, Replace, true)
			require.Nil(t, bad, sp)
			require.Equal(t, s, w.items[0].item.Status, sp)
			if sp == string(s) {
				require.Empty(t, w.normalized, sp)
			} else {
				require.Contains(t, strings.Join(w.normalized, "\n"), "was read as "+string(s), sp)
			}
		}
	}
	// Nothing that is not a spelling becomes a status, least of all pending.
	for _, sp := range []string{"", " ", "banana", "started", "doing", "finished", "in_progress!", "pendin", "deleted", "ongoing", "0", "completed2"} {
		p, _ := newTest(t, Config{})
		res := refused(t, writeRaw(t, begin(t, p), `{"todos":[{"id":"1","content":"A","status":`+quote(sp)+`}]}`), CodeBadStatus)
		require.Contains(t, res.Error.Message, "item 1")
		require.Contains(t, res.Error.Message, quote(sp))
	}
}

// Everything else is refused with a code and a message that names the item and the key.
func TestDecodeRefuses(t *testing.T) {
	q3 := quote(quote(quote(oneLst)))
	for _, c := range []struct {
		name, args string
		code       Code
		says       []string
	}{
		{"nothing", ``, CodeMalformed, []string{"not one complete JSON value"}},
		{"text", `my plan`, CodeMalformed, []string{"not one complete JSON value"}},
		{"null", `null`, CodeMalformed, []string{"null"}},
		{"a number", `7`, CodeMalformed, []string{"a number"}},
		{"a boolean", `true`, CodeMalformed, []string{"a boolean"}},
		{"a string", `"` + `todos` + `"`, CodeMalformed, []string{"a string"}},
		{"the whole argument as a string", quote(`{"todos":` + oneLst + `}`), CodeMalformed, []string{"a string"}},
		{"two values", `{"todos":[]} {"todos":[]}`, CodeMalformed, []string{"not one complete JSON value"}},
		{"trailing text", `{"todos":` + oneLst + `} done`, CodeMalformed, []string{"not one complete JSON value"}},
		{"trailing comma", `{"todos":[` + oneItem + `,]}`, CodeMalformed, []string{"not one complete JSON value"}},
		{"single quotes", `{'todos':[]}`, CodeMalformed, []string{"not one complete JSON value"}},
		{"cut off", `{"todos":[{"id":"1","content":"A","status":"in_progress"},{"id":"2","con`, CodeMalformed, []string{"not one complete JSON value", "every bracket closed"}},
		{"no todos", `{}`, CodeMalformed, []string{"todos is missing"}},
		{"another key", `{"items":` + oneLst + `}`, CodeMalformed, []string{"todos is missing", `"items"`}},
		{"key in another case", `{"Todos":` + oneLst + `}`, CodeMalformed, []string{"todos is missing", `"Todos"`}},
		{"todos null", `{"todos":null}`, CodeMalformed, []string{"todos is null"}},
		{"todos a number", `{"todos":3}`, CodeMalformed, []string{"todos is a number"}},
		{"todos a boolean", `{"todos":false}`, CodeMalformed, []string{"todos is a boolean"}},
		{"todos text", `{"todos":"my plan"}`, CodeMalformed, []string{"todos is a string that holds no JSON"}},
		{"todos empty text", `{"todos":""}`, CodeMalformed, []string{"todos is a string that holds no JSON"}},
		{"todos a string of null", `{"todos":"null"}`, CodeMalformed, []string{"todos is null"}},
		{"three levels of strings", `{"todos":` + q3 + `}`, CodeMalformed, []string{"todos is a string that holds no JSON"}},
		{"item three levels deep", `{"todos":[` + quote(quote(quote(oneItem))) + `]}`, CodeMalformed, []string{"item 1"}},
		{"a cut-off list in a string", `{"todos":"[{\"id\":\"1\""}`, CodeMalformed, []string{"todos is a string that holds no JSON"}},
		{"item null", `{"todos":[null]}`, CodeMalformed, []string{"item 1 is null"}},
		{"item text", `{"todos":[` + oneItem + `,"Write it"]}`, CodeMalformed, []string{"item 2"}},
		{"item a list", `{"todos":[` + oneItem + `,[]]}`, CodeMalformed, []string{"item 2 is an array"}},
		{"content missing", `{"todos":[` + oneItem + `,{"id":"2","title":"B","status":"pending"}]}`, CodeMalformed, []string{"item 2", `"title"`, "content"}},
		{"content missing, no other key", `{"todos":[{"id":"2","status":"pending"}]}`, CodeMalformed, []string{"item 1", "content"}},
		{"content null", `{"todos":[{"content":null,"status":"pending"}]}`, CodeMalformed, []string{"content of item 1 is null"}},
		{"content a number", `{"todos":[{"content":3,"status":"pending"}]}`, CodeMalformed, []string{"content of item 1 is a number"}},
		{"content an object", `{"todos":[{"content":{},"status":"pending"}]}`, CodeMalformed, []string{"content of item 1 is an object"}},
		{"content empty", `{"todos":[{"content":"","status":"in_progress"}]}`, CodeEmptyContent, []string{"item 1"}},
		{"content blank", `{"todos":[` + oneItem + `,{"content":" \n ","status":"pending"}]}`, CodeEmptyContent, []string{"item 2"}},
		{"status missing", `{"todos":[{"id":"x","content":"A"}]}`, CodeBadStatus, []string{"item 1", "no status"}},
		{"status null", `{"todos":[{"content":"A","status":null}]}`, CodeBadStatus, []string{"item 1", "no status"}},
		{"status a number", `{"todos":[{"content":"A","status":1}]}`, CodeMalformed, []string{"status of item 1 is a number"}},
		{"status a boolean", `{"todos":[{"content":"A","status":true}]}`, CodeMalformed, []string{"status of item 1 is a boolean"}},
		{"id a fraction", `{"todos":[{"id":1.5,"content":"A","status":"pending"}]}`, CodeMalformed, []string{"id of item 1", "1.5"}},
		{"id with an exponent", `{"todos":[{"id":1e2,"content":"A","status":"pending"}]}`, CodeMalformed, []string{"id of item 1", "1e2"}},
		{"id a boolean", `{"todos":[{"id":true,"content":"A","status":"pending"}]}`, CodeMalformed, []string{"id of item 1 is a boolean"}},
		{"id an array", `{"todos":[{"id":[],"content":"A","status":"pending"}]}`, CodeMalformed, []string{"id of item 1 is an array"}},
		{"todos twice", `{"todos":[],"todos":` + oneLst + `}`, CodeMalformed, []string{`"todos"`, "twice"}},
		{"todos twice, once in escapes", `{"todos":[],"\u0074odos":` + oneLst + `}`, CodeMalformed, []string{`"todos"`, "twice"}},
		{"id twice", `{"todos":[{"id":"1","id":"2","content":"A","status":"pending"}]}`, CodeMalformed, []string{"item 1", `"id"`, "twice"}},
		{"content twice", `{"todos":[` + oneItem + `,{"content":"A","content":"B","status":"pending"}]}`, CodeMalformed, []string{"item 2", `"content"`, "twice"}},
		{"status twice", `{"todos":[{"content":"A","status":"pending","status":"completed"}]}`, CodeMalformed, []string{"item 1", `"status"`, "twice"}},
		{"depends_on twice", `{"todos":[{"content":"A","status":"pending","depends_on":[],"depends_on":[]}]}`, CodeMalformed, []string{"item 1", `"depends_on"`, "twice"}},
		{"wait twice", `{"todos":[],"wait_for_tasks":[],"wait_for_tasks":[]}`, CodeMalformed, []string{`"wait_for_tasks"`, "twice"}},
		{"depends_on text", `{"todos":[{"content":"A","status":"pending","depends_on":"1"}]}`, CodeMalformed, []string{"depends_on of item 1 is a string"}},
		{"depends_on of objects", `{"todos":[{"content":"A","status":"pending","depends_on":[{}]}]}`, CodeMalformed, []string{"depends_on of item 1", "an object"}},
		{"wait text", `{"todos":[],"wait_for_tasks":"a"}`, CodeMalformed, []string{"wait_for_tasks is a string"}},
		{"wait of null", `{"todos":[],"wait_for_tasks":[null]}`, CodeMalformed, []string{"wait_for_tasks", "null"}},
		{"__arg1 beside others", `{"__arg1":` + quote(oneLst) + `,"x":1}`, CodeMalformed, []string{"todos is missing"}},
		{"__arg1 cut off", `{"__arg1":"{\"todos\":[{\"id\""}`, CodeMalformed, []string{"not one complete JSON value"}},
		{"__arg1 null", `{"__arg1":null}`, CodeMalformed, []string{"__arg1 is null"}},
		{"__arg1 in __arg1", `{"__arg1":{"__arg1":` + oneLst + `}}`, CodeMalformed, []string{"todos is missing"}},
		{"__arg1 twice", `{"__arg1":[],"__arg1":[]}`, CodeMalformed, []string{"twice"}},
		{"half a fence", "```json\n{\"todos\":" + oneLst + "}", CodeMalformed, []string{"not one complete JSON value"}},
		{"text round a fence", "Here:\n```json\n{\"todos\":" + oneLst + "}\n```", CodeMalformed, []string{"not one complete JSON value"}},
		{"fence round nothing", "``````", CodeMalformed, []string{"not one complete JSON value"}},
		{"deep", strings.Repeat("[", 20000) + strings.Repeat("]", 20000), CodeMalformed, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := NewMemoryStore()
			p, rec := newTest(t, Config{Store: store, Dependencies: true})
			seed(t, p, "1 in_progress Seeded")
			doc := document(t, store)
			res := refused(t, writeRaw(t, begin(t, p), c.args), c.code)
			for _, s := range c.says {
				require.Contains(t, res.Error.Message, s)
			}
			require.Equal(t, []string{"1 in_progress Seeded"}, lines(res.Todos), "the refusal carries the list as it is")
			require.Equal(t, 1, res.Summary.Total)
			require.Equal(t, int64(1), res.Revision)
			require.Equal(t, doc, document(t, store), "the list is unchanged")
			require.Len(t, rec.events(EventListChanged), 1, "the seed's")
			require.Len(t, rec.events(EventWriteRefused), 1)
		})
	}
}

// A cut-off list is never closed for the model, wherever the cut is.
func TestDecodeRefusesEveryPrefix(t *testing.T) {
	for _, full := range []string{
		args("1 in_progress A", "2 pending B"),
		`{"__arg1":` + quote(args("1 in_progress A")) + `}`,
		"```json\n" + args("1 in_progress A") + "\n```",
	} {
		for i := range full {
			w, bad := decodeWrite(full[:i], Replace, true)
			require.NotNil(t, bad, "%q", full[:i])
			require.Equal(t, CodeMalformed, bad.Code)
			require.Empty(t, w.items)
		}
	}
}

// What would be a long list of notes is counted.
func TestDecodeNotesAreBounded(t *testing.T) {
	var items []string
	for range 50 {
		items = append(items, `{"content":" A ","status":"done"}`)
	}
	w, bad := decodeWrite(`{"todos":[`+strings.Join(items, ",")+`]}`, Replace, true)
	require.Nil(t, bad)
	require.Len(t, w.normalized, maxNotes+1)
	require.Equal(t, "and 92 more", w.normalized[maxNotes])
}

func TestDecodeMerge(t *testing.T) {
	for _, a := range []string{``, `{}`, " \n", `{"__arg1":"{}"}`, `{"__arg1":{}}`, `{"__arg1":""}`} {
		w, bad := decodeWrite(a, Merge, true)
		require.Nil(t, bad, a)
		require.True(t, w.read, a)
	}
	for _, c := range []struct{ args, says string }{
		{`{"merge":1,"todos":[]}`, "merge is a number"},
		{`{"merge":true,"merge":true,"todos":[]}`, "twice"},
		{`{"merge":true}`, "todos is missing"},
		{`{"todos":null}`, "todos is null"},
		{`{"x":1}`, `"x"`},
		{`null`, "null"},
		{`{"todos":[{"status":"pending"}]}`, "item 1 has no content"},
		{`{"merge":false,"todos":[{"id":"1","status":"pending"}]}`, "item 1 has no content"},
		{`{"merge":false}`, "todos is missing"},
	} {
		_, bad := decodeWrite(c.args, Merge, true)
		require.NotNil(t, bad, c.args)
		require.Equal(t, CodeMalformed, bad.Code, c.args)
		require.Contains(t, bad.Advice, c.says)
	}
	w, bad := decodeWrite(`{"todos":[{"id":"1","status":"done"}],"merge":null}`, Merge, true)
	require.Nil(t, bad)
	require.True(t, w.merge)
	require.Equal(t, hasID|hasStatus, w.items[0].has)
}

// FuzzDecode: any bytes as arguments of any tool: no panic, no Go error, a result that is JSON and valid UTF-8, the document
// untouched unless the write was accepted, and a list that can be read again and keeps the rules if it was.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `""`, `{`, `{"todos":`, `{"todos":null}`, `{"todos":[]}`, `{"todos":` + oneLst + `}`, oneLst, oneItem,
		`{"todos":` + quote(oneLst) + `}`, `{"todos":` + quote(quote(oneLst)) + `}`, `{"todos":` + quote(quote(quote(oneLst))) + `}`,
		`{"todos":[` + quote(oneItem) + `]}`, "```json\n{\"todos\":" + oneLst + "}\n```", "``````", `{"__arg1":` + quote(oneLst) + `}`, `{"__arg1":""}`,
		`{"todos":[{"id":7,"content":"A\ud800\u0000\u2028","status":"inProgress","depends_on":[1,"2"]}]}`,
		`{"todos":[{"content":"A","status":"completed"},{"content":"A","status":"in_progress"}]}`,
		`{"todos":[{"id":4611686018427387903,"content":"A","status":"in_progress"},{"content":"B","status":"pending"}]}`,
		`{"todos":[{"id":"1","content":"Seed one","status":"completed"},{"id":"2","content":"Seed two","status":"in_progress"}],"merge":false}`,
		`{"todos":[],"wait_for_tasks":["a","a"]}`, `{"wait_for_tasks":["a"]}`, "{\"todos\":[{\"id\":\"1\",\"content\":\"\xff\",\"status\":\"pending\"}]}",
		`{"taskId":"1","status":"done","addBlocks":["2"],"metadata":{"a":null,"b":[1]},"owner":"x"}`, `{"taskId":1,"status":"deleted"}`, `{"subject":"New","metadata":{}}`,
		"{\"taskId\":\"1\",\"metadata\":{\"a\":\"\xff\"}}", `{"taskId":"2","addBlockedBy":["1","1"],"removeBlockedBy":["9"]}`,
		strings.Repeat(`[`, 300), `{"todos":[{"id":"` + strings.Repeat("9", 90) + `","content":"A","status":"in_progress"}]}`,
	} {
		for mode := range uint8(5) {
			f.Add(s, mode)
		}
	}
	valid := func(context.Context, []string, WaitInfo, *WaitBinding) (WaitValidation, error) {
		return WaitValidation{Status: WaitValid}, nil
	}
	f.Fuzz(func(t *testing.T, args string, mode uint8) {
		store := NewMemoryStore()
		cfg := Config{Store: store, Dependencies: mode&8 == 0, ValidateWait: valid}
		tool := DefaultToolName
		switch mode % 5 {
		case 1:
			cfg.Updates = Merge
		case 2:
			cfg.Tools, tool = ToolsTasks, TaskUpdate
		case 3:
			cfg.Tools, tool = ToolsTasks, TaskCreate
		case 4:
			cfg.Tools, tool = ToolsTasks, TaskGet
		}
		p, err := New(cfg)
		require.NoError(t, err)
		seed(t, p, "1 in_progress Seed one", "2 pending Seed two")
		doc := document(t, store)
		r := begin(t, p)
		before(t, r)
		for range 2 { // the second time on what the first one left
			text, err := r.CallTool(t.Context(), Call{ID: "c", Name: tool, Args: args})
			require.NoError(t, err)
			require.True(t, utf8.ValidString(text), "%q", text)
			res := parseResult(t, text)
			now := document(t, store)
			require.True(t, utf8.ValidString(now), "%q", now)
			if res.Error != nil {
				require.NotEmpty(t, res.Error.Message)
				require.Equal(t, doc, now)
			}
			doc = now
			s, err := p.Get(t.Context(), sess)
			require.NoError(t, err)
			require.LessOrEqual(t, s.Summary.InProgress, 1)
			for _, it := range s.Todos {
				require.NotEmpty(t, it.Content)
				require.NotContains(t, it.Content, "\n")
				require.NotEqual(t, StatusNeedsReplan, it.Status)
			}
		}
	})
}

// Extra fields are ignored, whatever they hold; without dependencies depends_on is one.
func TestDependsOnIsAnExtraFieldWithoutDependencies(t *testing.T) {
	const args = `{"todos":[{"id":"1","content":"A","status":"pending","depends_on":"soon"}]}`
	w, bad := decodeWrite(args, Replace, false)
	require.Nil(t, bad)
	require.Nil(t, w.items[0].item.DependsOn)
	require.Empty(t, w.normalized)
	_, bad = decodeWrite(args, Replace, true)
	require.Equal(t, CodeMalformed, bad.Code)
}
