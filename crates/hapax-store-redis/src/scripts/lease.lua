-- Leases due deliveries, the longest due first.
--   floor | destination | `q` or `s`, fresh ones or suspects | at most so many | for how long | owner
-- Answers: when the next is due, and then for each delivery since when it was due, its id, its work, and the event's
-- head and body.

local to, queue = ARGV[2], tag .. ARGV[3] .. ARGV[2]
if redis.call('HEXISTS', tag .. 'p', to) == 1 then
    return { false }
end
local answer = { false }
for _, id in ipairs(redis.call('ZRANGEBYSCORE', queue, '-inf', text(now), 'LIMIT', 0, ARGV[4])) do
    local work = work_of(id, to)
    redis.call('ZREM', queue, id)
    if work then
        count(state_of(work), to, -1)
        work.attempts = work.attempts + 1
        work.token = next_number(floor)
        local due = text(work.due or now)
        work.due = nil
        work.lease = now + ARGV[5]
        hold(work, ARGV[6])
        count('running', to, 1)
        redis.call('ZADD', tag .. 'r', text(work.lease), id .. to)
        put(id, to, work)
        local event = redis.call('HMGET', tag .. 'e' .. id, 'h', 'b')
        table.insert(answer, { due, id, cmsgpack.pack(work), event[1], event[2] })
    end
end
local next_due = redis.call('ZRANGE', queue, 0, 0, 'WITHSCORES')
answer[1] = next_due[2] or false
keep_numbers()
return answer
