package redisstore

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/todoguard/todoguard/core"
)

const (
	format    = "1" // of the stored value; a value of another format is never read nor overwritten
	history   = 8   // write ids in a header: a retry is recognised among the last 8 writes
	widLen    = 16  // 12 random bytes in base64url
	headerMax = 256 // longer than any header: "1 " + 19 digits + 8 ids of 16 with a blank each + " \n"
)

// stamp names one stored state: the how many-eth write it is and which writes led to it, newest first.
// The zero stamp is: nothing is stored. The number alone does not do: after a failover that lost writes, or after
// delete and recreate, another history reaches the same number.
type stamp struct {
	rev int64
	ids []string
}

func (p stamp) none() bool { return p.rev == 0 }

// next is the state that the write wid makes of p.
func (p stamp) next(wid string) stamp {
	kept := min(len(p.ids), history-1)
	return stamp{p.rev + 1, append([]string{wid}, p.ids[:kept]...)}
}

// follows reports whether p is proven to be the very next state after prev.
func (p stamp) follows(prev stamp) bool {
	if p.rev != prev.rev+1 {
		return false
	}
	if prev.none() {
		return len(p.ids) == 1
	}
	return len(p.ids) > 1 && p.ids[1] == prev.ids[0]
}

// contains reports whether old is proven to be p or one of the states that led to it.
func (p stamp) contains(old stamp) bool {
	back := p.rev - old.rev
	return !old.none() && back >= 0 && back < int64(len(p.ids)) && p.ids[back] == old.ids[0]
}

// prefix is what a stored header starts with if p is current: format, number and newest write id.
func (p stamp) prefix() string {
	if p.none() {
		return ""
	}
	return format + " " + strconv.FormatInt(p.rev, 10) + " " + p.ids[0] + " "
}

// appendHeader appends the header line. Every id stands between blanks, so that a script finds it by plain search.
func (p stamp) appendHeader(b []byte) []byte {
	b = append(b, format...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, p.rev, 10)
	for _, id := range p.ids {
		b = append(b, ' ')
		b = append(b, id...)
	}
	return append(b, " \n"...)
}

// version is the token that callers hold: number and ids, joined by dots.
func (p stamp) version() core.Version {
	if p.none() {
		return ""
	}
	return core.Version(strconv.FormatInt(p.rev, 10) + "." + strings.Join(p.ids, "."))
}

// parseVersion reads a token of [stamp.version]. False: no store of this package gave it out, so it matches nothing.
func parseVersion(v core.Version) (stamp, bool) {
	if v == "" {
		return stamp{}, true
	}
	rev, ids, _ := strings.Cut(string(v), ".")
	return newStamp(rev, strings.Split(ids, "."))
}

// parseValue splits a stored value into stamp and document, which shares memory with value.
func parseValue(value []byte) (stamp, []byte, error) {
	line, doc, ok := bytes.Cut(value, []byte("\n"))
	if !ok || len(line) >= headerMax {
		return stamp{}, nil, fmt.Errorf("%w: the value of %d bytes has no header line", core.ErrCorrupt, len(value))
	}
	fields := strings.Split(string(line), " ")
	if fields[0] != format {
		return stamp{}, nil, fmt.Errorf("%w: header of format %q, want %q", core.ErrCorrupt, fields[0], format)
	}
	if n := len(fields); n >= 4 && fields[n-1] == "" {
		if p, ok := newStamp(fields[1], fields[2:n-1]); ok {
			return p, doc, nil
		}
	}
	return stamp{}, nil, fmt.Errorf("%w: header %q, want format, number and write ids", core.ErrCorrupt, line)
}

// newStamp is strict: one state has one spelling.
func newStamp(rev string, ids []string) (stamp, bool) {
	n, err := strconv.ParseInt(rev, 10, 64)
	if err != nil || n < 1 || strconv.FormatInt(n, 10) != rev || len(ids) < 1 || len(ids) > history || int64(len(ids)) > n {
		return stamp{}, false
	}
	for _, id := range ids {
		if len(id) != widLen || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return stamp{}, false
		}
	}
	return stamp{n, ids}, true
}

// newWID returns an id that no other write ever has.
func newWID() string {
	var b [widLen / 4 * 3]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}
