-- Tells a delivery about its stay in a lane: its place, and whether it is the head and so due.
--   floor | id | destination | ticket | its place, or nothing | `head` or nothing
-- Answers 1, or 0 if that stay is over: it is to be taken out of the lane.

even_without_room()
local id, to, ticket, place = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local stays = redis.call('HGET', tag .. 'e' .. id, 'y' .. to) == ticket
local work = stays and work_of(id, to)
if work then
    local is_due = ARGV[6] == 'head' and not work.lease and not work.due
    work.place = tonumber(place) or work.place
    if is_due then
        redis.call('ZREM', tag .. 'w' .. to, id)
        work.due = now
        redis.call('ZADD', queue_of(work, to), text(now), id)
    end
    if #place > 0 and not work.lease and not work.due then
        redis.call('ZADD', tag .. 'w' .. to, 0, id)
    end
    if is_due or #place > 0 then
        put(id, to, work)
        keep_numbers()
    end
end
return stays and 1 or 0
