package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/todoguard/todoguard/core"
)

// valueChecks hold that a store has no opinion on what it keeps, and under which name.
func valueChecks() []check {
	return []check{
		{"opaque bytes", "The document is opaque: any bytes, also none, come back as they were.", needsNothing, checkBytes},
		{"any session id", "The session id is used as it is: any text is a valid id and no two ids share a document.", needsNothing, checkIDs},
		{"copy in", "A caller may change a document after Save: the store copied what it was given.", needsNothing, checkCopyIn},
		{"copy out", "A caller may change what Load returned: the store hands out copies.", needsNothing, checkCopyOut},
		{"copy in conflict", "A caller may change what a ConflictError carries: it is a copy.", needsNothing, checkCopyConflict},
	}
}

func checkBytes(e *env) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	docs := map[string]string{
		"empty":          "",
		"zero bytes":     "\x00\x00\x00",
		"newlines":       "\n\r\n\n",
		"every byte":     string(all),
		"invalid UTF-8":  "\xff\xfe{\xc3(",
		"looks like one": "1 7 AAAAAAAAAAAAAAAA \n{}",
		"a number":       "42",
		"blanks":         "  \t ",
		"200 kB":         strings.Repeat("0123456789\n\x00abcdefgh", 10_000),
	}
	var last core.Version
	for name, doc := range docs {
		id := e.session("bytes")
		v := e.save(id, doc, "")
		e.stored(id, doc, v)
		last = e.save(id, doc+doc, v)
		e.stored(id, doc+doc, last)
		if e.Failed() {
			e.Fatalf("the document that does not survive is: %s", name)
		}
	}
	id := e.session("nil")
	v, err := e.store.Save(e.ctx, id, nil, "")
	if err != nil {
		e.Fatalf("Save of a nil document: got %v, want it stored as an empty one", err)
	}
	e.stored(id, "", v)
}

func checkIDs(e *env) {
	u := e.session("id")
	ids := []string{
		u, u + " ", " " + u, u + "\n", u + "\x00", u + "\xff", strings.ToUpper(u),
		u + ":", u + ":f", ":" + u, u + ":a:b", u + ":a%3Ab", u + "%3Aa:b", u + "%", u + "%25", u + "%3a",
		u + "{}", "{" + u + "}", u + "}", u + "{", "{}" + u, "}" + u + "{", u + "%7B", u + "%7D",
		u + "/../x", u + "*", u + "?", u + "[a]", u + `\`, u + "é", u + "e\u0301", u + "日本語", u + "🗒️",
		u + strings.Repeat("x", 4000), u + strings.Repeat("x", 4001),
	}
	versions := make([]core.Version, len(ids))
	for i, id := range ids {
		versions[i] = e.save(id, fmt.Sprintf("document %d", i), "")
	}
	for i, id := range ids {
		e.stored(id, fmt.Sprintf("document %d", i), versions[i])
	}
	for i, id := range ids {
		if i%2 == 0 {
			if err := e.store.Delete(e.ctx, id); err != nil {
				e.Errorf("Delete(%.60q): got %v, want nil", id, err)
			}
		}
	}
	for i, id := range ids {
		if i%2 == 0 {
			e.missing(id)
		} else {
			e.stored(id, fmt.Sprintf("document %d", i), versions[i])
		}
	}
}

func checkCopyIn(e *env) {
	doc := []byte("as saved")
	v, err := e.store.Save(e.ctx, e.id, doc, "")
	if err != nil {
		e.Fatalf("Save: got %v, want it stored", err)
	}
	scribble(doc)
	e.stored(e.id, "as saved", v)
}

func checkCopyOut(e *env) {
	v := e.save(e.id, "as saved", "")
	doc, _, err := e.store.Load(e.ctx, e.id)
	if err != nil {
		e.Fatalf("Load: got %v, want the document", err)
	}
	scribble(doc)
	_ = append(doc, "and beyond"...)
	e.stored(e.id, "as saved", v)
}

func checkCopyConflict(e *env) {
	v := e.save(e.id, "as saved", "")
	var ce *core.ConflictError
	if errors.As(e.refused(e.id, "x", ""), &ce) {
		scribble(ce.Doc)
	}
	e.stored(e.id, "as saved", v)
}

func scribble(b []byte) { copy(b, bytes.Repeat([]byte("#"), len(b))) }
