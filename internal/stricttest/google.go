package stricttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Google starts a server of Gemini's generateContent and streamGenerateContent. A client reaches it through
// [Server.Redirect].
func Google(t testing.TB, replies ...Reply) *Server { return start(t, google{}, replies) }

// Redirect returns a client that sends every request to the server, whatever host it was made for.
func (s *Server) Redirect() *http.Client {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic(err) // httptest's own address
	}
	return &http.Client{Transport: redirect{to: u}}
}

type redirect struct{ to *url.URL }

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = r.to.Scheme, r.to.Host, r.to.Host
	return http.DefaultTransport.RoundTrip(req)
}

type google struct{}

func (google) read(r *http.Request, body map[string]any) (req []Message, tools map[string]bool, stream bool, bad []string) {
	stream = strings.HasSuffix(r.URL.Path, ":streamGenerateContent")
	if r.Method != http.MethodPost || !stream && !strings.HasSuffix(r.URL.Path, ":generateContent") {
		bad = append(bad, r.Method+" "+r.URL.Path)
	}
	tools = map[string]bool{}
	for _, t := range list(body["tools"]) {
		for _, d := range list(object(t)["functionDeclarations"]) {
			bad = append(bad, checkTool(tools, text(object(d)["name"]), plainTypes(object(d)["parameters"]))...)
		}
	}
	if s := object(body["systemInstruction"]); s != nil {
		msg, _ := readGoogle(s)
		req = append(req, Message{Role: "system", Text: msg.Text})
	}
	for i, c := range list(body["contents"]) {
		msg, problems := readGoogle(object(c))
		for _, p := range problems {
			bad = append(bad, fmt.Sprintf("contents[%d]: %s", i, p))
		}
		req = append(req, msg)
	}
	return req, tools, stream, bad
}

// plainTypes writes the types of a schema by name: the REST client sends them as numbers.
func plainTypes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			out[k] = plainTypes(x)
		}
		names := []string{"", "string", "number", "integer", "boolean", "array", "object"}
		if n, ok := v["type"].(float64); ok && int(n) < len(names) {
			out["type"] = names[int(n)]
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainTypes(v[i])
		}
		return out
	}
	return v
}

func readGoogle(m map[string]any) (msg Message, bad []string) {
	switch msg.Role = text(m["role"]); msg.Role {
	case "model":
		msg.Role = "assistant"
	case "user", "function", "system":
	default:
		bad = append(bad, fmt.Sprintf("the role %q", msg.Role))
	}
	parts := list(m["parts"])
	if len(parts) == 0 {
		bad = append(bad, "no parts")
	}
	for _, p := range parts {
		o := object(p)
		switch call, result := object(o["functionCall"]), object(o["functionResponse"]); {
		case call != nil:
			args := compact(call["args"])
			if call["args"] == nil {
				args = "{}"
			}
			msg.Calls = append(msg.Calls, Call{Name: text(call["name"]), Args: args})
		case result != nil:
			if text(result["name"]) == "" || object(result["response"]) == nil {
				bad = append(bad, "a function response without name or response")
			}
			msg.Results = append(msg.Results, Result{Name: text(result["name"]), Text: text(object(result["response"])["response"])})
		default:
			msg.Text += text(o["text"])
		}
	}
	if len(msg.Results) > 0 {
		msg.Role = "tool"
	}
	return msg, bad
}

func (google) write(w http.ResponseWriter, reply Reply, stream bool) {
	reason := "STOP"
	if reply.Truncated {
		reason = "MAX_TOKENS"
	}
	chunk := func(parts ...any) string {
		candidates := []any{map[string]any{"content": map[string]any{"role": "model", "parts": parts}, "finishReason": reason}}
		if reply.Empty {
			candidates = []any{}
		}
		return compact(map[string]any{"candidates": candidates, "usageMetadata": map[string]any{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}})
	}
	var calls []any
	for _, c := range reply.Calls {
		calls = append(calls, map[string]any{"functionCall": map[string]any{"name": c.Name, "args": json.RawMessage(c.Args)}})
	}
	w.Header().Set("Content-Type", "application/json")
	if !stream {
		parts := calls
		if reply.Text != "" {
			parts = append([]any{map[string]any{"text": reply.Text}}, calls...)
		}
		fmt.Fprint(w, chunk(parts...))
		return
	}
	var chunks []string
	for _, p := range pieces(reply.Text) {
		chunks = append(chunks, chunk(map[string]any{"text": p}))
	}
	if len(calls) > 0 || len(chunks) == 0 {
		chunks = append(chunks, chunk(calls...))
	}
	fmt.Fprintf(w, "[%s]", strings.Join(chunks, ",\n"))
}

func (google) fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, compact(map[string]any{"error": map[string]any{"code": status, "message": message, "status": "INVALID_ARGUMENT"}}))
}
