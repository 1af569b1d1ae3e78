-- Writes, if what was read is still so. Each change by itself, whole or not at all.
--   floor | `full` to write also where there is no room | changes, packed: for each its conditions (key, field or nothing, value or nothing) and its commands
-- Answers 1 for each that was made and 0 for each that was not.

if ARGV[2] == 'full' then
    even_without_room()
end

local function is_so(condition)
    local key, field, expected = tag .. condition[1], condition[2], condition[3]
    local found
    if #field > 0 then
        found = redis.call('HGET', key, field)
    else
        found = redis.call('GET', key)
    end
    return #expected > 0 and found == expected or #expected == 0 and not found
end

local answers = {}
for _, change in ipairs(cmsgpack.unpack(ARGV[3])) do
    local may = true
    for _, condition in ipairs(change[1]) do
        may = may and is_so(condition)
    end
    if may then
        for _, command in ipairs(change[2]) do
            in_pieces(command[1], tag .. command[2], { unpack(command, 3) })
        end
    end
    table.insert(answers, may and 1 or 0)
end
return answers
