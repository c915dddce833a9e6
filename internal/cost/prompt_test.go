package cost

import (
	"testing"

	"github.com/tiktoken-go/tokenizer"
	"github.com/todoguard/todoguard/core"
)

// message is one message of a request, as plain text: what a provider adds for its own framing is the same with and without us.
type message struct {
	role   string
	text   string
	calls  []core.Call
	callID string // of a tool result
	name   string
}

// request is one request that a model gets, in the order in which providers put it together: tools, then messages.
type request struct {
	tools    []core.ToolSpec
	messages []message
}

// meter counts tokens of o200k_base.
type meter struct {
	t     testing.TB
	codec tokenizer.Codec
	seen  map[string][]uint
}

func newMeter(t testing.TB) *meter {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	return &meter{t: t, codec: codec, seen: map[string][]uint{}}
}

func (m *meter) encode(text string) []uint {
	ids, ok := m.seen[text]
	if !ok {
		var err error
		if ids, _, err = m.codec.Encode(text); err != nil {
			m.t.Fatal(err)
		}
		m.seen[text] = ids
	}
	return ids
}

func (m *meter) tokens(text string) int { return len(m.encode(text)) }

// prompt is the whole request as tokens: descriptions, schemas, texts, arguments and results.
func (m *meter) prompt(r request) []uint {
	var out []uint
	for _, tool := range r.tools {
		out = append(out, m.encode(tool.Name)...)
		out = append(out, m.encode(tool.Description)...)
		out = append(out, m.encode(string(tool.Schema))...)
	}
	for _, msg := range r.messages {
		out = append(out, m.encode(msg.text)...)
		for _, c := range msg.calls {
			out = append(out, m.encode(c.Name)...)
			out = append(out, m.encode(c.Args)...)
		}
	}
	return out
}

// bill is what the prompts of a run cost, in tokens at the full price.
type bill struct {
	full   float64 // without a cache
	cached float64 // with one: what stands at the beginning of the previous request as well costs a tenth
}

func (m *meter) bill(requests []request) bill {
	var b bill
	var before []uint
	for _, r := range requests {
		now := m.prompt(r)
		same := 0
		for same < len(now) && same < len(before) && now[same] == before[same] {
			same++
		}
		b.full += float64(len(now))
		b.cached += float64(len(now)-same) + float64(same)/10
		before = now
	}
	return b
}

func (b bill) minus(o bill) bill { return bill{b.full - o.full, b.cached - o.cached} }
