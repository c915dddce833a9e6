-- save.lua: compare-and-set of one session (docs/design.md, section 8).
-- The document does not enter Lua, which would hash each byte of it on the server's one thread: a SET in front of
-- this call, in the same pipeline, uploaded header and document to the stage key.
--
-- KEYS[1]  state key
-- KEYS[2]  stage key
-- KEYS[3]  feed key, a stream; absent: no feed
-- ARGV[1]  text that the stored header must start with; empty: nothing may be stored
-- ARGV[2]  write id
-- ARGV[3]  time to live of state and feed, milliseconds; 0: none
-- ARGV[4]  length at which the feed is trimmed, entries (approximate)
-- ARGV[5]  version that this write produces, as the feed reports it
--
-- Returns 1        applied
--         2        this write id is among the last writes: applied earlier, this is a replay
--         0        the stage is gone (expired, evicted): send both commands again
--         {value}  conflict: the value that is stored
--         {}       conflict: nothing is stored

local want, wid, ttl = ARGV[1], ARGV[2], ARGV[3]

local head
if want == '' then
  head = redis.pcall('GET', KEYS[1]) -- unlike GETRANGE it tells an empty value from none
else
  head = redis.pcall('GETRANGE', KEYS[1], 0, 255)
end
if type(head) == 'table' then -- an error: a foreign type
  redis.call('DEL', KEYS[2])
  return head
end

local current
if want == '' then
  current = not head
else
  current = string.sub(head, 1, #want) == want
end
if not current then
  redis.call('DEL', KEYS[2])
  if head and string.find(string.match(head, '^[^\n]*'), ' ' .. wid .. ' ', 1, true) then
    return 2
  end
  return {redis.call('GET', KEYS[1])}
end

-- Before anything else that writes: once a script has written, Redis no longer checks maxmemory.
local moved = redis.pcall('RENAME', KEYS[2], KEYS[1])
if moved.err then
  if string.find(moved.err, 'no such key', 1, true) then
    return 0
  end
  redis.pcall('DEL', KEYS[2])
  return moved
end
if ttl == '0' then
  redis.call('PERSIST', KEYS[1]) -- the stage had 60 s to live, and the state has them now
else
  redis.call('PEXPIRE', KEYS[1], ttl)
end

-- The save is done: a foreign type on the feed key must not fail it, and its expiry is not ours to change.
if KEYS[3] then
  local added = redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', ARGV[4], '*', 'v', ARGV[5])
  if type(added) == 'string' then
    if ttl == '0' then
      redis.pcall('PERSIST', KEYS[3])
    else
      redis.pcall('PEXPIRE', KEYS[3], ttl)
    end
  end
end
return 1
