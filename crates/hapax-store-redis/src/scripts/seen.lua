-- Looks for identities, without the payloads of those who ask.
--   floor | keys
-- Answers for each: its entry, if it was seen and not forgotten.

local answers = {}
for at = 2, #ARGV do
    local known = redis.call('HGET', ledger_of(ARGV[at]), ARGV[at])
    table.insert(answers, known and not is_forgotten(known) and known)
end
return answers
