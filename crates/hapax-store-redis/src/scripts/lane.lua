-- Changes who is in a lane, and says whose turn it is.
--   floor | lane | `join`, `take` (joins, and has the turn), `leave` or `pass` | member | of one that joins its place, or
--   nothing for the next one; of one that passes the turn on its number
-- Answers: the member's place (0: it is not in the lane), the head, who has the turn, the turn's number, and a number
-- that is greater.

even_without_room()
local lane, turn, step, member = tag .. 'y' .. ARGV[2], tag .. 'z' .. ARGV[2], ARGV[3], ARGV[4]
local place = redis.call('ZSCORE', lane, member)
if step == 'leave' then
    redis.call('ZREM', lane, member)
    place = '0'
elseif step ~= 'pass' and not place then
    local number = tonumber(ARGV[5]) or next_number(ARGV[1])
    -- Those that were accepted in one moment have one number: each has a place of its own.
    while redis.call('ZCOUNT', lane, text(number), text(number)) > 0 do
        number = number + 1
    end
    place = text(number)
    redis.call('ZADD', lane, place, member)
end
local head = redis.call('ZRANGE', lane, 0, 0)[1]
if not head then
    redis.call('DEL', turn)
    return { place or '0', false, false, '0', '0' }
end
local who = redis.call('HGET', turn, 'who')
local number = redis.call('HGET', turn, 'number')
local is_passed = step == 'pass' and who == member and number == ARGV[5]
if not who or is_passed or not redis.call('ZSCORE', lane, who) then
    who, number = head, text(next_number(ARGV[1]))
    redis.call('HSET', turn, 'who', who, 'number', number)
end
if step == 'take' and who ~= member then
    who, number = member, text(next_number(ARGV[1]))
    redis.call('HSET', turn, 'who', who, 'number', number)
end
local greater = text(next_number(ARGV[1]))
keep_numbers()
return { place or '0', head, who, number, greater }
