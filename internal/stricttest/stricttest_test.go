package stricttest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	oaTools = `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{"x":{"type":"string"}}}}}]`
	oaUser  = `{"role":"user","content":"go"}`
	oaCall  = `{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{\"x\":\"1\"}"}}]}`
	oaRes   = `{"role":"tool","tool_call_id":"c1","content":"r"}`
)

func oaBody(messages ...string) string {
	return `{"model":"m",` + oaTools + `,"messages":[` + strings.Join(messages, ",") + `]}`
}

// Each wrong request is refused by the rule that it breaks, and the right one passes.
func TestOpenAIRefusesWhatBreaksTheProtocol(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"right":               {oaBody(oaUser, oaCall, oaRes), ""},
		"no model":            {`{` + oaTools + `,"messages":[` + oaUser + `]}`, "no model"},
		"functions":           {`{"model":"m","functions":[],"messages":[` + oaUser + `]}`, "old protocol"},
		"unanswered call":     {oaBody(oaUser, oaCall), "have no result"},
		"late result":         {oaBody(oaUser, oaCall, `{"role":"user","content":"x"}`, oaRes), "have no result"},
		"answered twice":      {oaBody(oaUser, oaCall, oaRes, oaRes), "answers no open call"},
		"wrong id":            {oaBody(oaUser, oaCall, strings.Replace(oaRes, "c1", "c2", 1)), "answers no open call"},
		"no id":               {oaBody(oaUser, strings.Replace(oaCall, `"c1"`, `""`, 1), strings.Replace(oaRes, `"c1"`, `""`, 1)), "without an id"},
		"call not made":       {oaBody(oaUser, strings.Replace(oaCall, `\"1\"`, `\"2\"`, 1), oaRes), "did not make"},
		"text not said":       {oaBody(oaUser, `{"role":"assistant","content":"hm"}`, oaUser), "did not say"},
		"no such tool":        {`{"model":"m","messages":[` + strings.Join([]string{oaUser, oaCall, oaRes}, ",") + `]}`, "no tool of the request"},
		"nameless call":       {oaBody(oaUser, strings.Replace(oaCall, `"a"`, `""`, 1), oaRes), "function name"},
		"id used twice":       {oaBody(oaUser, oaCall, oaRes, oaCall, oaRes), "stands twice"},
		"two users":           {oaBody(oaUser, oaUser), "two user messages"},
		"late system":         {oaBody(oaUser, `{"role":"system","content":"s"}`), "does not lead"},
		"assistant first":     {oaBody(oaCall, oaRes), "an assistant message after"},
		"assistant last":      {oaBody(oaUser, oaCall, oaRes, `{"role":"assistant","content":"said"}`), "the last message"},
		"doubled tool":        {strings.Replace(oaBody(oaUser), `"tools":[`, `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"}}},`, 1), "stands twice"},
		"typeless property":   {strings.Replace(oaBody(oaUser), `{"type":"string"}`, `{}`, 1), "without a type"},
		"no messages":         {oaBody(), "no messages"},
		"an unknown role":     {oaBody(`{"role":"bot","content":"x"}`), `the role "bot"`},
		"missing content":     {oaBody(`{"role":"user"}`), "no content"},
		"arguments no string": {oaBody(oaUser, strings.Replace(oaCall, `"{\"x\":\"1\"}"`, `{"x":"1"}`, 1), oaRes), "no string"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := OpenAI(t, Reply{}, Reply{Text: "next"})
			s.said = []Reply{{Calls: []Call{{ID: "c1", Name: "a", Args: `{"x":"1"}`}}}, {Text: "said"}}
			expect(t, s, "/chat/completions", c.body, c.want)
		})
	}
}

func TestAnthropicRefusesWhatBreaksTheProtocol(t *testing.T) {
	const (
		user = `{"role":"user","content":[{"type":"text","text":"go"}]}`
		call = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{"x":"1"}}]}`
		res  = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]}`
	)
	body := func(messages ...string) string {
		return `{"model":"m","max_tokens":9,"tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[` + strings.Join(messages, ",") + `]}`
	}
	for name, c := range map[string]struct{ body, want string }{
		"right":             {body(user, call, res), ""},
		"no max_tokens":     {strings.Replace(body(user), `"max_tokens":9,`, "", 1), "max_tokens"},
		"unanswered":        {body(user, call, user), "have no result"},
		"input no object":   {body(user, strings.Replace(call, `{"x":"1"}`, `"x"`, 1), res), "bad tool_use"},
		"empty text":        {body(`{"role":"user","content":[{"type":"text","text":" "}]}`), "empty text"},
		"role of another":   {body(`{"role":"system","content":"s"}`), "the role"},
		"schema of another": {strings.Replace(body(user), `{"type":"object"}`, `{"type":"string"}`, 1), "no object schema"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Anthropic(t, Reply{}, Reply{Text: "next"})
			s.said = []Reply{{Calls: []Call{{ID: "c1", Name: "a", Args: `{"x":"1"}`}}}}
			expect(t, s, "/messages", c.body, c.want)
		})
	}
}

func TestGoogleRefusesWhatBreaksTheProtocol(t *testing.T) {
	const (
		user = `{"role":"user","parts":[{"text":"go"}]}`
		call = `{"role":"model","parts":[{"functionCall":{"name":"a","args":{"x":"1"}}}]}`
		res  = `{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"response":"r"}}}]}`
	)
	body := func(contents ...string) string {
		return `{"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":6}}]}],"contents":[` + strings.Join(contents, ",") + `]}`
	}
	for name, c := range map[string]struct{ body, want string }{
		"right":         {body(user, call, res), ""},
		"nameless":      {body(user, call, strings.Replace(res, `"name":"a"`, `"name":""`, 1)), "without name"},
		"another name":  {body(user, call, strings.Replace(res, `"name":"a"`, `"name":"b"`, 1)), "answers no open call"},
		"unanswered":    {body(user, call), "have no result"},
		"not made":      {body(user, strings.Replace(call, `"1"`, `"2"`, 1), res), "did not make"},
		"no parts":      {body(`{"role":"user","parts":[]}`), "no parts"},
		"unknown role":  {body(`{"role":"bot","parts":[{"text":"x"}]}`), "the role"},
		"schema of int": {strings.Replace(body(user), `{"type":6}`, `{"type":3}`, 1), "no object schema"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Google(t, Reply{}, Reply{Text: "next"})
			s.said = []Reply{{Calls: []Call{{Name: "a", Args: `{"x":"1"}`}}}}
			expect(t, s, "/v1/models/m:generateContent", c.body, c.want)
		})
	}
}

// expect sends one request and holds the status and the note that is kept.
func expect(t *testing.T, s *Server, path, body, want string) {
	t.Helper()
	require.True(t, json.Valid([]byte(body)), body)
	resp, err := http.Post(s.URL+path, "application/json", bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	if want == "" {
		require.Equal(t, http.StatusOK, resp.StatusCode, string(got))
		require.Empty(t, s.Problems())
		return
	}
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	require.Contains(t, strings.Join(s.Problems(), "\n"), want)
}

func TestOneRequestTooManyIsRefused(t *testing.T) {
	s := OpenAI(t, Reply{Text: "only"})
	expect(t, s, "/chat/completions", oaBody(oaUser), "")
	expect(t, s, "/chat/completions", oaBody(oaUser), "one too many")
}
