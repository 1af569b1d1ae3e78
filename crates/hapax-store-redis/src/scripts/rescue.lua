-- Takes back deliveries whose lease has expired.
--   floor | at most so many | losses that are too many
-- Answers for each as take_back.lua says.

even_without_room()
local answers = {}
local expired = redis.call('ZRANGEBYSCORE', tag .. 'r', '-inf', '(' .. text(now), 'LIMIT', 0, ARGV[2])
for _, member in ipairs(expired) do
    local id, to = string.sub(member, 1, 16), string.sub(member, 17)
    local work = work_of(id, to)
    if not (work and work.lease) then
        redis.call('ZREM', tag .. 'r', member)
    else
        table.insert(answers, take_back(id, to, work, tonumber(ARGV[3])))
    end
end
keep_numbers()
return answers
