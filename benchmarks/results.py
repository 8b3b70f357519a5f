# SPDX-License-Identifier: MIT
"""Reads the CSV files that the measurements leave, for report.py and plot.py."""

import csv
import math
import pathlib
import random
import statistics

# As first.csv names the walkers, and as people do.
FIRST_NAMES = {
    "frame_pointers": "frame pointers",
    "glibc": "glibc backtrace",
    "libgcc": "_Unwind_Backtrace",
}

STATES = ("repeated", "changing", "never")


def rows_of(path):
    if not pathlib.Path(path).exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Walks:
    """walk.csv or sweep.csv: the medians over the processes of each experiment's medians and quartiles."""

    KEY = ("pass", "build", "stack", "state", "start", "depth", "walker")
    VALUES = ("same", "fresh", "frames", "ns_q1", "ns", "ns_q3", "per_chase", "per_chase_q1", "per_chase_q3", "per_unw",
              "per_unw_q1", "per_unw_q3", "per_own", "per_own_q1", "per_own_q3")

    def __init__(self, path):
        found = {}
        for row in rows_of(path):
            key = tuple(row[name] for name in self.KEY)
            found.setdefault(key, []).append(row)
        self.cells = {}
        for key, same in found.items():
            if any(row["frames"] == "wrong" for row in same):
                continue
            cell = {}
            for name in self.VALUES:
                values = [float(row[name]) for row in same if row[name]]
                if values:
                    cell[name] = statistics.median(values)
            self.cells[key] = cell

    def get(self, run, build, stack, state, start, depth, walker):
        """The cell, or None where the walker was not measured there or gave a wrong answer."""
        return self.cells.get((run, build, stack, state, start, str(depth), walker))

    def find(self, build, stack, state, start, depth, walker):
        """The same from whichever pass has it, preferring the one with the fast walkers."""
        for run in ("fast", "frames", "unwind", "slow"):
            cell = self.get(run, build, stack, state, start, depth, walker)
            if cell:
                return cell
        return None


class Firsts:
    """first.csv: quartiles over the processes, and the ratio to unw_backtrace's process of the same round."""

    def __init__(self, path):
        self.times = {}
        for row in rows_of(path):
            key = (row["build"], row["stack"], row["start"], int(row["depth"]), FIRST_NAMES.get(row["walker"], row["walker"]))
            self.times.setdefault(key, []).append(float(row["first_ns"]))

    def quartiles(self, *key):
        times = self.times.get(key, [])
        return quartiles(times) if times else None

    def ratio(self, build, stack, start, depth, walker, reference):
        pairs = zip(*(self.times.get((build, stack, start, depth, name), []) for name in (walker, reference)))
        ratios = [time / other for time, other in pairs]
        return quartiles(ratios) if ratios else None


class Overhead:
    """overhead.csv: one row a program, build and measure, with the value of the plain build for each."""

    def __init__(self, path, times_path):
        self.values = {}
        self.programs = []
        self.times = {}
        for row in rows_of(times_path):
            runs = self.times.setdefault(row["program"], {})
            runs.setdefault(row["build"], []).append(float(row["seconds"]))
        for row in rows_of(path):
            if row["program"] not in self.programs:
                self.programs.append(row["program"])
            key = (row["program"], row["build"], row["measure"])
            self.values[key] = tuple(float(row[name]) if row[name] else None for name in ("ratio_q1", "ratio", "ratio_q3"))

    def ratio(self, program, build, measure):
        """Of this build's value to the plain one's."""
        found = self.values.get((program, build, measure))
        return found[1] if found else None

    def spread(self, program, build, measure):
        found = self.values.get((program, build, measure))
        return (found[0], found[2]) if found and found[0] is not None else None

    def mean(self, build, measure):
        """The geometric mean over the programs."""
        ratios = [self.ratio(program, build, measure) for program in self.programs]
        ratios = [ratio for ratio in ratios if ratio]
        return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios)) if ratios else None


    def added_time_share(self):
        """
        What words add to the time, as a share of what frame pointers add (geometric means): None, or the share and
        quartiles of it over rounds drawn anew, which say how sure it is.
        """
        if not self.times:
            return None
        draw = random.Random(1)

        def share(pick):
            logs = {"words": [], "frame-pointers": []}
            for runs in self.times.values():
                rounds = pick(len(runs["plain"]))
                for build, log in logs.items():
                    log.append(math.log(statistics.median(runs[build][n] / runs["plain"][n] for n in rounds)))
            words, pointers = (math.exp(statistics.fmean(log)) - 1 for log in logs.values())
            return words / pointers if pointers > 0 else None

        found = share(range)
        again = [share(lambda count: draw.choices(range(count), k=count)) for _ in range(400)]
        if found is None or None in again:
            return None
        low, _, high = quartiles(again)
        return found, low, high


def quartiles(values):
    if len(values) == 1:
        return values[0], values[0], values[0]
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, median, third
