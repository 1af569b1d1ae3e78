-- Reads events without their bodies.
--   floor | ids
-- Answers for each: its fields and their values in turns.

local answers = {}
for at = 2, #ARGV do
    local event = tag .. 'e' .. ARGV[at]
    local fields = {}
    for _, field in ipairs(redis.call('HKEYS', event)) do
        if field ~= 'b' then
            table.insert(fields, field)
            table.insert(fields, redis.call('HGET', event, field))
        end
    end
    table.insert(answers, fields)
end
return answers
