-- Claims each event, stores it and enqueues its work.
--   floor | then for each event: key, id, hash, expires at (8 bytes), content, scope, head, body, deliveries, indexed
-- Answers for each event: the entry of the first, if it was seen; nothing, if its id is another event's; otherwise
-- its generation, and for each delivery a token and the end of its lease (0: it is not running).

local floor = ARGV[1]
-- Whether any of the events is there already: hardly ever.
local may_be_taken = false
local events = {}
local answers, born, expiring, queued, running, counted = {}, {}, {}, {}, {}, {}

local function count(what)
    counted[what] = (counted[what] or 0) + 1
end

local function enqueue(queue, score, id)
    queued[queue] = queued[queue] or {}
    table.insert(queued[queue], text(score))
    table.insert(queued[queue], id)
end

-- The packed work of a new delivery, and its token and the end of its lease.
local function begin(id, delivery, generation)
    local token = next_number(floor)
    local work = { generation = generation, attempts = 0, lost = 0, token = token, ticket = token }
    local lease_until = 0
    if delivery.lease then
        lease_until = now + delivery.lease
        work.attempts = 1
        work.lease = lease_until
        table.insert(running, text(lease_until))
        table.insert(running, id .. delivery.to)
        count('running:' .. delivery.to)
    else
        count('pending:' .. delivery.to)
        if delivery.lane then
            work.lane = delivery.lane
            work.skip = delivery.skip
            enqueue('j', now, step_of('join', token, id, delivery.to, delivery.lane))
        else
            work.due = now
            enqueue('q' .. delivery.to, now, id)
        end
    end
    return cmsgpack.pack(work), token, lease_until
end

local function store(at, generation)
    local id, head, body, deliveries, indexed = ARGV[at + 1], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9]
    local answer = { generation }
    local fields = { 'h', head, 'b', body, 'm', struct.pack('>I8I4', now, generation) }
    if #deliveries > 0 then
        for _, delivery in ipairs(cmsgpack.unpack(deliveries)) do
            local work, token, lease_until = begin(id, delivery, generation)
            table.insert(fields, 'w' .. delivery.to)
            table.insert(fields, work)
            if delivery.lane then
                table.insert(fields, 'y' .. delivery.to)
                table.insert(fields, text(token))
            end
            table.insert(answer, token)
            table.insert(answer, lease_until)
        end
    end
    if #indexed > 0 then
        table.insert(fields, 'i')
        table.insert(fields, indexed)
        for _, value in ipairs(cmsgpack.unpack(indexed)) do
            enqueue('i' .. value, 0, id)
        end
    end
    redis.call('HSET', tag .. 'e' .. id, unpack(fields))
    table.insert(born, '0')
    table.insert(born, id)
    return answer
end

local function claim(at)
    local key, id, scope = ARGV[at], ARGV[at + 1], ARGV[at + 5]
    local ledger = ledger_of(key)
    local known = redis.call('HGET', ledger, key)
    if known and not is_forgotten(known) then
        return known
    end
    if may_be_taken and redis.call('HEXISTS', tag .. 'e' .. id, 'h') == 1 then
        return false
    end
    local generation = 0
    local entry = id .. ARGV[at + 2] .. struct.pack('>I8', now) .. ARGV[at + 3] .. number_of_scope(scope)
    local content = ARGV[at + 4]
    if known then
        generation = generation_of(known)
        local earlier = redis.call('HGET', tag .. 'k', key) or ''
        redis.call('HSET', tag .. 'k', key, earlier .. string.sub(known, 1, 16))
    else
        count('ledger:' .. scope)
    end
    if known or #content > 0 then
        entry = entry .. struct.pack('>BI4', 0, generation) .. content
    end
    redis.call('HSET', ledger, key, entry)
    local hour = math.floor(struct.unpack('>I8', ARGV[at + 3]) / 3600000000)
    expiring[hour] = expiring[hour] or {}
    table.insert(expiring[hour], key)
    return store(at, generation)
end

for at = 2, #ARGV, 10 do
    table.insert(events, tag .. 'e' .. ARGV[at + 1])
end
may_be_taken = redis.call('EXISTS', unpack(events)) > 0
for at = 2, #ARGV, 10 do
    table.insert(answers, claim(at))
end

if #born > 0 then
    in_pieces('ZADD', tag .. 't', born)
    for hour, keys in pairs(expiring) do
        in_pieces('RPUSH', tag .. 'x' .. text(hour), keys)
        redis.call('ZADD', tag .. 'h', text(hour), text(hour))
    end
    for queue, entries in pairs(queued) do
        in_pieces('ZADD', tag .. queue, entries)
    end
    if #running > 0 then
        in_pieces('ZADD', tag .. 'r', running)
    end
    for what, number in pairs(counted) do
        redis.call('HINCRBY', tag .. 'n', what, number)
    end
    keep_numbers()
end
return answers
