package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/internal/stricttest"
)

func none(string) string { return "" }

func TestOffline(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, none))
	lines := strings.Split(out.String(), "\n")
	for _, want := range []string{ // what a person should see, in this order
		"model      calls write_todos",
		"           [>] Read client.go",
		"model      calls read_file client.go",
		"           [x] Read client.go",
		"model      calls write_file README.md",
		"model      answers: The client now gives up after three tries.",
		"todoguard  items are still open: the answer is held, the model is asked once more",
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

// The same program on the wire, against a server that checks the protocol.
func TestOnOpenAIsProtocol(t *testing.T) {
	var script []stricttest.Reply
	for _, r := range replies() {
		reply := stricttest.Reply{Text: r.Content}
		for _, c := range r.ToolCalls {
			reply.Calls = append(reply.Calls, stricttest.Call{ID: c.ID, Name: c.FunctionCall.Name, Args: c.FunctionCall.Arguments})
		}
		script = append(script, reply)
	}
	srv := stricttest.OpenAI(t, script...)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, func(key string) string {
		return map[string]string{"OPENAI_API_KEY": "the-key", "OPENAI_BASE_URL": srv.URL}[key]
	}))
	srv.Check(t)
	require.Contains(t, out.String(), "gets: The client now gives up after three tries.")
}

// Each of these ends in one line on stderr that says what to do, and in exit code 1.
func TestRealModelThatCannotServe(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "langchaingo")
	built, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput()
	require.NoError(t, err, string(built))
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name, url string
		want      []string
	}{
		{"wrong key", answer(401, `{"error":{"message":"Incorrect API key provided."}}`), []string{"refuses the key in OPENAI_API_KEY", "401", "Incorrect API key provided."}},
		{"no network", gone.URL, []string{"no answer from " + gone.URL}},
		{"tools are refused", answer(400, `{"error":{"message":"this-model does not support tools"}}`), []string{"this-model cannot call tools: choose another OPENAI_MODEL", "does not support tools"}},
		{"tools are ignored", answer(200, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Sure, I changed it."},"finish_reason":"stop"}]}`), []string{"this-model answered without calling a tool"}},
		{"unknown model", answer(404, `{"error":{"message":"The model does not exist"}}`), []string{"answered 404", "for the model this-model", "The model does not exist"}},
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
			require.True(t, strings.HasPrefix(line, "langchaingo: "), line)
			require.Equal(t, 1, strings.Count(line, "\n"), "one line: %s", line)
			require.Less(t, len(line), 400)
			for _, want := range c.want {
				require.Contains(t, line, want)
			}
			require.NotContains(t, line, "the-key")
		})
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.EqualError(t, run(ctx, &bytes.Buffer{}, none), "interrupted")
}
