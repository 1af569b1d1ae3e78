-- Records what became of attempts.
--   floor | then for each report: id, destination, token, outcome, wait or reason, attempt
-- Answers for each: 0, lost; 1, written; or, where its lane goes on, the step by which it does, the lane and its ticket.

even_without_room()
local answers = {}
for at = 2, #ARGV, 6 do
    local id, to, outcome, detail, attempt = ARGV[at], ARGV[at + 1], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]
    local work = held(id, to, ARGV[at + 2])
    if not work then
        table.insert(answers, 0)
    else
        local step = nil
        if outcome == 'completed' then
            step = finish(id, to, work, 'completed', nil)
        elseif outcome == 'dead' then
            step = finish(id, to, work, 'dead', detail)
        elseif outcome == 'retry' then
            wait_until(id, to, work, now + detail)
        else
            work.attempts = math.max(work.attempts - 1, 0)
            local acceptance = redis.call('HGET', tag .. 'e' .. id, 'm')
            local accepted = acceptance and struct.unpack('>I8', acceptance) or now
            wait_until(id, to, work, math.min(accepted, now))
        end
        if #attempt > 0 then
            local name = 'a' .. text(work.token) .. '\0' .. to .. '\0' .. work.generation
            redis.call('HSET', tag .. 'e' .. id, name, attempt)
        end
        table.insert(answers, step and { step, work.lane, work.ticket } or 1)
    end
end
keep_numbers()
return answers
