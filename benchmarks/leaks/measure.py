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
PROGRAMS = {"sqlite": ["--size", "50", ":memory:"], "lua": [LOOP, "60000"], "map": ["60000"]}
# At most so many times the plain program's time; without frame words 1.3 times that.
GOALS = {"sqlite": 1.5, "lua": 2.5, "map": 5.0}
HELPER_FREE = 1.3
SLOW = ["valgrind"]  # once
BLOCKS = 8 * 8 << 14  # of tests/leaks/many.c, at 8 << 14 stacks


def measure(command, environment=None):
    """User and system time, and time passed, in s, and the largest resident size in MiB of any process, of a command and its
    children."""
    result = subprocess.run(["/usr/bin/env", "python3", "-c", """
import os, resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024)
""", *command], capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})})
    return tuple(map(float, result.stdout.split()))


def ways(work, spwalk, name, folder):
    arguments = PROGRAMS[name]
    plain, words, lsan = ([f"{work}/{name}-{kind}", *arguments] for kind in ("plain", "words", "lsan"))
    leaks = [spwalk, "leaks", "-o", "/dev/null", "--"]
    result = {"plain": plain, "leaks": [*leaks, *plain]}
    if os.path.exists(words[0]):
        result["words alone"] = words
        result["leaks, words"] = [*leaks, *words]
    if shutil.which("heaptrack"):
        # What it adds within the program alone, writing its data to a file; and the command as people use it, which interprets
        # and compresses the data beside the program.
        result["heaptrack"] = ["env", "LD_PRELOAD=/usr/lib/heaptrack/libheaptrack_preload.so",
                               f"DUMP_HEAPTRACK_OUTPUT={folder}/heaptrack.raw", *plain]
        result["heaptrack, whole"] = ["heaptrack", "-o", f"{folder}/heaptrack", *plain]
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
                    if way not in SLOW or round_number == 0:
                        found.setdefault(way, []).append(measure(command))
            for way, values in found.items():
                seconds, passed, size = (statistics.median(value[i] for value in values) for i in range(3))
                waited = statistics.median(value[1] - plain[1] for value, plain in zip(values, found["plain"]))
                # Each run beside the plain one of its round, so that what else the machine does counts little.
                ratio = statistics.median(value[0] / plain[0] for value, plain in zip(values, found["plain"]))
                added = statistics.median(value[0] - plain[0] for value, plain in zip(values, found["plain"]))
                rows.append([name, way, f"{seconds:.3f}", f"{ratio:.2f}", f"{added:.3f}", f"{passed:.3f}", f"{size:.1f}", f"{waited:.3f}"])
        memory = measure_memory(work, spwalk, folder)
    with open(output, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["program", "way", "seconds", "ratio", "added", "passed", "peak_mib", "added_passed"])
        writer.writerows(rows)
    show(rows)
    print(f"\nmemory, {BLOCKS:,} live blocks of 24 bytes at {BLOCKS // 8:,} stacks, eight threads: plain {memory[0]:.0f} MiB, recorded "
          f"{memory[1]:.0f} MiB, at the report {memory[2]:.0f} MiB;\n  {(memory[1] - memory[0]) * (1 << 20) / BLOCKS:.0f} bytes a block with its "
          f"share of the stacks, {(memory[2] - memory[1]) * (1 << 20) / BLOCKS:.0f} more during a report")


def measure_memory(work, spwalk, folder):
    """The peak of a program that holds many blocks, in MiB: plain, recorded until it is killed, and with its report."""
    many = f"{work}/many"
    library = pathlib.Path(spwalk).resolve().parent.parent / "leaks" / "libspwalk-leaks.so"
    recorded = ["env", f"LD_PRELOAD={library}", f"SPWALK_LEAKS_FOLDER={folder}", many]
    return [measure([many])[2], measure([*recorded, "kill"])[2], measure(recorded)[2]]


def show(rows):
    print("\nCPU time (s; of plain; added), time passed (s; added), peak memory (MiB)\n")
    for name, way, seconds, ratio, added, passed, size, waited in rows:
        print(f"  {name:8} {way:16} {seconds:>8} s {ratio:>7} {added:>8} s {passed:>8} s {waited:>8} s {size:>8} MiB")
    print()
    table = {(row[0], row[1]): (float(row[3]), float(row[4]), float(row[7])) for row in rows}
    for name, goal in GOALS.items():
        for way, limit in (("leaks, words", goal), ("leaks", goal * HELPER_FREE)):
            if (name, way) in table:
                value = table[name, way][0]
                print(f"goal: {name}, {way}: at most {limit:.2f} of plain; measured {value:.2f}: {'met' if value <= limit else 'NOT MET'}")
        for way in ("leaks, words", "leaks"):
            for kind, number in (("CPU time", 1), ("time passed", 2)):
                if (name, "heaptrack, whole") in table and (name, way) in table:
                    half, added = table[name, "heaptrack, whole"][number] / 2, table[name, way][number]
                    print(f"goal: {name}, {way}: at most half of the {kind} that heaptrack adds, {half:.3f} s; measured {added:.3f} s: "
                          f"{'met' if added <= half else 'NOT MET'}")
        if (name, "heaptrack") in table and (name, "leaks") in table:
            print(f"beside it: {name}: heaptrack's data written and not yet read add {table[name, 'heaptrack'][1]:.3f} s of CPU time")


if __name__ == "__main__":
    main()
