-- SPDX-License-Identifier: MIT
-- Exercises the interpreter and its libraries; prints the same on every run.

local function section(name, ...)
  print(name, ...)
end

-- closures, varargs, upvalues, recursion, integer and float arithmetic
local function counter()
  local n = 0
  return function(step) n = n + (step or 1) return n end
end
local a, b = counter(), counter()
a(); a(5)
section("closures", a(), b())
local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
section("recursion", fib(22), select("#", table.unpack({}, 1, 5)), (select(-1, 1, 2, 3)))
section("numbers", 7 // 2, -7 // 2, 7 % -3, 7.5 // 2, 1 / 0, -1 / 0, 2 ^ 53, 1 << 62, 5 // 0.0, math.maxinteger + 1 == math.mininteger)
section("bits", 0xff & 0x0f, 0xf0 | 0x0f, 0xff ~ 0x0f, ~0, 1 << 63, "10" + 5, 10 .. "")
section("format", string.format("%5.2f|%-8s|%08x|%q|%g|%i|%a", 3.14159, "ab", 48879, 'a\n"b"\0', 1e100, 42, 1.0))

-- tables, sort, metatables, goto
local list = {}
for i = 1, 200 do list[i] = (i * 7919) % 1009 end
table.sort(list)
table.sort(list, function(x, y) return x > y end)
section("sort", list[1], list[100], list[200], #list, table.concat(list, ",", 1, 5))
local vector = {}
vector.__index = vector
vector.__add = function(x, y) return setmetatable({x = x.x + y.x}, vector) end
vector.__eq = function(x, y) return x.x == y.x end
vector.__lt = function(x, y) return x.x < y.x end
vector.__le = function(x, y) return x.x <= y.x end
vector.__call = function(self, n) return self.x * n end
vector.__tostring = function(self) return "vector " .. self.x end
vector.__len = function() return 99 end
vector.__concat = function(x, y) return tostring(x) .. "&" .. tostring(y) end
vector.__close = function(self) section("closed", self.x) end
local function make(x) return setmetatable({x = x}, vector) end
section("metatables", tostring(make(1) + make(2)), make(3) == make(3), make(1) < make(2), make(2)(21), #make(1), make(1) .. make(2))
do
  local first <close> = make(1)
  local second <close> = make(2)
end
for i = 1, 3 do
  for j = 1, 3 do
    if j == 2 then goto continue end
    section("goto", i, j)
    ::continue::
  end
end

-- errors: pcall, xpcall with a handler, nested, error objects, stack overflow
local ok, message = pcall(error, {code = 7})
section("error object", ok, message.code)
section("xpcall", xpcall(function() local x = nil; return x.y end, function(m) return (m:gsub("^.-:%d+: ", "")) end))
section("nested", pcall(pcall, error, "inner"))
local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end
section("deep", deep(10000), (select(2, pcall(function() local function f() return 1 + f() end return f() end)):match("stack overflow")))
section("tostring error", pcall(string.rep), pcall(setmetatable, 1, 2))

-- coroutines: generators, yields across pcall, wrap, close, errors
local function generate(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i * i) end end) end
local sum = 0
for square in generate(100) do sum = sum + square end
section("coroutine", sum)
local thread = coroutine.create(function(x)
  local answer = {pcall(function() local y = coroutine.yield(x + 1); error("after " .. y, 0) end)}
  coroutine.yield(table.unpack(answer))
  return "end"
end)
section("resume", coroutine.resume(thread, 1))
section("resume", coroutine.resume(thread, 2))
section("resume", coroutine.resume(thread))
section("resume", coroutine.resume(thread))
section("close", coroutine.close(coroutine.create(print)), coroutine.status(thread), coroutine.isyieldable())

-- strings: patterns, gsub with all kinds of replacement, pack, utf8
local text = ("the quick brown fox jumps over the lazy dog "):rep(20)
local words, letters = 0, {}
for word in text:gmatch("%a+") do words = words + 1 end
text:gsub(".", function(c) letters[c] = (letters[c] or 0) + 1 end)
section("patterns", words, letters.o, text:find("lazy", 1, true), ("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
section("gsub", ("hello world"):gsub("o", {o = "0"}), ("abc"):gsub("%w", "%0%0"), ("a.b"):gsub("%.", "%%"), ("x"):rep(3, "-"))
section("balance", ("f(a(b)c)d"):match("%b()"), ("THE (quick) fox"):find("%((%a+)%)"), ("  trim  "):match("^%s*(.-)%s*$"))
section("pack", string.unpack("<i4>I2zs1", string.pack("<i4>I2zs1", -2, 65534, "zero", "sized")))
section("utf8", utf8.len("žluťoučký"), utf8.codepoint("€", 1), utf8.char(8364, 122), #utf8.char(0x10FFFF))
section("bytes", ("abc"):byte(1, -1), ("abc"):reverse(), ("aBc"):upper(), ("%d"):format(3))

-- load, environments, collection, weak tables, os and io
section("load", load("local a, b = ... return a * b")(6, 7), load("syntax error here"), load(string.dump(function(x) return x + 1 end))(41))
local environment = {print = print}
load("x = 5", "chunk", "t", environment)()
section("environment", environment.x, x)
local weak = setmetatable({}, {__mode = "k"})
for i = 1, 1000 do weak[{}] = i end
local garbage = 0
for i = 1, 2000 do setmetatable({}, {__gc = function() garbage = garbage + 1 end}) end
collectgarbage() collectgarbage()
collectgarbage("generational") collectgarbage("incremental")
local strings = {}
for i = 1, 20000 do strings[i % 100 + 1] = ("string " .. i):rep(3) end
collectgarbage()
section("collected", next(weak), garbage >= 2000, collectgarbage("count") > 0)
local name = os.tmpname()
local file = assert(io.open(name, "w"))
file:write("line 1\n", 2, "\n", 3.5, "\n"):close()
for line in io.lines(name) do section("line", line) end
file = io.open(name)
section("read", file:read("l", "n", "n", "a"))
file:close()
os.remove(name)
section("date", os.date("!%Y-%m-%d %H:%M:%S", 1e9), os.time({year = 2001, month = 9, day = 9, hour = 12}) > 0, io.open("/nonexistent/file"))
section("debug", debug.getinfo(1, "S").what, debug.getinfo(fib, "S").linedefined, select("#", debug.getlocal(1, 1)))
section("traceback", (debug.traceback("top", 1):gsub("\n.*", "")))
