#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_test.py SPWALK FOLDER [--number N] [--sqlite FOLDER] [--list FILE]

The names, files, lines and inline chains of spwalk symbolize against those of addr2line and eu-addr2line, at N random
addresses (200) of each: a C++ program as PIE, static, stripped with .gnu_debuglink, stripped with its build-id alone; the
C library with its debug package; with --sqlite also SQLite's shell, built -O2 -g from the sqlite3.c and shell.c there.
Prints TAP, a table of the kinds of answers, which compare.py explains, and who is right where they differ. --list writes
each difference to a CSV file.
"""
import argparse
import csv
import os
import re
import shutil
import sys

from compare import KINDS, Comparison, lines_of
from harness import check, finish, folder, must

parser = argparse.ArgumentParser()
parser.add_argument("spwalk", type=os.path.abspath)
parser.add_argument("sources", type=os.path.abspath)
parser.add_argument("--number", type=int, default=200)
parser.add_argument("--sqlite", type=os.path.abspath)
parser.add_argument("--list", type=os.path.abspath)
options = parser.parse_args()

work = folder()
os.chdir(work)
source = os.path.join(options.sources, "compare.cc")
must("g++", "-O2", "-g", "-pie", "-fPIE", "-Wl,--build-id", "-pthread", "-o", "pie", source)
must("g++", "-O2", "-g", "-static", "-Wl,--build-id", "-pthread", "-o", "static", source)
must("objcopy", "--only-keep-debug", "pie", "linked.debug")
must("strip", "-o", "stripped", "pie")
must("objcopy", "--add-gnu-debuglink=linked.debug", "stripped", "linked")
build_id = re.search(r"Build ID: ([0-9a-f]+)", "\n".join(lines_of("readelf", "-nW", "pie")))[1]
os.makedirs(f"ids/.build-id/{build_id[:2]}")
shutil.copy("linked.debug", f"ids/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
must("strip", "-o", "bare", "pie")

files = {
    "a C++ program, PIE": ("pie", {}),
    "a static program": ("static", {}),
    "stripped, by .gnu_debuglink": ("linked", {"reference": "pie"}),
    "stripped, by build-id": ("bare", {"reference": "pie", "options": ("-d", "ids")}),
}
libc = next(line.split()[2] for line in lines_of("ldd", "pie") if "libc.so.6" in line)
files["the C library with its debug package"] = (libc, {})
if options.sqlite:
    must("gcc", "-O2", "-g", "-o", "sqlite3", *(os.path.join(options.sqlite, name) for name in ("sqlite3.c", "shell.c")),
         "-lpthread", "-ldl", "-lm")
    files["SQLite, -O2 -g"] = ("sqlite3", {})

table = []
listed = []
for what, (path, how) in files.items():
    found = Comparison(options.spwalk, path, options.number, **how)
    detail = [f"{address:#x}\n  spwalk       {a}\n  addr2line    {b}\n  eu-addr2line {c}"
              for kind, _, _, address, a, b, c in found.differences if kind == "neither"]
    check(found.count["neither"] == 0, f"{what}: each answer is one of the others', or rightly neither's", "\n".join(detail[:2]))
    table.append(f"{what:42}" + "".join(f"{found.count[kind]:>11}" for kind in KINDS))
    for (kind, right, why), count in sorted(found.reasons.items()):
        table.append(f"  {count:6} {kind + ':':10} {why}; right: {right}")
    for right in ("spwalk, addr2line", "spwalk, eu-addr2line"):
        agreeing, asked = found.third_opinion(how.get("reference", path), right)
        if asked:
            table.append(f"  right: {right}: llvm-symbolizer has the same files and lines in {agreeing} of {asked}")
    listed += [(what, hex(address), *rest, kind, right, why) for kind, right, why, address, *rest in found.differences]
print(f"# {'':42}" + "".join(f"{kind:>11}" for kind in KINDS))
for row in table:
    print(f"# {row}")
if options.list:
    with open(options.list, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "address", "spwalk", "addr2line", "eu-addr2line", "kind", "right", "why"))
        writer.writerows(listed)
shutil.rmtree(work)
finish()
