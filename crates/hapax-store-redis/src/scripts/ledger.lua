-- An entry of the ledger: 66 bytes. Redis packs the entries of a hash one behind the other as long as none is longer than
-- 64, and then goes through all of them to find one.
--   16 id | 32 hash of the body | 8 first seen | 8 expires at | 2 number of the scope
-- and behind it, only where one of them is not the default:
--   1 forgotten | 4 generation | 32 content hash and its rule

local function ledger_of(key)
    local first, second = string.byte(key, 1, 2)
    return tag .. 'l' .. string.format('%03x', first * 4 + math.floor(second / 64))
end

local function is_forgotten(entry)
    return #entry > 66 and string.byte(entry, 67) == 1
end

local function generation_of(entry)
    return #entry > 66 and struct.unpack('>I4', entry, 68) or 0
end

local scope_numbers = {}
local function number_of_scope(scope)
    if not scope_numbers[scope] then
        local known = redis.call('HGET', tag .. 'o', scope)
        if not known then
            known = redis.call('HLEN', tag .. 'o') + 1
            redis.call('HSET', tag .. 'o', scope, known)
        end
        scope_numbers[scope] = struct.pack('>I2', tonumber(known))
    end
    return scope_numbers[scope]
end
