package stricttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Anthropic starts a server of POST {URL}/messages, plain and streamed.
func Anthropic(t testing.TB, replies ...Reply) *Server { return start(t, anthropic{}, replies) }

type anthropic struct{}

func (anthropic) read(r *http.Request, body map[string]any) (req []Message, tools map[string]bool, stream bool, bad []string) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		bad = append(bad, r.Method+" "+r.URL.Path)
	}
	if n, _ := body["max_tokens"].(float64); n < 1 {
		bad = append(bad, "no max_tokens")
	}
	tools = map[string]bool{}
	for _, t := range list(body["tools"]) {
		bad = append(bad, checkTool(tools, text(object(t)["name"]), object(t)["input_schema"])...)
	}
	if s := text(body["system"]); s != "" {
		req = append(req, Message{Role: "system", Text: s})
	}
	for i, m := range list(body["messages"]) {
		msg, problems := readAnthropic(object(m))
		for _, p := range problems {
			bad = append(bad, fmt.Sprintf("messages[%d]: %s", i, p))
		}
		req = append(req, msg)
	}
	return req, tools, body["stream"] == true, bad
}

func readAnthropic(m map[string]any) (msg Message, bad []string) {
	msg.Role = text(m["role"])
	if msg.Role != "user" && msg.Role != "assistant" {
		bad = append(bad, fmt.Sprintf("the role %q", msg.Role))
	}
	blocks := list(m["content"])
	if s := text(m["content"]); s != "" {
		blocks = []any{map[string]any{"type": "text", "text": s}}
	}
	if len(blocks) == 0 {
		bad = append(bad, "no content")
	}
	for _, b := range blocks {
		switch o := object(b); o["type"] {
		case "text":
			if strings.TrimSpace(text(o["text"])) == "" {
				bad = append(bad, "an empty text block")
			}
			msg.Text += text(o["text"])
		case "tool_use":
			if msg.Role != "assistant" || text(o["id"]) == "" || object(o["input"]) == nil {
				bad = append(bad, "a bad tool_use block: "+compact(o))
			}
			msg.Calls = append(msg.Calls, Call{ID: text(o["id"]), Name: text(o["name"]), Args: compact(o["input"])})
		case "tool_result":
			if msg.Role != "user" || text(o["tool_use_id"]) == "" {
				bad = append(bad, "a bad tool_result block: "+compact(o))
			}
			msg.Results = append(msg.Results, Result{ID: text(o["tool_use_id"]), Text: text(o["content"])})
		default:
			bad = append(bad, fmt.Sprintf("a block of the type %v", o["type"]))
		}
	}
	if len(msg.Results) > 0 {
		msg.Role = "tool"
	}
	return msg, bad
}

// blocksOf are a reply's content blocks.
func blocksOf(reply Reply) []map[string]any {
	var out []map[string]any
	if reply.Text != "" {
		out = append(out, map[string]any{"type": "text", "text": reply.Text})
	}
	for _, c := range reply.Calls {
		out = append(out, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Args)})
	}
	if reply.Empty {
		return nil
	}
	return out
}

func (anthropic) write(w http.ResponseWriter, reply Reply, stream bool) {
	stop := "end_turn"
	switch {
	case reply.Truncated:
		stop = "max_tokens"
	case len(reply.Calls) > 0:
		stop = "tool_use"
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1}
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		content := blocksOf(reply)
		if content == nil {
			content = []map[string]any{}
		}
		fmt.Fprint(w, compact(map[string]any{"id": "r", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop, "content": content, "usage": usage}))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event map[string]any) { fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], compact(event)) }
	send(map[string]any{"type": "message_start", "message": map[string]any{"id": "r", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": usage}})
	for i, b := range blocksOf(reply) {
		begin, deltas := b, []map[string]any(nil)
		if b["type"] == "text" {
			begin = map[string]any{"type": "text", "text": ""}
			for _, p := range pieces(text(b["text"])) {
				deltas = append(deltas, map[string]any{"type": "text_delta", "text": p})
			}
		} else {
			begin = map[string]any{"type": "tool_use", "id": b["id"], "name": b["name"], "input": map[string]any{}}
			for _, p := range pieces(string(b["input"].(json.RawMessage))) {
				deltas = append(deltas, map[string]any{"type": "input_json_delta", "partial_json": p})
			}
		}
		send(map[string]any{"type": "content_block_start", "index": i, "content_block": begin})
		for _, d := range deltas {
			send(map[string]any{"type": "content_block_delta", "index": i, "delta": d})
		}
		send(map[string]any{"type": "content_block_stop", "index": i})
	}
	send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 1}})
	send(map[string]any{"type": "message_stop"})
}

func (anthropic) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, compact(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": message}}))
}
