package stricttest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// OpenAI starts a server of POST {URL}/chat/completions, plain and streamed.
func OpenAI(t testing.TB, replies ...Reply) *Server { return start(t, openAI{}, replies) }

type openAI struct{}

func (openAI) read(r *http.Request, body map[string]any) (req []Message, tools map[string]bool, stream bool, bad []string) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		bad = append(bad, r.Method+" "+r.URL.Path)
	}
	if text(body["model"]) == "" {
		bad = append(bad, "no model")
	}
	if _, ok := body["functions"]; ok {
		bad = append(bad, "functions are of the old protocol")
	}
	tools = map[string]bool{}
	for _, t := range list(body["tools"]) {
		f := object(object(t)["function"])
		if object(t)["type"] != "function" {
			bad = append(bad, fmt.Sprintf("a tool of the type %v", object(t)["type"]))
		}
		bad = append(bad, checkTool(tools, text(f["name"]), f["parameters"])...)
	}
	for i, m := range list(body["messages"]) {
		msg, problems := readOpenAI(object(m))
		for _, p := range problems {
			bad = append(bad, fmt.Sprintf("messages[%d]: %s", i, p))
		}
		if n := len(req); n > 0 && msg.Role == "tool" && req[n-1].Role == "tool" {
			req[n-1].Results = append(req[n-1].Results, msg.Results...) // one message each, here one for all
			continue
		}
		req = append(req, msg)
	}
	return req, tools, body["stream"] == true, bad
}

func readOpenAI(m map[string]any) (msg Message, bad []string) {
	msg.Role = text(m["role"])
	switch c := m["content"].(type) {
	case string:
		msg.Text = c
	case []any:
		for _, p := range c {
			if object(p)["type"] != "text" {
				bad = append(bad, fmt.Sprintf("a content part of the type %v", object(p)["type"]))
			}
			msg.Text += text(object(p)["text"])
		}
	case nil:
		if msg.Role != "assistant" {
			bad = append(bad, "no content")
		}
	default:
		bad = append(bad, fmt.Sprintf("content of the type %T", c))
	}
	for _, c := range list(m["tool_calls"]) {
		f := object(object(c)["function"])
		if object(c)["type"] != "function" {
			bad = append(bad, fmt.Sprintf("a call of the type %v", object(c)["type"]))
		}
		call := Call{ID: text(object(c)["id"]), Name: text(f["name"]), Args: text(f["arguments"])}
		if call.ID == "" {
			bad = append(bad, "a call without an id")
		}
		if _, ok := f["arguments"].(string); !ok {
			bad = append(bad, "arguments that are no string")
		}
		msg.Calls = append(msg.Calls, call)
	}
	if len(msg.Calls) > 0 && msg.Role != "assistant" {
		bad = append(bad, "calls in a "+msg.Role+" message")
	}
	if msg.Role == "tool" {
		id := text(m["tool_call_id"])
		if id == "" {
			bad = append(bad, "no tool_call_id")
		}
		msg.Results, msg.Text = []Result{{ID: id, Text: msg.Text}}, ""
	}
	return msg, bad
}

func (openAI) write(w http.ResponseWriter, reply Reply, stream bool) {
	finish := "stop"
	switch {
	case reply.Truncated:
		finish = "length"
	case len(reply.Calls) > 0:
		finish = "tool_calls"
	}
	if stream {
		streamOpenAI(w, reply, finish)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if reply.Raw != nil {
		fmt.Fprint(w, reply.Raw[0])
		return
	}
	msg := map[string]any{"role": "assistant", "content": reply.Text}
	if len(reply.Calls) > 0 {
		var calls []any
		for _, c := range reply.Calls {
			calls = append(calls, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Args}})
		}
		msg["tool_calls"] = calls
	}
	choices := []any{map[string]any{"index": 0, "message": msg, "finish_reason": finish}}
	if reply.Empty {
		choices = []any{}
	}
	fmt.Fprint(w, compact(map[string]any{"id": "r", "object": "chat.completion", "model": "m", "choices": choices,
		"usage": map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}))
}

func streamOpenAI(w http.ResponseWriter, reply Reply, finish string) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(data string) {
		fmt.Fprintf(w, "data: %s\n\n", data)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
	delta := func(d map[string]any, finish any) {
		send(compact(map[string]any{"id": "r", "object": "chat.completion.chunk", "model": "m",
			"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}}))
	}
	switch {
	case reply.Raw != nil:
		for _, data := range reply.Raw {
			send(data)
		}
	case reply.Empty:
		send(`{"id":"r","object":"chat.completion.chunk","model":"m","choices":[]}`)
	default:
		delta(map[string]any{"role": "assistant", "content": ""}, nil)
		for _, piece := range pieces(reply.Text) {
			delta(map[string]any{"content": piece}, nil)
		}
		for i, c := range reply.Calls {
			delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": c.ID, "type": "function",
				"function": map[string]any{"name": c.Name, "arguments": ""}}}}, nil)
			for _, piece := range pieces(c.Args) {
				delta(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
			}
		}
		delta(map[string]any{}, finish)
	}
	send("[DONE]")
}

// pieces cuts a text into chunks, at runes.
func pieces(s string) []string {
	var out []string
	r := []rune(s)
	for len(r) > 0 {
		n := min(6, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

func (openAI) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, compact(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}}))
}
