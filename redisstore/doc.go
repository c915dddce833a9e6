// Package redisstore keeps session documents in Redis, so that a todo list outlives compaction, crashes and
// failovers (docs/design.md, section 8). [Store] implements core.Store and core.Watcher; [CheckPointStore] keeps
// an agent's checkpoints beside the lists. Redis 6.2 or later and Valkey; Cluster and Sentinel work unchanged.
//
// # Keys
//
//	<prefix>:{<tenant>:<session>}            string: one header line, then the document
//	<prefix>:{<tenant>:<session>}:<write id> string: an upload in flight; gone in microseconds, at the latest after 60 s
//	<prefix>:{<tenant>:<session>}:f          stream: the change feed, only where Options.Feed is on
//	<prefix>:cp:{<id>}                       string: a checkpoint
//
// In tenant, session and id the characters % { } : are percent-encoded, so that all keys of a session lie in one
// hash slot and no two sessions share a key.
//
// # Permissions
//
// An ACL user needs these commands on ~<prefix>:{<tenant>:*
//
//	get set del getrange rename pexpire pttl persist evalsha eval xadd xread xrevrange ping hello
//
// and where scripting is denied, in place of evalsha and eval: watch unwatch multi exec. The store asks for no
// other command, also not when it starts.
//
// # What a failover can lose
//
// Redis replicates asynchronously: a failover can lose saves that were acknowledged. It cannot make a stale writer
// win afterwards: a version names the write that produced it, not only its number.
package redisstore
