-- What every script begins with: its shard, its clock, and the shard's numbers.
--
-- Keys of a shard, after its tag:
--   m          hash    what the shard knows of itself: `token`, the last number given out
--   l<bucket>  hash    ledger: the identity's key -> its entry (see ledger.lua)
--   x<hour>    list    keys whose entries expire in that hour;  h: those hours
--   k          hash    earlier events of an identity that was forgotten
--   e<id>      hash    an event: h head, b headers and body, m acceptance, v version, w<to> work, o<to>\0<token> outcome,
--                      a<token>\0<to>\0<generation> attempt, y<to> ticket of its stay in a lane, c<hash> conflict,
--                      s same body, i indexed values
--   t          zset    ids of all events
--   q<to> s<to> zset   deliveries that are due some time: fresh ones, and suspects whose lease was lost before
--   w<to>      zset    deliveries that wait in their lanes
--   r          zset    deliveries that run, by the end of their lease
--   u          hash    owners of leases -> since when they report that they live, and when they last did
--   d g        zset    dead and discarded deliveries, by the order of their end
--   n          hash    how many deliveries there are in each state, and ledger entries in each scope
--   o          hash    scopes -> their numbers
--   p          hash    paused destinations
--   y<to>\0<lane> zset a lane;  z<to>\0<lane> hash  who has the turn in it;  j: steps between shards that are not finished
--   c<bucket>  hash    duplicates of identities, beside the ledger
--   C<id><hash> string another body under the event's identity: the identity's key, headers and body
--   B<scope>\0<first byte> hash  bodies whose id is not signed -> the first event, and until when;  X: by that time
--   K<scope>\0<first byte> hash  those of them that were claimed -> the identity's key
-- Only in the first shard:
--   P A E      pauses by destination; the audit trail by number, and the last entry of its chain
--   J N U      bulk replays by id; in the order in which they were created; those that are not over
--   S V I F    values of sources; saved views; indexed fields; what is known of alerts
--   T<span>\0<slot> hash traffic of one slot, by subject and process

local tag = string.sub(KEYS[1], 1, -2)
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

-- A number as text: Lua would write large ones as 1e+15.
local function text(number)
    return string.format('%.0f', number)
end

-- Numbers only grow, also after a failover to a server that has not seen the last of them, and also from shard to shard
-- for one process, which says the greatest that it has seen. No two shards give out the same one: divided by the number
-- of shards, those of a shard leave its own as the remainder.
local own_number = tonumber(string.match(tag, ':(%d+)%.%d+}$') or '0')
local last_number, step = nil, nil
local function next_number(floor)
    if not last_number then
        local seen, shards = string.match(floor, '^(%d+) (%d+)$')
        step = tonumber(shards)
        local last = math.max(tonumber(redis.call('HGET', KEYS[1], 'token') or '0'), now, tonumber(seen))
        last_number = last - last % step + own_number
    end
    last_number = last_number + step
    return last_number
end

local function keep_numbers()
    if last_number then
        redis.call('HSET', KEYS[1], 'token', text(last_number))
    end
end

-- A step between the shard of an event and the shard of a lane, as lanes.rs reads it.
local function step_of(kind, ticket, id, to, lane)
    return kind .. '\0' .. text(ticket) .. '\0' .. id .. to .. '\0' .. lane
end

-- A server that is full refuses the first write of a script, if it is one that takes room, and lets every later one
-- pass. What makes room in the end begins with this one.
local function even_without_room()
    redis.call('HDEL', KEYS[1], '')
end

-- Many arguments go in several commands, in pairs: the stack of Lua is short. Answers the sum, where there are numbers.
local function in_pieces(name, key, arguments)
    if #arguments == 0 then
        return redis.call(name, key)
    end
    local sum = 0
    for first = 1, #arguments, 2000 do
        local answer = redis.call(name, key, unpack(arguments, first, math.min(first + 1999, #arguments)))
        sum = sum + (tonumber(answer) or 0)
    end
    return sum
end
