#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""symbolize_test.py SPWALK: spwalk symbolize on files of all kinds, stripped, split, damaged. Prints TAP."""
import json
import lzma
import os
import pty
import shutil
import subprocess
import sys

from harness import check, equal, finish, folder, must, refused, run, symbols_of

spwalk = os.path.abspath(sys.argv[1])
work = folder()
os.chdir(work)


def symbolize(*arguments, text=""):
    return run(spwalk, "symbolize", *arguments, text=text)


with open("prog.c", "w") as file:
    file.write("""#include <stdlib.h>
static inline __attribute__((always_inline)) int inner(int x) { return x * 7 + rand(); }
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }
static __attribute__((noinline, aligned(64))) int local(int x) { return outer(x) * 2; }
__attribute__((noinline, noreturn)) void last(void) { abort(); }
__attribute__((noinline)) int big(volatile int *p) { volatile char room[4096]; room[*p] = 1; return room[0]; }
int main(int argc, char **argv) { int x = local(argc); if (x == 12345) last(); return big(&x) + (argv == 0); }
""")
must("gcc", "-O2", "-g", "-Wl,--build-id", "-o", "prog", "prog.c")
functions = symbols_of("prog")
outer, local, main_, last = (functions[name] for name in ("outer", "local", "main", "last"))

# Answers in addr2line's form.
equal(symbolize("-e", "prog", "-f", f"{outer[0]:x}").out.splitlines()[0], "outer", "a function's name with -f")
equal(symbolize("-e", "prog", "-f", f"0x{outer[0]:X}").out.splitlines()[0], "outer", "0x and capitals are taken")
chains = [symbolize("-e", "prog", "-f", "-i", "-s", f"{at:x}").out.splitlines() for at in range(outer[0], sum(outer))]
chain = next((c for c in chains if c[0] == "inner"), None)
check(chain is not None and chain[2] == "outer" and chain[1].startswith("prog.c:2") and chain[3].startswith("prog.c:3"),
      "the callers that a function is inlined into", chains)
at = f"{outer[0]:x}"
for option in ("", "-f", "-fi", "-fia", "-fp", "-fps", "-fipa", "-a", "-s"):
    words = ["-e", "prog"] + ([option] if option else [])
    wanted = must("addr2line", *words, at).out
    equal(symbolize(*words, at).out, wanted, f"as addr2line {option or 'without options'}")
equal(symbolize("-e", "prog", "-fa", text=f"{at} {at}\n\n{at}\n").out, must("addr2line", "-e", "prog", "-fa", at, at, at).out,
      "addresses on standard input")
equal(symbolize("-f", f"prog+0x{outer[0]:x}").out.splitlines()[0], "outer", "FILE+ADDRESS")

# On standard input a word that is bad has an answer of its own, and those after it have theirs.
outer_line, unknown = must("addr2line", "-e", "prog", "-fp", at).out, "?? at ??:0\n"
result = symbolize("-e", "prog", "-fp", text=f"{at} xyz {at}\nnowhere+0x10\n{at}\n")
check(result.out == outer_line + unknown + outer_line + unknown + outer_line and result.status == 2 and
      result.err.count("\n") == 2 and "'xyz' is not an address" in result.err and "nowhere: No such file" in result.err,
      "bad words on standard input: ?? each, the others as ever, status 2 at the end", result)
result = symbolize("-e", "prog", "-a", text=f"xyz\n{at}\n")
check(result.out.startswith("xyz\n??:0\n0x") and result.status == 2, "with -a the word is told", result)
result = symbolize("-e", "prog", "-j", text=f"xyz {at}\n")
check([json.loads(line)["function"]["name"] for line in result.out.splitlines()] == ["outer"] and result.status == 2,
      "with -j a bad word has no object", result)
result = symbolize("-f", text=f"{at} prog+0x{at}\n")
check(result.out.splitlines()[::2] == ["??", "outer"] and "-e ELF or -m MAP" in result.err and result.status == 2,
      "an address without a file among those with one", result)


def at_terminal(*arguments):
    """What it says where the addresses come from a terminal, at which nothing is typed but the end of input."""
    master, terminal = pty.openpty()
    os.write(master, b"\x04")
    done = subprocess.run([spwalk, "symbolize", *arguments], stdin=terminal, capture_output=True, text=True)
    os.close(terminal)
    os.close(master)
    return done


waits = at_terminal()
check("reading FILE+ADDRESS" in waits.stderr and waits.returncode == 0, "at a terminal it says what it waits for", waits)
check("reading addresses" in at_terminal("-e", "prog").stderr, "also with a file")
check(at_terminal("-e", "prog", at).stderr == "", "not where addresses are arguments")
equal(symbolize("-e", "prog", text="").err, "", "and not where they come from elsewhere")

# Return addresses: a call that does not return may be a function's last instruction.
end = sum(last)
check("last" not in symbolize("-e", "prog", "-f", f"{end:x}").out, "past a function's end is not in it")
equal(symbolize("-e", "prog", "-r", "-f", f"{end:x}").out.splitlines()[0], "last", "but its return address is, with -r")


# Misses say what they are.
def miss(*arguments):
    return symbolize("-f", *arguments).out.splitlines()[0]


gap = sum(outer) if all(not a <= sum(outer) < a + s for a, s in functions.values()) else sum(local)
equal(miss("-e", "prog", f"{gap:x}"), "?? (between functions)", "between two functions")
equal(miss("-e", "prog", "10"), "?? (before the first function)", "before the first")
load_end = max(int(words[2], 16) + int(words[5], 16) for words in map(str.split, must("readelf", "-lW", "prog").out.splitlines())
               if words[:1] == ["LOAD"])
equal(miss("-e", "prog", f"{load_end - 1:x}"), "?? (after the last function)", "after the last")
equal(miss("-e", "prog", "ffffffffff"), "?? (in no module)", "outside the file")
check(symbolize("-e", "prog", "-n", "-f", f"{gap:x}").out.splitlines()[0] in functions, "-n names the nearest below")

# Where symbols live elsewhere.
must("objcopy", "--only-keep-debug", "prog", "prog.debug")
must("strip", "-o", "bare", "prog")
equal(miss("-e", "bare", f"{local[0]:x}").split()[0], "??", "a stripped program does not name its static functions")
must("gcc", "-O2", "-g", "-Wl,--build-id", "-Wl,--export-dynamic-symbol=outer", "-o", "exporting", "prog.c")
exported, inside = symbols_of("exporting")["outer"], symbols_of("exporting")["local"][0]
must("strip", "exporting")
equal([miss("-e", "exporting", f"{where:x}") for where in (exported[0], 0x10, inside, load_end - 1)],
      ["outer", *3 * ["?? (no symbols)"]], "nothing is known of what lies around the functions of .dynsym alone")
must("objcopy", "--add-gnu-debuglink=prog.debug", "bare", "linked")
wanted = symbolize("-e", "prog", "-fi", f"{local[0]:x}", at).out
equal(symbolize("-e", "linked", "-fi", f"{local[0]:x}", at).out, wanted, ".gnu_debuglink, beside the file")
os.mkdir(".debug")
os.rename("prog.debug", ".debug/prog.debug")
equal(symbolize("-e", "linked", "-fi", f"{local[0]:x}", at).out, wanted, ".gnu_debuglink, in .debug")
os.makedirs("path" + work)
os.rename(".debug/prog.debug", f"path{work}/prog.debug")
equal(symbolize("-e", "linked", "-d", "/nowhere:path", "-fi", f"{local[0]:x}", at).out, wanted,
      ".gnu_debuglink, in a debug path")
shutil.copy(f"path{work}/prog.debug", "prog.debug")
build_id = json.loads(symbolize("-e", "prog", "-j", at).out)["build_id"]
os.makedirs(f"ids/.build-id/{build_id[:2]}")
by_id = f"ids/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
shutil.copy("prog.debug", by_id)
equal(symbolize("-e", "bare", "-d", "ids", "-fi", f"{local[0]:x}", at).out, wanted, "by build-id")
equal(symbolize("-e", "bare", "-d", "ids", "--no-debug-files", "-f", f"{local[0]:x}").out.split()[0], "??",
      "not with --no-debug-files")

# Refused, with the reason.
with open("prog.debug", "ab") as file:
    file.write(b"x")
result = symbolize("-e", "linked", "-f", f"{local[0]:x}")
check("refused: its CRC is" in result.err and result.out.startswith("??") and result.status == 0,
      "a debug file of a wrong CRC is refused, with the reason", result)
must("gcc", "-O1", "-g", "-Wl,--build-id", "-o", "other", "prog.c")
shutil.copy("other", by_id)
result = symbolize("-e", "bare", "-d", "ids", "-f", f"{local[0]:x}")
check("refused: its build-id is" in result.err and result.out.startswith("??"),
      "a debug file of another build-id is refused, with the reason", result)

# .gnu_debugdata
must("objcopy", "-S", "--remove-section", ".gnu_debuglink", "prog", "mini")
must("objcopy", "--only-keep-debug", "--remove-section=.debug_*", "prog", "mini.debug")
must("objcopy", "-g", "prog", "mini.symbols")
with open("mini.symbols", "rb") as file, open("mini.xz", "wb") as out:
    out.write(lzma.compress(file.read()))
must("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "mini", "with-mini")
result = json.loads(symbolize("-e", "with-mini", "-d", "/nowhere", "-j", f"{local[0]:x}").out)
equal((result["function"] or {}).get("source"), "debugdata", ".gnu_debugdata")
with open("mini.xz", "r+b") as file:
    file.seek(200)
    file.write(b"\xff" * 64)
must("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "mini", "with-bad-mini")
refused(symbolize("-e", "with-bad-mini", "-d", "/nowhere", "-f", at), "a damaged .gnu_debugdata", ".gnu_debugdata", "damaged")

# No section headers: PT_DYNAMIC leads to .dynsym.
must("gcc", "-O2", "-g", "-shared", "-fPIC", "-o", "lib.so", "prog.c")
in_lib = symbols_of("lib.so")["outer"][0]
must("llvm-objcopy", "--strip-sections", "lib.so", "headless.so")
equal(symbolize("-e", "headless.so", "-f", f"{in_lib:x}").out.splitlines()[0], "outer", ".dynsym without section headers")

# C++
with open("shapes.cc", "w") as file:
    file.write("namespace shapes { struct square { int side; int area(int) const; };\n"
               "int square::area(int x) const { return side * side + x; } }\nint main() { return shapes::square{2}.area(1); }\n")
must("g++", "-O0", "-g", "-o", "shapes", "shapes.cc")
mangled = symbols_of("shapes")["_ZNK6shapes6square4areaEi"][0]
for option in ("-f", "-fC"):
    equal(symbolize("-e", "shapes", option, f"{mangled:x}").out, must("addr2line", "-e", "shapes", option, f"{mangled:x}").out,
          f"a C++ name, {option}")

# JSON
answer = json.loads(symbolize("-e", "prog", "-j", at).out)
equal((answer["function"]["name"], answer["function"]["offset"], answer["function"]["size"], answer["miss"]),
      ("outer", 0, outer[1], None), "JSON: the function")
equal(json.loads(symbolize("-e", "prog", "-j", "ffffffffff").out)["miss"], "in no module", "JSON: a miss")
with open("odd.s", "wb") as file:
    file.write(b'.globl "\xff\xfeodd"\n.type "\xff\xfeodd", @function\n"\xff\xfeodd": ret\n.size "\xff\xfeodd", 1\n.globl _start\n_start: ret\n'
               b'.section .note.GNU-stack,"",@progbits\n')
must("gcc", "-nostdlib", "-o", "odd", "odd.s")
entry = next(int(line.split()[1], 16) for line in must("readelf", "-sW", "odd").out.splitlines() if line.split()[3:4] == ["FUNC"])
equal(json.loads(symbolize("-e", "odd", "-j", f"{entry:x}").out)["function"]["name"], "\\xff\\xfeodd",
      "JSON: a name that is no UTF-8")

# Bad input.
refused(symbolize("-e", "prog", "xyz"), "no address", "'xyz' is not an address")
refused(symbolize("-e", "prog", at, "12 34"), "one bad address among good ones", "is not an address")
refused(symbolize("-e", "prog", "11112222333344445"), "an address of more than 64 bits", "is not an address")
refused(symbolize("-e", "nowhere", at), "no file", "nowhere: No such file or directory")
refused(symbolize("-e", "prog.c", at), "no ELF file", "prog.c: not an x86-64 ELF file")
refused(symbolize(at), "no file given", "-e ELF or -m MAP")
refused(symbolize("--frob"), "an unknown option", "--frob")
refused(symbolize("-e"), "an option without its argument", "-e needs an argument")
refused(run(spwalk, "frob"), "an unknown command", "'frob'")
refused(run(spwalk), "no command", "no command")
for name in ("", "symbolize", "map", "frames"):
    result = run(spwalk, *([name] if name else []), "--help")
    check(result.status == 0 and result.out.startswith("usage: spwalk") and result.err == "", f"{name or 'spwalk'} --help", result)
check(run(spwalk, "--version").out.startswith("spwalk 0."), "--version")
for cut in (100, 1000, 5000):
    with open("prog", "rb") as file, open("cut", "wb") as out:
        out.write(file.read()[:cut])
    result = symbolize("-e", "cut", "-f", at)
    check(result.status in (0, 2) and (result.status == 0 or result.out == ""), f"a file cut at {cut} bytes", result)
must("objcopy", "-O", "binary", "--only-section=.debug_line", "--set-section-flags", ".debug_line=alloc", "prog", "lines")
with open("lines", "rb") as file:
    table = file.read()
with open("prog", "rb") as file:
    whole = file.read()
with open("bad-lines", "wb") as file:
    file.write(whole.replace(table, b"\xff" * len(table)))
refused(symbolize("-e", "bad-lines", "-f", at), "a damaged line table", "line table", "damaged")

shutil.rmtree(work)
finish()
