package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed save.lua
var saveSource string

//go:embed delete.lua
var deleteSource string

var (
	saveScript   = redis.NewScript(saveSource)
	deleteScript = redis.NewScript(deleteSource)
)

// scripted reports whether scripts are to be tried: not once the server denied them.
func (s *Store) scripted() bool { return !s.noScripts.Load() }

// scriptsDenied reports whether err says that this client or server runs no scripts, and remembers it: the
// permissions of a connection rarely change, so the store does not ask again.
func (s *Store) scriptsDenied(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	text := strings.ToLower(reply.Error())
	var denied bool
	switch {
	case !strings.Contains(text, "eval"):
	case strings.HasPrefix(text, "noperm"): // not the one about keys, which may have any name
		denied = strings.Contains(text, "'eval") && strings.Contains(text, "command")
	default:
		denied = strings.Contains(text, "unknown command") || strings.Contains(text, "not support")
	}
	if denied {
		s.noScripts.Store(true)
	}
	return denied
}

// runScript runs by hash, and by text where the server does not know the hash.
func (s *Store) runScript(ctx context.Context, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	cmd := script.EvalSha(ctx, s.client, keys, args...)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = script.Eval(ctx, s.client, keys, args...)
	}
	return cmd
}
