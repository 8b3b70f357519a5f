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
    text = "".join(f"0x{address:016x}\n" for address in addresses)
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    # eu-addr2line's status is 1 where it found nothing for one of many.
    if done.returncode > 1 or (done.returncode == 1 and command[0] != "eu-addr2line"):
        raise RuntimeError(f"{command[0]} gave {done.returncode}: {done.stderr.strip()}")
    answers = []
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if re.fullmatch(r"0x[0-9a-f]+", line):
            answers.append([])
        elif line:
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


def reason_of(kind, address, ours, bfd, eu, symbols):
    """Who is right where the three differ, and why."""
    if kind == "addr2line":
        return "spwalk, addr2line", "eu-addr2line loses or mistakes a caller of an inlined function"
    if kind == "gap":
        return "spwalk", "padding or a PLT stub: in no function; the others name what lies before"
    if kind == "alias":
        return "all", "two names of one function"
    if kind == "neither":
        return "", ""
    if ours[0][0] == "??":
        return "spwalk, eu-addr2line", "padding or a PLT stub: in no function; addr2line names what lies before"
    if len(ours) != len(bfd):
        return "spwalk, eu-addr2line", "addr2line has another chain"
    if any(a[1] != b[1] for a, b in zip(ours, bfd)):
        if ours[0][1][0] == "??":
            return "spwalk, eu-addr2line", "code without lines: addr2line shows the STT_FILE symbol before it as its file"
        return "spwalk, eu-addr2line", "addr2line shows another file, mostly the unit's where it includes the code's"
    differing = [i for i, (a, b) in enumerate(zip(ours, bfd)) if a[0] != b[0]]
    if differing == [len(ours) - 1]:
        return "all", "DWARF gives no linkage name: spwalk shows its name, addr2line the ELF symbol"
    return "spwalk, eu-addr2line", "addr2line gives an inlined function the ELF symbol of the one it is inlined into"


class Comparison:
    """The answers at one set of addresses."""

    answers = {}  # of the other tools, which are slow, by file and addresses

    def __init__(self, spwalk, path, number, seed=1, reference=None, options=()):
        reference = reference or path
        self.addresses = pick(path, number, seed)
        self.ours = ask([spwalk, "symbolize", "-f", "-i", "-a", "-e", path, *options], self.addresses)
        self.bfd = self.others("addr2line", reference)
        self.eu = self.others("eu-addr2line", reference)
        self.symbols = Symbols(*symbol_files(reference))
        self.count = collections.Counter()
        self.reasons = collections.Counter()
        self.differences = []
        for answers in zip(self.addresses, self.ours, self.bfd, self.eu):
            kind = kind_of(*answers, self.symbols)
            self.count[kind] += 1
            if kind != "all":
                right, why = reason_of(kind, *answers, self.symbols)
                self.reasons[kind, right, why] += 1
                self.differences.append((kind, right, why, *answers))

    def others(self, tool, path):
        key = tool, path, tuple(self.addresses)
        if key not in self.answers:
            self.answers[key] = ask([tool, "-f", "-i", "-a", "-e", path], self.addresses)
        return self.answers[key]

    def third_opinion(self, path, right):
        """In how many of the cases in which these are right llvm-symbolizer gives spwalk's chain of files and lines."""
        asked = [(address, ours) for _, who, _, address, ours, _, _ in self.differences if who == right]
        if not asked:
            return 0, 0
        answers = ask(["llvm-symbolizer", "--output-style=GNU", "-f", "-i", "-a", "--no-demangle", "--obj=" + path],
                      [address for address, _ in asked])
        return sum([place for _, place in answer] == [place for _, place in ours]
                   for answer, (_, ours) in zip(answers, asked)), len(asked)


def symbol_files(path):
    """The file, and its debug file by build-id where it has one installed."""
    yield path
    for line in lines_of("readelf", "-nW", path):
        match = re.search(r"Build ID: ([0-9a-f]+)", line)
        debug = match and f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug"
        if debug and os.path.exists(debug):
            yield debug
