# SPDX-License-Identifier: MIT
"""measure.py WORK SPWALK CSV [quick]: runs each program under each tool, in turn; prints a table and the goals, writes CSV."""

import csv
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

LOOP = str(pathlib.Path(__file__).resolve().parent / "loop.lua")
PROGRAMS = {"sqlite": ["--size", "20", ":memory:"], "lua": [LOOP, "60000"], "map": ["60000"]}
# At most so many times the plain program's time; without frame words 1.3 times that.
GOALS = {"sqlite": 1.5, "lua": 2.5, "map": 5.0}
HELPER_FREE = 1.3


def measure(command, environment=None):
    """User and system time in s, and the largest resident size in MiB of any process, of a command and its children."""
    result = subprocess.run(["/usr/bin/env", "python3", "-c", """
import os, resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
""", *command], capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})})
    seconds, size = result.stdout.split()
    return float(seconds), float(size)


def ways(work, spwalk, name, folder):
    arguments = PROGRAMS[name]
    plain, words, lsan = ([f"{work}/{name}-{kind}", *arguments] for kind in ("plain", "words", "lsan"))
    leaks = [spwalk, "leaks", "-o", "/dev/null", "--"]
    result = {"plain": plain, "leaks": [*leaks, *plain]}
    if os.path.exists(words[0]):
        result["words alone"] = words
        result["leaks, words"] = [*leaks, *words]
    if shutil.which("heaptrack"):
        # What runs in the program, not its interpreter of the data, which runs beside it.
        result["heaptrack"] = ["env", "LD_PRELOAD=/usr/lib/heaptrack/libheaptrack_preload.so",
                               f"DUMP_HEAPTRACK_OUTPUT={folder}/heaptrack.raw", *plain]
    if os.path.exists(lsan[0]):
        result["LeakSanitizer"] = lsan
    if shutil.which("valgrind"):
        result["valgrind"] = ["valgrind", "--leak-check=full", *plain]
    return result


def main():
    work, spwalk, output = sys.argv[1:4]
    rounds = 2 if sys.argv[4:] == ["quick"] else 7
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in PROGRAMS:
            if not os.path.exists(f"{work}/{name}-plain"):
                print(f"{name}: not built, left out")
                continue
            found = {}
            for round_number in range(rounds):
                for way, command in ways(work, spwalk, name, folder).items():
                    if way != "valgrind" or round_number == 0:
                        found.setdefault(way, []).append(measure(command))
            plain = statistics.median(seconds for seconds, _ in found["plain"])
            for way, values in found.items():
                seconds, size = statistics.median(value[0] for value in values), statistics.median(value[1] for value in values)
                rows.append([name, way, f"{seconds:.3f}", f"{seconds / plain:.2f}", f"{size:.1f}"])
    with open(output, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "way", "seconds", "ratio", "peak_mib"])
        writer.writerows(rows)
    show(rows)


def show(rows):
    print("\nCPU time (s; and of plain), peak memory (MiB)\n")
    for name, way, seconds, ratio, size in rows:
        print(f"  {name:8} {way:14} {seconds:>8} s {ratio:>7} {size:>8} MiB")
    print()
    table = {(row[0], row[1]): (float(row[2]), float(row[3])) for row in rows}
    for name, goal in GOALS.items():
        for way, limit in (("leaks, words", goal), ("leaks", goal * HELPER_FREE)):
            if (name, way) in table:
                value = table[name, way][1]
                print(f"goal: {name}, {way}: at most {limit:.2f} of plain; measured {value:.2f}: {'met' if value <= limit else 'NOT MET'}")
        if (name, "heaptrack") in table and (name, "leaks") in table:
            plain, half = table[name, "plain"][0], (table[name, "heaptrack"][0] - table[name, "plain"][0]) / 2
            added = table[name, "leaks"][0] - plain
            print(f"goal: {name}: at most half of heaptrack's added time, {half:.2f} s; measured {added:.2f} s: "
                  f"{'met' if added <= half else 'NOT MET'}")


if __name__ == "__main__":
    main()
