-- Takes back deliveries whose lease has expired.
--   floor | at most so many | losses that are too many
-- Answers for each: id, destination, losses, and where its lane goes on: the step, the lane and its ticket.

even_without_room()
local answers = {}
local expired = redis.call('ZRANGEBYSCORE', tag .. 'r', '-inf', '(' .. text(now), 'LIMIT', 0, ARGV[2])
for _, member in ipairs(expired) do
    local id, to = string.sub(member, 1, 16), string.sub(member, 17)
    local work = work_of(id, to)
    if not (work and work.lease) then
        redis.call('ZREM', tag .. 'r', member)
    else
        work.token = next_number(floor)
        work.attempts = math.max(work.attempts - 1, 0)
        work.lost = work.lost + 1
        local answer = { id, to, work.lost }
        if work.lost < tonumber(ARGV[3]) then
            wait_until(id, to, work, now)
        else
            local step = finish(id, to, work, 'dead', 'lost')
            if step then
                table.insert(answer, step)
                table.insert(answer, work.lane)
                table.insert(answer, work.ticket)
            end
        end
        table.insert(answers, answer)
    end
end
keep_numbers()
return answers
