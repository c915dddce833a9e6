package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOffline(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, func(string) string { return "" }))
	lines := strings.Split(out.String(), "\n")

	// What a person should see, in this order.
	for _, want := range []string{
		"model      calls write_todos",
		"           [>] Read client.go",
		"           read client.go, 13 lines",
		"           [x] Read client.go",
		"           wrote README.md, 5 lines",
		"model      answers: The client now gives up after three tries.",
		"todoguard  an item is still open: the answer is held, the model is asked once more",
		"           [x] Say so in README.md",
		"model      answers: The list is up to date.",
		"the user   gets: The client now gives up after three tries.",
		"           To change the limit, set client.Tries before the first request.",
	} {
		i := 0
		for i < len(lines) && lines[i] != want {
			i++
		}
		require.Less(t, i, len(lines), "missing, or not in this place: %q in\n%s", want, out.String())
		lines = lines[i+1:]
	}
	require.Equal(t, []string{""}, lines, "the full answer comes last")
}

// Each of these ends in one line on stderr that says what to do, and in exit code 1.
func TestRealModelThatCannotServe(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "quickstart")
	built, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(built))

	type request struct {
		Model string            `json:"model"`
		Tools []json.RawMessage `json:"tools"`
	}
	asked := make(chan request, 16)
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req request
			assert.Equal(t, "/v1/chat/completions", r.URL.Path)
			assert.Equal(t, "Bearer the-key", r.Header.Get("Authorization"))
			assert.NoError(t, json.NewDecoder(r.Body).Decode(&req))
			asked <- req
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL + "/v1"
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	for _, c := range []struct {
		name, url string
		want      []string
	}{
		{"wrong key", answer(401, `{"error":{"message":"Incorrect API key provided.","type":"invalid_request_error","code":"invalid_api_key"}}`),
			[]string{"refuses the key in OPENAI_API_KEY", "401", "Incorrect API key provided."}},
		{"no network", gone.URL + "/v1", []string{"no answer from " + gone.URL + "/v1", "connection refused"}},
		{"tools are refused", answer(400, `{"error":{"message":"this-model does not support tools","type":"api_error"}}`),
			[]string{"this-model cannot call tools: choose another OPENAI_MODEL", "does not support tools"}},
		{"tools are ignored", answer(200, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Sure, I changed it."},"finish_reason":"stop"}]}`),
			[]string{"this-model answered without calling a tool"}},
		{"unknown model", answer(404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`),
			[]string{"answered 404 for the model this-model", "The model does not exist"}},
		{"a page in place of JSON", answer(502, "<html>\n<body>Bad Gateway</body>\n</html>"), []string{"502"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(bin)
			cmd.Env = append(os.Environ(), "OPENAI_API_KEY=the-key", "OPENAI_MODEL=this-model", "OPENAI_BASE_URL="+c.url)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.Error(t, cmd.Run())
			require.Equal(t, 1, cmd.ProcessState.ExitCode())
			line := stderr.String()
			require.True(t, strings.HasPrefix(line, "quickstart: "), line)
			require.Equal(t, 1, strings.Count(line, "\n"), "one line: %s", line)
			require.Less(t, len(line), 400)
			for _, want := range c.want {
				require.Contains(t, line, want)
			}
			require.NotContains(t, line, "the-key")
		})
	}
	require.Len(t, asked, 5, "each server was asked once")
	req := <-asked
	require.Equal(t, "this-model", req.Model)
	require.Len(t, req.Tools, 3, "write_todos and the two of the project")
}

func TestInterrupted(t *testing.T) {
	c := &chat{name: "m", url: "u"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, c.explain(ctx, ctx.Err()), "interrupted")
}
