-- An entry of the ledger: 64 bytes, so that small hashes keep it packed.
--   16 id | 32 hash of the body | 7 first seen | 7 expires at | 2 number of the scope
-- and behind it, only where one of them is not the default:
--   1 forgotten | 4 generation | 32 content hash and its rule

local function ledger_of(key)
    local first, second = string.byte(key, 1, 2)
    return tag .. 'l' .. string.format('%02x%x', first, math.floor(second / 16))
end

local function is_forgotten(entry)
    return #entry > 64 and string.byte(entry, 65) == 1
end

local function generation_of(entry)
    return #entry > 64 and struct.unpack('>I4', entry, 66) or 0
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
