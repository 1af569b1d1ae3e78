-- Reads several things at one moment, and takes numbers for what is written next.
--   floor | how many numbers | then for each command: how many parts, its name, its key without the tag, its arguments
-- Answers: the time, the first number, and the answers.

local taken = tonumber(ARGV[2])
local first = 0
if taken > 0 then
    even_without_room()
    first = next_number(ARGV[1])
    last_number = last_number + (taken - 1) * step
    keep_numbers()
end
local answers = {}
local at = 3
while at <= #ARGV do
    local last = at + ARGV[at]
    table.insert(answers, redis.call(ARGV[at + 1], tag .. ARGV[at + 2], unpack(ARGV, at + 3, last)))
    at = last + 1
end
return { text(now), text(first), answers }
