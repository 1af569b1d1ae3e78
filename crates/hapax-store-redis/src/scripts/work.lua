-- Work: a delivery that is not finished. It runs if it has a `lease`, the end of it; it waits until `due`; it has
-- neither while it waits in its lane. `ticket` tells one stay in a lane from the next.

local floor = ARGV[1]

local function work_of(id, to)
    local packed = redis.call('HGET', tag .. 'e' .. id, 'w' .. to)
    return packed and cmsgpack.unpack(packed)
end

-- The work, if it runs under the very token shown.
local function held(id, to, token)
    local work = work_of(id, to)
    return work and work.lease and text(work.token) == token and work
end

local function state_of(work)
    if work.lease then
        return 'running'
    end
    return work.attempts > 0 and 'retrying' or 'pending'
end

local function queue_of(work, to)
    return tag .. (work.lost > 0 and 's' or 'q') .. to
end

-- Who leased the work: `holder` names the token as well, since earlier versions lease without a word of it.
local function hold(work, owner)
    work.holder = owner .. ' ' .. text(work.token)
end

local function holder_of(work)
    local owner, token = string.match(work.holder or '', '^(%x+) (%d+)$')
    return token == text(work.token) and owner
end

local function count(state, to, number)
    redis.call('HINCRBY', tag .. 'n', state .. ':' .. to, number)
end

-- Writes work, with a version that no other write has.
local function put(id, to, work)
    redis.call('HSET', tag .. 'e' .. id, 'w' .. to, cmsgpack.pack(work), 'v', text(next_number(floor)))
end

-- Ends a lease: it waits again.
local function wait_until(id, to, work, due)
    redis.call('ZREM', tag .. 'r', id .. to)
    count('running', to, -1)
    work.lease = nil
    work.holder = nil
    work.due = due
    count(state_of(work), to, 1)
    redis.call('ZADD', queue_of(work, to), text(due), id)
    put(id, to, work)
end

-- Ends work that runs; the step between shards by which its lane goes on, if it has one, which is written down. One that
-- holds its lane stays in it, and lets those go on that were put back before it.
local function finish(id, to, work, state, reason)
    local order = next_number(floor)
    local holds = state == 'dead' and work.lane and not work.skip or nil
    local outcome = {
        state = state,
        attempts = work.attempts,
        lost = work.lost,
        finished = now,
        order = order,
        generation = work.generation,
        error = reason,
        lane = work.lane,
        skip = work.skip,
        place = work.place,
        ticket = work.ticket,
        replay = work.replay,
        holds = holds,
    }
    redis.call('ZREM', tag .. 'r', id .. to)
    redis.call('HDEL', tag .. 'e' .. id, 'w' .. to)
    local name = 'o' .. to .. '\0' .. text(work.token)
    redis.call('HSET', tag .. 'e' .. id, name, cmsgpack.pack(outcome), 'v', text(order))
    count('running', to, -1)
    if state == 'dead' then
        count('dead', to, 1)
        redis.call('ZADD', tag .. 'd', text(order), id .. to .. '\0' .. reason)
    end
    if not work.lane then
        return nil
    end
    local step = holds and 'join' or 'leave'
    if step == 'leave' then
        redis.call('HDEL', tag .. 'e' .. id, 'y' .. to)
    end
    redis.call('ZADD', tag .. 'j', text(now), step_of(step, work.ticket, id, to, work.lane))
    return step
end
