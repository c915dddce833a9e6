package einoadapter

import (
	"crypto/rand"
	"sync"

	"github.com/cloudwego/eino/adk"
)

// inputs keeps the input boundary of an execution (docs/design.md, section 7): a token that changes when the user says
// something new. A hash of the history would not do, since compaction rewrites that in mid-run. So it knows what the user had
// said at the last request, and takes for new input whatever it does not know: a message that another middleware made or
// changed cannot be proven not to be the user's. Safe for concurrent use.
type inputs struct {
	mu    sync.Mutex
	token string
	known map[string]int // what the user had said at the last request, and how often; nil: no request yet
}

// renew starts a new boundary.
func (i *inputs) renew() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.token = rand.Text()
}

func (i *inputs) boundary() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.token
}

// look renews the boundary if the user said something since the last request.
func (i *inputs) look(now map[string]int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known == nil {
		return
	}
	for said, n := range now {
		if n > i.known[said] {
			i.token = rand.Text()
			return
		}
	}
}

// request is look for a request as it goes to the model, which is then what is known.
func (i *inputs) request(now map[string]int) (boundary string) {
	i.look(now)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.known = now
	return i.token
}

// inputsOf counts what the user said in a history, without our own messages and those that eino's summarization marks as its
// own.
func inputsOf[M adk.MessageType](history []M) map[string]int {
	said := map[string]int{}
	for _, m := range history {
		if text, ok := userInput(m); ok && markOf(m) == "" && extraOf(m)[summaryKey] == nil {
			said[text]++
		}
	}
	return said
}

// summaryKey is where adk/middlewares/summarization marks the messages that it makes.
const summaryKey = "_eino_summarization_content_type"

// spacerText stands where the correction stood that a history built from events has lost.
const spacerText = "(automatic check of the todo list)"

// spaced puts a short user message between neighbouring messages of the model. A history that was built from events (loop
// agents, callers that keep their own) has such neighbours, since a correction is no event, and strict providers reject them. A
// history without them is returned as it is.
func spaced[M adk.MessageType](history []M) []M {
	var out []M
	for i, m := range history {
		if i > 0 && isAssistant(m) && isFinal(history[i-1]) {
			if out == nil {
				out = append(make([]M, 0, len(history)+1), history[:i]...)
			}
			spacer := marked(userMessage[M](spacerText), markSpacer)
			adk.EnsureMessageID(spacer)
			out = append(out, spacer)
		}
		if out != nil {
			out = append(out, m)
		}
	}
	if out == nil {
		return history
	}
	return out
}
