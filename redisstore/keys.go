package redisstore

import (
	"fmt"
	"strings"
)

// keys are the names under which one session is stored. They share one hash tag, so that a script may touch them
// together on a cluster.
type keys struct {
	state string
	feed  string
}

func (s *Store) keys(session string) keys {
	state := s.opt.Prefix + ":{" + escape(s.opt.Tenant) + ":" + escape(session) + "}"
	return keys{state: state, feed: state + ":f"}
}

// stage is the name of an upload in flight. No write id is "f", so it never meets the feed.
func (k keys) stage(wid string) string { return k.state + ":" + wid }

func checkPointKey(prefix, id string) string { return prefix + ":cp:{" + escape(id) + "}" }

// escape keeps a name inside the hash tag and apart from its neighbour: a brace would end the tag early, a colon
// would make tenant "a:b" with session "c" the same as tenant "a" with session "b:c".
func escape(name string) string {
	if !strings.ContainsAny(name, "%{}:") {
		return name
	}
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; c {
		case '%', '{', '}', ':':
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
