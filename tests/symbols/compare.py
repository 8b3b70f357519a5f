#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares spwalk symbolize with addr2line (binutils) and eu-addr2line (elfutils) at random addresses of one file.

    compare.py SPWALK FILE NUMBER [--seed N] [--debug-path PATH] [--show N]

An answer is the chain of (function, file, line), innermost first. Each address falls into one of

    all      the three are equal
    bfd      equal to addr2line's, eu-addr2line differs
    eu       equal to eu-addr2line's, addr2line differs
    rule     equal to neither, by a rule that is listed below and counted under its name
    neither  equal to neither, by no rule

The last line of output is a count of each. Exit status 1 where an address is in neither.
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys


def executable_ranges(path):
    """The file's executable sections; a debug file's keep their headers."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        match = re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +([A-Z]*) ", line)
        if match and "X" in match[4] and int(match[3], 16):
            yield int(match[2], 16), int(match[3], 16)


def pick(path, number, seed):
    ranges = list(executable_ranges(path))
    chooser = random.Random(seed)
    places = chooser.choices(ranges, weights=[size for _, size in ranges], k=number)
    return sorted({start + chooser.randrange(size) for start, size in places})


def chains(output):
    """Answers of the form: address, then pairs of function and file:line."""
    found = collections.OrderedDict()
    current = None
    lines = iter(output.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            current = found.setdefault(int(line, 16), [])
            continue
        place = next(lines, "??:0")
        current.append((line, normal_place(place)))
    return found


def normal_function(name):
    # eu-addr2line tells the call a second time: "f inlined at file:1:2 in g".
    name = re.sub(r" inlined at .* in .*$", "", name)
    name = re.sub(r" \(.*\)$", "", name) if name.startswith("?? (") else name
    return name.split("@")[0]


def normal_place(place):
    place = re.sub(r" \(discriminator \d+\)$", "", place)
    match = re.match(r"(.*?):(\d+|\?)(?::\d+)?$", place)
    file, line = match[1], match[2]
    if file == "??":
        return "??", 0
    # The path as text differs by who joins the folders: "./a/./b.c", "a/b.c".
    return os.path.normpath(file), 0 if line == "?" else int(line)


def ask(command, addresses):
    text = "\n".join(f"0x{address:x}" for address in addresses) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"compare.py: {command[0]} gave {done.returncode}: {done.stderr.strip()}")
    return chains(done.stdout)


def normal(chain):
    return [(normal_function(function), place) for function, place in chain]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("spwalk")
    parser.add_argument("file")
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--debug-path")
    parser.add_argument("--reference", help="the file that the others read, where it is another")
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args()

    addresses = pick(options.file, options.number, options.seed)
    reference = options.reference or options.file
    ours = [options.spwalk, "symbolize", "-f", "-i", "-a", "-e", options.file]
    if options.debug_path:
        ours += ["-d", options.debug_path]
    mine = ask(ours, addresses)
    bfd = ask(["addr2line", "-f", "-i", "-a", "-e", reference], addresses)
    eu = ask(["eu-addr2line", "-f", "-i", "-a", "-e", reference], addresses)
    count = collections.Counter()
    shown = collections.Counter()
    for address in addresses:
        a, b, c = normal(mine[address]), normal(bfd[address]), normal(eu[address])
        kind = "all" if a == b == c else "bfd" if a == b else "eu" if a == c else "neither"
        count[kind] += 1
        if kind != "all" and shown[kind] < options.show:
            shown[kind] += 1
            print(f"{kind} {address:#x}\n  spwalk       {a}\n  addr2line    {b}\n  eu-addr2line {c}")
    print(f"{options.file}: {len(addresses)} addresses: " + ", ".join(f"{k} {v}" for k, v in sorted(count.items())))
    return 1 if count["neither"] else 0


if __name__ == "__main__":
    sys.exit(main())
