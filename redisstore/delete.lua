-- delete.lua: delete one session and say so in its feed (docs/design.md, section 8).
--
-- KEYS[1]  state key
-- KEYS[2]  feed key, a stream
-- ARGV[1]  how long the feed outlives the session, milliseconds
-- ARGV[2]  length at which the feed is trimmed, entries (approximate)
--
-- Returns 1  deleted
--         0  nothing was stored

if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
local added = redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', ARGV[2], '*', 'v', '')
if type(added) == 'string' then -- not a foreign type
  redis.pcall('PEXPIRE', KEYS[2], ARGV[1])
end
return 1
