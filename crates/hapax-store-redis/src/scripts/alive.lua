-- Notes that an owner lives, and takes back what dead ones hold.
--   floor | owner | at most so many | losses that are too many | gap | silence | reachable
-- Answers for each as take_back.lua says. The last three are those of `Patience`.

even_without_room()
local owner, limit, losses_max = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local gap, silence, reachable = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- Since when an owner reports without a gap, and when it last did.
local function known(value)
    local since, reported = string.match(value, '^(%d+) (%d+)$')
    return tonumber(since), tonumber(reported)
end

local since = now
local before = redis.call('HGET', tag .. 'u', owner)
if before then
    local kept, reported = known(before)
    if math.abs(now - reported) <= gap then
        since = kept
    end
end
redis.call('HSET', tag .. 'u', owner, text(since) .. ' ' .. text(now))
if now - since < reachable then
    return {}
end

local dead, names = {}, {}
local owners = redis.call('HGETALL', tag .. 'u')
for at = 1, #owners, 2 do
    local _, reported = known(owners[at + 1])
    if math.abs(now - reported) > silence then
        dead[owners[at]] = true
        table.insert(names, owners[at])
    end
end
if #names == 0 then
    return {}
end

local answers = {}
for _, member in ipairs(redis.call('ZRANGE', tag .. 'r', 0, -1)) do
    if #answers >= limit then
        break
    end
    local id, to = string.sub(member, 1, 16), string.sub(member, 17)
    local work = work_of(id, to)
    if work and work.lease and dead[holder_of(work)] then
        table.insert(answers, take_back(id, to, work, losses_max))
    end
end
if #answers == 0 and limit > 0 then
    redis.call('HDEL', tag .. 'u', unpack(names))
end
keep_numbers()
return answers
