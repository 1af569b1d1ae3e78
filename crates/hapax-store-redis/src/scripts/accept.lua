-- Claims each event, stores it and enqueues its work.
--   floor | then for each event: key, id, hash, expires at (8 bytes), content, scope, head, body, deliveries, indexed,
--     and the event that has the same body, if its work is held because of it
-- Answers for each event: the entry of the first, if it was seen; nothing, if its id is another event's; otherwise
-- its generation, and for each delivery a token and the end of its lease (0: it is not running).

local floor = ARGV[1]
local answers, winners, expiring, queued, running, counted = {}, {}, {}, {}, {}, {}

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
        work.holder = delivery.owner .. ' ' .. text(token)
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

-- The packed outcome of a delivery that is not tried until an operator releases it, and its token.
local function hold(id, delivery, generation)
    local token, order = next_number(floor), next_number(floor)
    local outcome = {
        state = 'dead',
        attempts = 0,
        lost = 0,
        finished = now,
        order = order,
        generation = generation,
        error = 'same_body',
        lane = delivery.lane,
        skip = delivery.skip,
        ticket = token,
    }
    count('dead:' .. delivery.to)
    enqueue('d', order, id .. delivery.to .. '\0same_body')
    return cmsgpack.pack(outcome), token
end

local function store(at, generation)
    local id, head, body, deliveries, indexed = ARGV[at + 1], ARGV[at + 6], ARGV[at + 7], ARGV[at + 8], ARGV[at + 9]
    local answer = { generation }
    local fields = { 'h', head, 'b', body, 'm', struct.pack('>I8I4', now, generation) }
    local same_body = ARGV[at + 10]
    if #same_body > 0 then
        table.insert(fields, 's')
        table.insert(fields, same_body)
        for _, delivery in ipairs(#deliveries > 0 and cmsgpack.unpack(deliveries) or {}) do
            local outcome, token = hold(id, delivery, generation)
            table.insert(fields, 'o' .. delivery.to .. '\0' .. text(token))
            table.insert(fields, outcome)
            table.insert(answer, token)
            table.insert(answer, 0)
        end
    elseif #deliveries > 0 then
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
    return answer
end

-- Claims an identity: its entry, if it was seen; otherwise nothing, and it is one of the winners. What a server without
-- room refuses is not written, and an error.
local function claim(at, place)
    local key, id, content = ARGV[at], ARGV[at + 1], ARGV[at + 4]
    local ledger = ledger_of(key)
    local base = id .. ARGV[at + 2] .. struct.pack('>I8', now) .. ARGV[at + 3] .. number_of_scope(ARGV[at + 5])
    local entry = #content > 0 and base .. struct.pack('>BI4', 0, 0) .. content or base
    local made = redis.pcall('HSETNX', ledger, key, entry)
    local winner = { at = at, place = place, ledger = ledger, generation = 0 }
    if made ~= 1 then
        local known = redis.call('HGET', ledger, key)
        if known and not is_forgotten(known) then
            return known
        elseif not known then
            return made
        end
        winner.generation = generation_of(known)
        winner.known = known
        redis.call('HSET', ledger, key, base .. struct.pack('>BI4', 0, winner.generation) .. content)
    end
    table.insert(winners, winner)
    return false
end

-- Gives up the claim of a winner whose id is another event's.
local function refuse(winner)
    local key = ARGV[winner.at]
    if winner.known then
        redis.call('HSET', winner.ledger, key, winner.known)
    else
        redis.call('HDEL', winner.ledger, key)
    end
end

-- Stores what a winner brought, and notes when its entry expires.
local function settle(winner)
    local at = winner.at
    local key = ARGV[at]
    if winner.known then
        local earlier = redis.call('HGET', tag .. 'k', key) or ''
        redis.call('HSET', tag .. 'k', key, earlier .. string.sub(winner.known, 1, 16))
    else
        count('ledger:' .. ARGV[at + 5])
    end
    local hour = math.floor(struct.unpack('>I8', ARGV[at + 3]) / 3600000000)
    expiring[hour] = expiring[hour] or {}
    table.insert(expiring[hour], key)
    return store(at, winner.generation)
end

for at = 2, #ARGV, 11 do
    local place = #answers + 1
    local answer = claim(at, place)
    if type(answer) == 'table' then
        return answer
    end
    answers[place] = answer
end

local born = {}
for _, winner in ipairs(winners) do
    table.insert(born, '0')
    table.insert(born, ARGV[winner.at + 1])
end
local added = #born > 0 and in_pieces('ZADD', tag .. 't', born) or 0
local stored = {}
for _, winner in ipairs(winners) do
    local id = ARGV[winner.at + 1]
    local may_be_taken = added < #winners
    if may_be_taken and (stored[id] or redis.call('HEXISTS', tag .. 'e' .. id, 'h') == 1) then
        refuse(winner)
    else
        stored[id] = true
        answers[winner.place] = settle(winner)
    end
end

if #born > 0 then
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
