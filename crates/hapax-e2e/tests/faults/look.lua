-- Everything in one shard at one moment: the unfinished deliveries of each event, and the last outcome at each
-- destination. Returns, for each delivery: the provider's id (it is in every body here), destination, generation,
-- token, state, replay.
local tag, found = KEYS[1], {}

local function hex(bytes)
    return (string.gsub(bytes or '', '.', function(byte) return string.format('%02x', string.byte(byte)) end))
end

local function add(event, to, delivery, token, state)
    for _, value in ipairs({ event, to, tostring(delivery.generation), token, state, hex(delivery.replay) }) do
        table.insert(found, value)
    end
end

for _, id in ipairs(redis.call('ZRANGE', tag .. 't', 0, -1)) do
    local fields, last, working = redis.call('HGETALL', tag .. 'e' .. id), {}, {}
    local event = string.match(redis.call('HGET', tag .. 'e' .. id, 'b') or '', '{"id":"([^"]+)"')
    for at = 1, #fields, 2 do
        local kind, to, token = string.match(fields[at], '^([wo])([^%z]+)%z?(%d*)$')
        if kind == 'w' then
            local work = cmsgpack.unpack(fields[at + 1])
            working[to] = true
            local state = work.lease and 'running' or (work.attempts > 0 and 'retrying' or 'pending')
            add(event, to, work, string.format('%.0f', work.token), state)
        elseif kind == 'o' and (not last[to] or tonumber(token) > tonumber(last[to].token)) then
            last[to] = { token = token, outcome = cmsgpack.unpack(fields[at + 1]) }
        end
    end
    for to, ended in pairs(last) do
        if not working[to] then
            add(event, to, ended.outcome, ended.token, ended.outcome.state)
        end
    end
end
return found
