-- Moves the ends of leases.
--   floor | for how long | then for each hold: id, destination, token
-- Answers 1 for each that was moved and 0 for each that was lost.

even_without_room()
local answers = {}
for at = 3, #ARGV, 3 do
    local id, to = ARGV[at], ARGV[at + 1]
    local work = held(id, to, ARGV[at + 2])
    if work then
        work.lease = now + ARGV[2]
        redis.call('HSET', tag .. 'e' .. id, 'w' .. to, cmsgpack.pack(work))
        redis.call('ZADD', tag .. 'r', text(work.lease), id .. to)
    end
    table.insert(answers, work and 1 or 0)
end
return answers
