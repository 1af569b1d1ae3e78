-- Adds duplicates to what is known of them, for keys that the ledger knows.
--   floor | gaps that are kept | then for each note: ledger bucket, key, count, last time, gaps, packed
even_without_room()
for at = 3, #ARGV, 5 do
    local bucket, key = ARGV[at], ARGV[at + 1]
    if redis.call('HEXISTS', tag .. 'l' .. bucket, key) == 1 then
        local packed = redis.call('HGET', tag .. 'c' .. bucket, key)
        local tally = packed and cmsgpack.unpack(packed) or { copies = 0, last = 0, gaps = {} }
        tally.copies = tally.copies + ARGV[at + 2]
        tally.last = math.max(tally.last, tonumber(ARGV[at + 3]))
        for _, gap in ipairs(cmsgpack.unpack(ARGV[at + 4])) do
            table.insert(tally.gaps, gap)
        end
        while #tally.gaps > tonumber(ARGV[2]) do
            table.remove(tally.gaps, 1)
        end
        redis.call('HSET', tag .. 'c' .. bucket, key, cmsgpack.pack(tally))
    end
end
return 1
