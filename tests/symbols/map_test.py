#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""map_test.py SPWALK: spwalk map, and names by its maps. Prints TAP."""
import json
import os
import shutil
import struct
import sys

from harness import check, equal, finish, folder, must, refused, run, symbols_of

spwalk = os.path.abspath(sys.argv[1])
work = folder()
os.chdir(work)

with open("prog.c", "w") as file:
    file.write("#include <stdlib.h>\n" + "".join(
        f"__attribute__((noinline)) static int part_{i}(int x) {{ return x * {i} + rand(); }}\n" for i in range(200)) +
        "int main(int argc, char **argv) { int sum = argv == 0;\n" + "".join(f"sum += part_{i}(argc);\n" for i in range(200)) +
        "return sum; }\n")
must("gcc", "-O2", "-g", "-Wl,--build-id", "-Wl,-Map=prog.map", "-o", "prog", "prog.c")
must("strip", "-o", "bare", "prog")
functions = symbols_of("prog")


def symbolize(*arguments):
    return run(spwalk, "symbolize", *arguments)


result = run(spwalk, "map", "prog", "-o", "prog.spmap")
check(result.status == 0 and result.out == "" and result.err == "", "a map is written, and nothing said", result)
run(spwalk, "map", "prog", "-o", "again.spmap")
with open("prog.spmap", "rb") as a, open("again.spmap", "rb") as b:
    whole = a.read()
    check(whole == b.read(), "the same input gives the same bytes")
addresses = [f"{start + size // 2:x}" for start, size in functions.values() if size]
wanted = symbolize("-e", "prog", "--no-debug-files", "-j", *addresses).out
named = [json.loads(line)["function"] for line in wanted.splitlines()]
for how in (["-m", "prog.spmap"], ["-e", "bare", "-m", "prog.spmap"]):
    found = [json.loads(line)["function"] for line in symbolize(*how, "-j", *addresses).out.splitlines()]
    check([(f["name"], f["offset"], f["size"]) for f in found] == [(f["name"], f["offset"], f["size"]) for f in named]
          and any(f["source"] == "map" for f in found), f"all functions as by .symtab, {' '.join(how)}")
equal(symbolize("-m", "prog.spmap", "-f", "1").out.splitlines()[0], "?? (before the first function)", "before the first")
equal(symbolize("-m", "prog.spmap", "-f", "ffffffff").out.splitlines()[0], "?? (after the last function)", "after the last")

run(spwalk, "map", "-l", "prog", "-o", "lines.spmap")
every = [f"{at:x}" for start, size in functions.values() for at in range(start, start + size, 3)]
by_dwarf = [json.loads(line)["locations"] for line in symbolize("-e", "prog", "-j", *every).out.splitlines()]
by_map = [json.loads(line)["locations"] for line in symbolize("-m", "lines.spmap", "-j", *every).out.splitlines()]
differing = [(at, d, m) for at, d, m in zip(every, by_dwarf, by_map)
             if [(l["file"], l["line"]) for l in d[:1] if l["file"]] != [(l["file"], l["line"]) for l in m]]
check(not differing, f"files and lines at {len(every)} addresses as by DWARF", differing[:3])

# Another build-id is refused.
must("gcc", "-O1", "-Wl,--build-id", "-o", "other", "prog.c")
refused(symbolize("-e", "other", "-m", "prog.spmap", "1000"), "a map of another build-id", "refused: its build-id is")

# Linkers' map files.
for linker, options in (("bfd", []), ("lld", ["-fuse-ld=lld"])):
    must("gcc", "-O2", "-ffunction-sections", *options, "-Wl,--build-id", f"-Wl,-Map={linker}.map", "-o", f"prog-{linker}", "prog.c")
    result = run(spwalk, "map", f"{linker}.map", "-o", f"{linker}.spmap", "-b", f"prog-{linker}")
    check(result.status == 0, f"a map of {linker}'s map file", result)
    there = {name: at for name, at in symbols_of(f"prog-{linker}").items() if name.startswith("part_") or name == "main"}
    answers = symbolize("-m", f"{linker}.spmap", "-f", *[f"{start + 1:x}" for start, _ in there.values()]).out.splitlines()[::2]
    equal(answers, list(there), f"{linker}: {len(there)} functions, static ones too")
    check(symbolize("-e", f"prog-{linker}", "-m", f"{linker}.spmap", "1").status == 0, f"{linker}: the build-id is the file's")

# Bad input leaves nothing behind.
for name, text in {"empty": b"", "text": b"no map\n", "elf": b"\x7fELF", "binary": b"\0" * 100,
                   "number": b"Linker script and memory map\n.text 0x11112222333344445 0x1\n"}.items():
    with open(name, "wb") as file:
        file.write(text)
    refused(run(spwalk, "map", name, "-o", "out.spmap"), f"map of a bad file: {name}", name)
refused(run(spwalk, "map", "bare", "-o", "out.spmap", "-d", "/nowhere"), "map of a stripped file", "no .symtab")
refused(run(spwalk, "map", "prog"), "no output given", "-o OUT.spmap")
refused(run(spwalk, "map", "prog", "prog", "-o", "x"), "two files", "more than one FILE")
refused(run(spwalk, "map", "-l", "prog.map", "-o", "out.spmap"), "lines of a linker's map file", "no lines")
refused(run(spwalk, "map", "prog", "-o", "/nowhere/out.spmap"), "an output that cannot be written", "cannot write")
with open("prog", "rb") as file:
    data = bytearray(file.read())
section_headers = struct.unpack_from("<Q", data, 0x28)[0]
for cut in (64, 500, section_headers, section_headers + 100):
    with open("cut", "wb") as file:
        file.write(data[:cut])
    refused(run(spwalk, "map", "cut", "-o", "out.spmap", "-d", "/nowhere"), f"map of an ELF file cut at {cut}", "cut")
check(not [name for name in os.listdir(".") if name.startswith("out.spmap")], "nothing was written", os.listdir("."))

# Damaged maps.
for name, change in {"magic": (0, b"X"), "version": (8, b"\x09"), "size": (16, b"\x01"), "directory": (10, b"\xff\xff")}.items():
    with open("bad.spmap", "wb") as file:
        file.write(whole[:change[0]] + change[1] + whole[change[0] + len(change[1]):])
    refused(symbolize("-m", "bad.spmap", "1000"), f"a map with a bad {name}", "bad.spmap")
with open("bad.spmap", "wb") as file:
    file.write(whole[:-1])
refused(symbolize("-m", "bad.spmap", "1000"), "a map that is cut short", "cut short")

shutil.rmtree(work)
finish()
