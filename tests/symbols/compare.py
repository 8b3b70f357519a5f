# SPDX-License-Identifier: MIT
"""Compares spwalk symbolize with addr2line (binutils) and eu-addr2line (elfutils) at random addresses of a file.

An answer is the chain of (function, file, line), innermost first. An address is of one of these kinds:

    all        the three are equal
    addr2line  spwalk is equal to addr2line; eu-addr2line is alone. It is wrong: elfutils 0.188 loses callers, or takes
               others, where an inlined function has several ranges
    elfutils   spwalk is equal to eu-addr2line; addr2line is alone. It shows the ELF symbol where a function has no
               linkage name ("main.cold" for main; "_ZZ4mainENKUlvE_clEv" for a lambda's "operator()", and sometimes an
               outer function's symbol for the innermost inlined one), or the STT_FILE symbol as the file of code
               without lines. Both are true but the last: spwalk shows what DWARF says
    gap        no function's symbol contains the address (it is padding, or a PLT stub): spwalk says so; addr2line names
               the nearest symbol below, eu-addr2line the chain of the code before. spwalk is right
    alias      as elfutils or addr2line but for names that are aliases of one another, at one address
    symbol     as elfutils, with eu-addr2line wrong besides: equal to addr2line but for names that are the ELF symbol's
    neither    none of these

Whether an address is a gap is found out by readelf, not by spwalk.
"""
import bisect
import collections
import os
import random
import re
import subprocess

KINDS = ("all", "addr2line", "elfutils", "gap", "alias", "symbol", "neither")


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def executable_ranges(path):
    for line in lines_of("readelf", "-SW", path):
        match = re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +([A-Z]*) ", line)
        if match and "X" in match[4] and int(match[3], 16):
            yield int(match[2], 16), int(match[3], 16)


def pick(path, number, seed):
    ranges = list(executable_ranges(path))
    chooser = random.Random(seed)
    places = chooser.choices(ranges, weights=[size for _, size in ranges], k=number)
    return [start + chooser.randrange(size) for start, size in places]


class Symbols:
    """What readelf says of functions: which cover an address."""

    def __init__(self, *paths):
        self.functions = []
        for path in paths:
            for line in lines_of("readelf", "-sW", path):
                words = line.split()
                if len(words) >= 8 and words[3] in ("FUNC", "IFUNC", "NOTYPE") and words[6].isdigit():
                    self.functions.append((int(words[1], 16), int(words[2], 0), words[7].split("@")[0], words[3]))
        self.functions.sort()
        self.starts = [start for start, *_ in self.functions]
        self.ends = []
        for start, size, *_ in self.functions:
            self.ends.append(max(self.ends[-1] if self.ends else 0, start + size))

    def sized(self, address):
        """Names of functions with a size that contain the address."""
        at = bisect.bisect_right(self.starts, address)
        found = set()
        while at > 0 and self.ends[at - 1] > address:
            at -= 1
            start, size, name, _ = self.functions[at]
            if start <= address < start + size:
                found.add(name)
        return found

    def names_below(self, address):
        """Names of the nearest symbols at or below the address."""
        at = bisect.bisect_right(self.starts, address)
        return {name for start, _, name, _ in self.functions[max(0, at - 400):at] if start == self.starts[at - 1]} if at else set()


def normal_function(name):
    name = re.sub(r"^\?\? \(.*\)$", "??", name)
    # eu-addr2line tells the call a second time: "f inlined at file:1:2 in g".
    return re.sub(r" inlined at .* in .*$", "", name).split("@")[0]


def normal_place(place):
    place = re.sub(r" \(discriminator \d+\)$", "", place)
    match = re.match(r"(.*?):(\d+|\?)(?::\d+)?$", place)
    # The path as text differs by who joins the folders: "./a/./b.c", "a/b.c".
    file = "??" if match[1] == "??" else os.path.normpath(match[1])
    return file, 0 if match[2] == "?" or file == "??" else int(match[2])


def ask(command, addresses):
    text = "".join(f"0x{address:x}\n" for address in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    # eu-addr2line's status is 1 where it found nothing for one of many.
    if done.returncode > 1 or (done.returncode == 1 and command[0] != "eu-addr2line"):
        raise RuntimeError(f"{command[0]} gave {done.returncode}: {done.stderr.strip()}")
    answers = []
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]{16}", line):
            answers.append([])
        else:
            answers[-1].append((normal_function(line), normal_place(next(lines, "??:0"))))
    if len(answers) != len(addresses):
        raise RuntimeError(f"{command[0]} gave {len(answers)} answers to {len(addresses)} addresses")
    return answers


def kind_of(address, ours, bfd, eu, symbols):
    if ours == bfd == eu:
        return "all"
    if ours == bfd:
        return "addr2line"
    if ours == eu:
        return "elfutils"
    covering = symbols.sized(address)
    if ours[0][0] == "??" and len(ours) == 1 and not covering and ours[0][1] in (bfd[0][1], eu[0][1], ("??", 0)):
        return "gap"
    for other in (bfd, eu):
        if len(ours) == len(other) and all(a == b or (a[1] == b[1] and {a[0], b[0]} <= covering)
                                           for a, b in zip(ours, other)):
            return "alias"
    if len(ours) == len(bfd) and all(a[1] == b[1] for a, b in zip(ours, bfd)):
        if all(a[0] == b[0] or b[0] in covering or b[0] in symbols.names_below(address) for a, b in zip(ours, bfd)):
            return "symbol"
    return "neither"


def compare(spwalk, path, number, seed=1, reference=None, options=()):
    """Counts of each kind, and the answers for addresses of the kind neither."""
    reference = reference or path
    addresses = pick(path, number, seed)
    ours = ask([spwalk, "symbolize", "-f", "-i", "-a", "-e", path, *options], addresses)
    bfd = ask(["addr2line", "-f", "-i", "-a", "-e", reference], addresses)
    eu = ask(["eu-addr2line", "-f", "-i", "-a", "-e", reference], addresses)
    symbols = Symbols(*symbol_files(reference))
    count = collections.Counter()
    examples = collections.defaultdict(list)
    for address, a, b, c in zip(addresses, ours, bfd, eu):
        kind = kind_of(address, a, b, c, symbols)
        count[kind] += 1
        examples[kind].append((address, a, b, c))
    return count, examples


def symbol_files(path):
    """The file, and its debug file by build-id where it has one installed."""
    yield path
    for line in lines_of("readelf", "-nW", path):
        match = re.search(r"Build ID: ([0-9a-f]+)", line)
        debug = match and f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug"
        if debug and os.path.exists(debug):
            yield debug
