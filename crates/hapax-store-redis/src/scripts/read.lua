-- Reads several things at one moment, and takes numbers for what is written next.
--   floor | how many numbers | commands, packed: for each its name, its key without the tag, its arguments
-- Answers: the time, the first number, and the answers.

local taken = tonumber(ARGV[2])
local first = 0
if taken > 0 then
    even_without_room()
    first = next_number(ARGV[1])
    last_number = last_number + taken - 1
    keep_numbers()
end
local answers = {}
for place, command in ipairs(cmsgpack.unpack(ARGV[3])) do
    answers[place] = redis.call(command[1], tag .. command[2], unpack(command, 3))
end
return { text(now), text(first), answers }
