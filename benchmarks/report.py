# SPDX-License-Identifier: MIT
"""report.py RESULTS: prints what the measurements left in RESULTS as tables, and last the goals beside what was measured.

Times are medians over rounds, then over processes; behind ± is half the distance of the quartiles. Ratios are medians of the
ratios within each round.
"""

import pathlib
import sys

from results import Firsts, Overhead, Walks

WALKERS = ("frame pointers", "abseil", "sp_backtrace", "sp_walk", "unw_backtrace", "unw_step", "glibc backtrace",
           "_Unwind_Backtrace")
STATES = ("repeated", "changing", "never seen")
# What is covered: the name in the tables, the program's build, its stack, and the pass that has the chase.
COVERS = (("plugin", "both", "whole"), ("no plugin", "plain", "whole"), ("half and half", "words", "half"))


def table(title, head, lines):
    print(f"\n{title}\n")
    widths = [max(len(str(line[column])) for line in [head, *lines]) for column in range(len(head))]
    for line in [head, ["-" * width for width in widths], *lines]:
        cells = [str(cell).ljust(width) if column == 0 else str(cell).rjust(width)
                 for column, (cell, width) in enumerate(zip(line, widths))]
        print("  " + "  ".join(cells).rstrip())


def time_of(cell):
    """Nanoseconds a frame, with the spread."""
    if not cell:
        return "-"
    spread = (cell["ns_q3"] - cell["ns_q1"]) / 2 / cell["ns"] * 100
    return f"{cell['ns'] / cell['frames']:.2f} ±{spread:.0f}%"


def ratio_of(cell, name):
    return f"{cell[name]:.3f}" if cell and name in cell else "-"


def print_depths(walks):
    lines = []
    for walker in WALKERS:
        cells = [walks.find("both", "whole", "repeated", "own", depth, walker) for depth in (10, 40, 100)]
        lines.append([walker, *map(time_of, cells)])
    for walker in ("sp_backtrace", "unw_backtrace"):
        cells = [walks.get("unwind", "plain", "whole", "repeated", "own", depth, walker) for depth in (10, 40, 100)]
        lines.append([f"{walker}, no plugin", *map(time_of, cells)])
    table("ns a frame, the same stack walked again and again, by its depth", ["", "10", "40", "100"], lines)


def print_states(walks):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            for state in STATES:
                cells = [walks.find(build, stack, state, start, 100, walker) for walker in WALKERS]
                lines.append([f"{name}, {start}, {state}", *(time_of(cell) for cell in cells)])
    table("ns a frame, 100 frames, by what is covered, where the walk starts and what was walked before",
          ["", *WALKERS], lines)


def print_ratios(walks):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            for state in STATES:
                chase = walks.get("fast", build, stack, state, start, 100, "sp_backtrace")
                unwind = walks.get("unwind", build, stack, state, start, 100, "sp_backtrace")
                lines.append([f"{name}, {start}, {state}", ratio_of(chase, "per_chase"), ratio_of(unwind, "per_unw"),
                              ratio_of(chase or unwind, "per_own")])
    table("sp_backtrace's time as a share of other walks of the same 100 frames",
          ["", "of the frame pointers'", "of unw_backtrace's", "of its own from its caller"], lines)


def print_firsts(firsts):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            cells = []
            for walker in WALKERS:
                found = firsts.quartiles(build, stack, start, walker)
                cells.append(f"{found[1] / 1000:.1f} ±{(found[2] - found[0]) / 2 / found[1] * 100:.0f}%" if found else "-")
            lines.append([f"{name}, {start}", *cells])
    table("µs of a process's first walk, 100 frames", ["", *WALKERS], lines)


def print_overhead(overhead):
    measures = ("instructions", "time", "text", "file", "stack")
    lines = []

    def change(ratio, spread=None):
        if ratio is None:
            return "-"
        around = f" ±{(spread[1] - spread[0]) / 2 * 100:.1f}" if spread else ""
        return f"{(ratio - 1) * 100:+.2f}{around}"

    for program in overhead.programs:
        line = [program]
        for measure in measures:
            for build in ("frame-pointers", "words"):
                line.append(change(overhead.ratio(program, build, measure), overhead.spread(program, build, measure)))
        lines.append(line)
    line = ["geometric mean"]
    for measure in measures:
        for build in ("frame-pointers", "words"):
            line.append(change(overhead.mean(build, measure)))
    lines.append(line)
    head = [""]
    for measure in measures:
        head += [f"{measure}: fp", "words"]
    noise = [f"{program} {change(overhead.ratio(program, 'again', 'time'), overhead.spread(program, 'again', 'time'))}"
             for program in overhead.programs]
    table("% more than the plain -O2 build: with frame pointers (fp), and with words", head, lines)
    print("\n  the plain program's time against itself, in %: " + ", ".join(noise))


class Goals:
    def __init__(self):
        self.lines = []

    def at_most(self, what, limit, measured):
        met = "-" if measured is None else "yes" if measured <= limit else "NO"
        shown = "not measured" if measured is None else f"{measured:.3f}"
        self.lines.append([what, f"{limit:.3f}", shown, met])


def median_ratio(cell, name):
    return cell.get(name) if cell else None


def print_goals(walks, firsts, overhead):
    goals = Goals()

    def walk(run, cover, state, name, start="own"):
        build, stack = cover
        return median_ratio(walks.get(run, build, stack, state, start, 100, "sp_backtrace"), name)

    covered, plain, half = (cover[1:] for cover in COVERS)
    if walks.cells:
        goals.at_most("repeated, plugin / frame pointers", 0.5, walk("fast", covered, "repeated", "per_chase"))
        goals.at_most("repeated, plugin / unw_backtrace", 0.1, walk("unwind", covered, "repeated", "per_unw"))
        goals.at_most("inner frames changing, plugin / frame pointers", 1.0, walk("fast", covered, "changing", "per_chase"))
        goals.at_most("never seen, plugin / frame pointers", 1.6, walk("fast", covered, "never seen", "per_chase"))
        goals.at_most("never seen, plugin / unw_backtrace", 0.3, walk("unwind", covered, "never seen", "per_unw"))
        goals.at_most("repeated, no plugin / unw_backtrace", 0.5, walk("unwind", plain, "repeated", "per_unw"))
        goals.at_most("repeated, half and half / unw_backtrace", 0.5, walk("unwind", half, "repeated", "per_unw"))
        for name, cover, run in (("plugin", covered, "fast"), ("no plugin", plain, "unwind"), ("half and half", half, "unwind")):
            for state in STATES:
                goals.at_most(f"from a ucontext / from its caller, {name}, {state}", 1.3,
                              walk(run, cover, state, "per_own", "context"))
    if firsts.times:
        for name, cover, limit in (("plugin", covered, 1 / 15), ("no plugin", plain, 1 / 8)):
            found = firsts.ratio(*cover, "own", "sp_backtrace", "unw_backtrace")
            goals.at_most(f"first walk, {name} / unw_backtrace's first", limit, found[1] if found else None)
    if overhead.programs:
        for measure in ("instructions", "time"):
            words, pointers = overhead.mean("words", measure), overhead.mean("frame-pointers", measure)
            goals.at_most(f"{measure} added by words / by frame pointers (geometric means)", 0.5,
                          (words - 1) / (pointers - 1) if words and pointers and pointers > 1 else None)
        most, program = max((overhead.ratio(program, "words", "time") or 0, program) for program in overhead.programs)
        goals.at_most(f"time with words / plain, the worst program ({program})", 1.03, most)
        goals.at_most(".text with words / plain (geometric mean)", 1.025, overhead.mean("words", "text"))
    table("goal and measured", ["", "at most", "measured", "met"], goals.lines)


def main():
    folder = pathlib.Path(sys.argv[1])
    walks, firsts, overhead = Walks(folder / "walk.csv"), Firsts(folder / "first.csv"), Overhead(folder / "overhead.csv")
    if walks.cells:
        print_depths(walks)
        print_states(walks)
        print_ratios(walks)
    if firsts.times:
        print_firsts(firsts)
    if overhead.programs:
        print_overhead(overhead)
    print_goals(walks, firsts, overhead)


if __name__ == "__main__":
    main()
