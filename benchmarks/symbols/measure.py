#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""measure.py WORK SPWALK LOOKUPS CSV [quick]: see measure.sh. Prints the goals beside what was measured.

Times are CPU time, user and system, which others on the machine disturb the least: medians of 5, but for what takes longer
than 5 seconds.
"""
import csv
import os
import random
import resource
import statistics
import subprocess
import sys

work, spwalk, lookups, results = sys.argv[1:5]
samples = 1 if sys.argv[5:6] == ["quick"] else 5
rows = []


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(command, text=None):
    """Median seconds of a command, and its output."""
    seconds = []
    while len(seconds) < samples:
        start = cpu_seconds()
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        seconds.append(cpu_seconds() - start)
        if seconds[-1] > 5:
            break
    return statistics.median(seconds), done.stdout


def section_size(path, name):
    for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.replace("[ ", "[").split()
        if words[1:2] == [name]:
            return int(words[5], 16)
    raise SystemExit(f"{path} has no {name}")


def note(language, what, value, unit, goal=""):
    rows.append((language, what, f"{value:.4g}", unit, goal))
    print(f"{language:4} {what:52} {value:10.4g} {unit:3} {goal}")


for language in ("c", "c++"):
    program, spmap = os.path.join(work, language), os.path.join(work, language + ".spmap")
    functions = []
    for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT" and int(words[1], 16):
            functions.append((int(words[0], 16), int(words[1], 16)))
    chooser = random.Random(1)
    addresses = []
    for _ in range(100000):
        start, size = chooser.choice(functions)
        addresses.append(start + chooser.randrange(size))
    text = "".join(f"{address:x}\n" for address in addresses)
    with open(os.path.join(work, "addresses"), "w", encoding="ascii") as file:
        file.write(text)
    seconds, _ = timed([spwalk, "map", program, "-o", spmap])
    note(language, f"writing a map of {len(functions)} functions", seconds, "s", "goal: under 1")
    size, whole = os.path.getsize(spmap), section_size(program, ".symtab") + section_size(program, ".strtab")
    note(language, "its size, of .symtab + .strtab", 100 * size / whole, "%", "goal: at most 40")
    numbers = subprocess.run([lookups, spmap, os.path.join(work, "addresses")], capture_output=True, text=True, check=True).stdout
    opened, cold, warm, found = map(float, numbers.split())
    if found != len(addresses):
        raise SystemExit(f"{found} of {len(addresses)} addresses were found")
    note(language, "opening it", opened, "us", "goal: under 1000")
    note(language, "a look-up with its name, first pass", cold, "ns")
    note(language, "a look-up with its name, warm", warm, "ns", "goal: at most 200")
    for what, command in (
            ("spwalk symbolize -m MAP -f", [spwalk, "symbolize", "-m", spmap, "-f"]),
            ("spwalk symbolize -e PROGRAM -f", [spwalk, "symbolize", "-e", program, "-f"]),
            ("addr2line -f", ["addr2line", "-e", program, "-f"])):
        seconds, output = timed(command, text)
        if output.count("\n") != 200000:
            raise SystemExit(f"{what} gave {output.count(chr(10))} lines")
        note(language, f"100,000 look-ups: {what}", 1000 * seconds, "ms")
    first, total, found = map(float, timed([program, os.path.join(work, "addresses")])[1].split())
    note(language, "100,000 look-ups in a process: libbacktrace", total, "ms", f"{first:.0f} of it for the first")
    note(language, "100,000 look-ups in a process: a map", opened / 1e3 + warm * 0.1, "ms")
with open(results, "w", encoding="utf-8", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(("names", "what", "value", "unit", "goal"))
    writer.writerows(rows)
