-- Writes, if what was read is still so. Each change by itself, whole or not at all.
--   floor | `full` to write also where there is no room | then for each change:
--     how many conditions, and for each: key, field or nothing, value or nothing
--     how many commands, and for each: how many parts, its name, its key, its arguments
-- Answers 1 for each that was made and 0 for each that was not.

if ARGV[2] == 'full' then
    even_without_room()
end

local function is_so(key, field, expected)
    local found
    if #field > 0 then
        found = redis.call('HGET', tag .. key, field)
    else
        found = redis.call('GET', tag .. key)
    end
    return #expected > 0 and found == expected or #expected == 0 and not found
end

local answers = {}
local at = 3
while at <= #ARGV do
    local may = true
    local conditions = tonumber(ARGV[at])
    for condition = 1, conditions do
        local first = at + condition * 3 - 2
        may = may and is_so(ARGV[first], ARGV[first + 1], ARGV[first + 2])
    end
    at = at + conditions * 3 + 1
    local commands = tonumber(ARGV[at])
    at = at + 1
    for _ = 1, commands do
        local last = at + ARGV[at]
        if may then
            in_pieces(ARGV[at + 1], tag .. ARGV[at + 2], { unpack(ARGV, at + 3, last) })
        end
        at = last + 1
    end
    table.insert(answers, may and 1 or 0)
end
return answers
