#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare_test.py SPWALK FOLDER [--number N] [--sqlite FOLDER] [--show N]

The names, files, lines and inline chains of spwalk symbolize against those of addr2line and eu-addr2line, at N random
addresses (200) of each: a C++ program as PIE, static, stripped with .gnu_debuglink, stripped with its build-id alone; the
C library with its debug package; with --sqlite also SQLite's shell, built -O2 -g from the sqlite3.c and shell.c there.
Prints TAP, and a table of the kinds of answers, which compare.py explains.
"""
import argparse
import os
import re
import shutil
import sys

from compare import KINDS, compare, lines_of
from harness import check, finish, folder, must

parser = argparse.ArgumentParser()
parser.add_argument("spwalk", type=os.path.abspath)
parser.add_argument("sources", type=os.path.abspath)
parser.add_argument("--number", type=int, default=200)
parser.add_argument("--sqlite", type=os.path.abspath)
parser.add_argument("--show", type=int, default=2)
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
for what, (path, how) in files.items():
    count, examples = compare(options.spwalk, path, options.number, **how)
    detail = [f"{address:#x}\n  spwalk       {a}\n  addr2line    {b}\n  eu-addr2line {c}"
              for address, a, b, c in examples["neither"][:options.show]]
    check(count["neither"] == 0, f"{what}: each answer is one of the others', or rightly neither's", "\n".join(detail))
    table.append(f"{what:42}" + "".join(f"{count[kind]:>11}" for kind in KINDS))
print(f"# {'':42}" + "".join(f"{kind:>11}" for kind in KINDS))
for row in table:
    print(f"# {row}")
shutil.rmtree(work)
finish()
