-- Changes who is in a lane, and says who is its head.
--   floor | lane | `join` or `leave` | member | its place, or nothing for the next one
-- Answers: the member's place (0: it is not in the lane), and the head.

even_without_room()
local lane, member = tag .. 'y' .. ARGV[2], ARGV[4]
local place = redis.call('ZSCORE', lane, member)
if ARGV[3] == 'leave' then
    redis.call('ZREM', lane, member)
    place = '0'
elseif not place then
    place = #ARGV[5] > 0 and ARGV[5] or text(next_number(ARGV[1]))
    redis.call('ZADD', lane, place, member)
    keep_numbers()
end
return { place, redis.call('ZRANGE', lane, 0, 0)[1] or false }
