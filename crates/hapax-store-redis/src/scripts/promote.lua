-- Notifies a delivery of its stay in a lane: its place, and that it has the turn and so is due, or that it gives way.
--   floor | id | destination | ticket | its place, or nothing | `turn`, `yield` or nothing | a number of the lane
-- Answers 0 if that stay is over: it is to be taken out of the lane; 1 if it complied; 2 if it was tried and keeps its
-- turn; 3 if it knows something newer.

even_without_room()
local id, to, ticket, place, notice, number = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
if redis.call('HGET', tag .. 'e' .. id, 'y' .. to) ~= ticket then
    return 0
end
local work = work_of(id, to)
if not work then
    return 1
end
if #notice > 0 and number < (work.turn or 0) then
    return 3
end
if notice == 'yield' and (work.lease or work.attempts > 0) then
    return 2
end
local is_new = #place > 0 and work.place ~= tonumber(place) or #notice > 0 and work.turn ~= number
work.place = tonumber(place) or work.place
if #notice > 0 then
    work.turn = number
end
if notice == 'turn' and not work.lease and not work.due then
    redis.call('ZREM', tag .. 'w' .. to, id)
    work.due = now
    redis.call('ZADD', queue_of(work, to), text(now), id)
elseif notice == 'yield' and work.due then
    redis.call('ZREM', queue_of(work, to), id)
    work.due = nil
end
if not work.lease and not work.due then
    redis.call('ZADD', tag .. 'w' .. to, 0, id)
end
if is_new then
    put(id, to, work)
    keep_numbers()
end
return 1
