-- SPDX-License-Identifier: MIT
-- Work for an interpreter: trees, tables, strings, closures and errors. Prints a sum, always the same.

local function tree(depth)
  if depth == 0 then return {} end
  return { tree(depth - 1), tree(depth - 1) }
end

local function count(node)
  if not node[1] then return 1 end
  return 1 + count(node[1]) + count(node[2])
end

local function sieve(limit)
  local composite, primes = {}, 0
  for number = 2, limit do
    if not composite[number] then
      primes = primes + 1
      for multiple = number * number, limit, number do composite[multiple] = true end
    end
  end
  return primes
end

local function words(lines)
  local seen, kinds = {}, 0
  for line = 1, lines do
    local text = ("line %d of the text, number %x"):format(line, line * 7919)
    for word in text:gmatch("%w+") do
      if not seen[word] then
        seen[word] = true
        kinds = kinds + 1
      end
    end
  end
  return kinds
end

local function sorted(size)
  local values, value = {}, 1
  for index = 1, size do
    value = (value * 16807) % 2147483647
    values[index] = value
  end
  table.sort(values, function(a, b) return a < b end)
  return values[size // 2] % 1000
end

local function caught(times)
  local errors = 0
  for attempt = 1, times do
    local fine = pcall(function() error({ attempt }) end)
    if not fine then errors = errors + 1 end
  end
  return errors
end

local rounds = tonumber(arg and arg[1]) or 3
local sum = 0
for _ = 1, rounds do
  sum = sum + count(tree(14)) + sieve(200000) + words(20000) + sorted(60000) + caught(20000)
end
print(sum)
