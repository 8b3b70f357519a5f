-- SPDX-License-Identifier: MIT
-- Tables, strings and closures, made and dropped: what an interpreter asks of its allocator.
local count = tonumber(arg and arg[1]) or 300000
local total = 0
for round = 1, 4 do
    local list = {}
    for i = 1, count do
        list[i] = { name = "item " .. i, value = i % 97, next = list[i - 1] and i - 1 }
    end
    table.sort(list, function(a, b) return a.value < b.value end)
    local parts = {}
    for i = 1, count, 7 do
        parts[#parts + 1] = list[i].name:upper()
    end
    total = total + #table.concat(parts, ",")
end
print(total)
