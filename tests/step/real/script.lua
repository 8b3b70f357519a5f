local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(14), string.format("%5.2f %s", 3.14159, "x"), ("hello world"):gsub("o", "0"))
local step = coroutine.wrap(function(a) for i = 1, 20 do a = coroutine.yield(a * i) end end)
print(step(3), step(4), pcall(error, "thrown"))
local t = {}
for i = 1, 300 do t[i] = (i * 7919) % 311 end
table.sort(t)
print(table.concat(t, ","))
