# SPDX-License-Identifier: MIT
"""report.py RESULTS: prints what the measurements left in RESULTS as tables, and last the goals beside what was measured.

Times are medians over rounds, then over processes; behind ± is half the distance of the quartiles. Ratios are medians of the
ratios within each round.
"""

import datetime
import pathlib
import sys

from results import STATES, Firsts, Overhead, Walks, rows_of

WALKERS = ("frame pointers", "abseil", "sp_backtrace", "sp_walk", "unw_backtrace", "unw_step", "glibc backtrace",
           "_Unwind_Backtrace", "libbacktrace")
STATE_NAMES = {"repeated": "repeated", "changing": "changing", "never": "never seen"}
DEPTHS = (10, 40, 100)
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
    if not cell or name not in cell:
        return "-"
    return f"{cell[name]:.3f} ±{(cell[name + '_q3'] - cell[name + '_q1']) / 2 / cell[name] * 100:.0f}%"


def print_depths(walks):
    lines = []
    for walker in WALKERS:
        cells = [walks.find("both", "whole", "repeated", "own", depth, walker) for depth in DEPTHS]
        lines.append([walker, *map(time_of, cells)])
    for name, build, stack in (("no plugin", "plain", "whole"), ("half and half", "words", "half")):
        for walker in ("sp_backtrace", "unw_backtrace"):
            cells = [walks.get("unwind", build, stack, "repeated", "own", depth, walker) for depth in DEPTHS]
            lines.append([f"{walker}, {name}", *map(time_of, cells)])
    table("ns a frame, the same stack walked again and again, by its depth", ["", *DEPTHS], lines)


def print_states(walks, depth):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            for state in STATES:
                cells = [walks.find(build, stack, state, start, depth, walker) for walker in WALKERS]
                lines.append([f"{name}, {start}, {STATE_NAMES[state]}", *(time_of(cell) for cell in cells)])
    table(f"ns a frame, {depth} frames, by what is covered, where the walk starts and what was walked before",
          ["", *WALKERS], lines)


def print_stacks(walks):
    """What "changing" and "never seen" mean here."""
    for state in ("changing", "never"):
        cell = walks.get("fast", "both", "whole", state, "own", 100, "frame pointers")
        if cell:
            print(f"  {STATE_NAMES[state]}: {cell['same'] * 100:.0f} % of the frames are as in the stack before, "
                  f"{cell['fresh'] * 100:.0f} % of the return addresses were in no stack before")


def print_change(rows):
    lines = [[row["program"].removesuffix("-plain"), row["samples"], row["depth"], row["changed"], row["q1"], row["median"],
              row["q3"], row["p90"], row["pcs"]] for row in rows]
    table("stacks of real programs, sampled each millisecond: frames, how many of them changed since the sample before",
          ["", "samples", "frames", "changed, mean", "q1", "median", "q3", "p90", "distinct pcs"], lines)


def print_ratios(walks):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            for state in STATES:
                for depth in DEPTHS:
                    chase = walks.get("fast", build, stack, state, start, depth, "sp_backtrace")
                    unwind = walks.get("unwind", build, stack, state, start, depth, "sp_backtrace")
                    lines.append([f"{name}, {start}, {STATE_NAMES[state]}, {depth}", ratio_of(chase, "per_chase"),
                                  ratio_of(unwind, "per_unw"), ratio_of(chase or unwind, "per_own")])
    table("sp_backtrace's time as a share of other walks of the same frames",
          ["", "of the frame pointers'", "of unw_backtrace's", "of its own from its caller"], lines)


def print_firsts(firsts):
    lines = []
    for name, build, stack in COVERS:
        for start in ("own", "context"):
            for depth in DEPTHS:
                cells = []
                for walker in WALKERS:
                    found = firsts.quartiles(build, stack, start, depth, walker)
                    cells.append(f"{found[1] / 1000:.1f} ±{(found[2] - found[0]) / 2 / found[1] * 100:.0f}%"
                                 if found else "-")
                ratio = firsts.ratio(build, stack, start, depth, "sp_backtrace", "unw_backtrace")
                lines.append([f"{name}, {start}, {depth}", *cells, f"{ratio[1]:.3f}" if ratio else "-"])
    table("µs of a process's first walk, by frames; and the share of sp_backtrace's in unw_backtrace's",
          ["", *WALKERS, "share"], lines)


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
        self.lines, self.missed, self.unmeasured = [], [], []

    def at_most(self, what, limit, measured, loose=None):
        """measured: None, or the median and the quartiles around it (or None). loose: an earlier, easier goal."""
        value, low, high = measured or (None, None, None)
        if value is None:
            self.unmeasured.append(what)
        elif value > limit:
            self.missed.append(what)
        self.lines.append([
            what, f"{limit:.3f}", "-" if value is None else f"{value:.3f}",
            f"{low:.3f} to {high:.3f}" if low is not None else "-",
            "not measured" if value is None else "yes" if value <= limit else "NO",
            "" if loose is None else f"{loose:.3f}: " + ("-" if value is None else "yes" if value <= loose else "NO"),
        ])

    def print(self):
        table("goal and measured", ["", "at most", "median", "quartiles", "met", "first goal"], self.lines)
        measured = len(self.lines) - len(self.unmeasured)
        print(f"\n  {measured - len(self.missed)} of {measured} measured goals are met.")
        for what in self.missed:
            print(f"  Missed: {what}")
        for what in self.unmeasured:
            print(f"  Not measured: {what}")


def of_cell(cell, name):
    return (cell[name], cell[name + "_q1"], cell[name + "_q3"]) if cell and name in cell else None


def add_walk_goals(goals, walks):
    covered, plain, half = (cover[1:] for cover in COVERS)

    def walk(run, cover, state, name, start="own"):
        return of_cell(walks.get(run, *cover, state, start, 100, "sp_backtrace"), name)

    goals.at_most("repeated, plugin / frame pointers", 0.5, walk("fast", covered, "repeated", "per_chase"), 2.0)
    goals.at_most("repeated, plugin / unw_backtrace", 0.1, walk("unwind", covered, "repeated", "per_unw"), 0.35)
    goals.at_most("inner frames changing, plugin / frame pointers", 1.0, walk("fast", covered, "changing", "per_chase"))
    goals.at_most("never seen, plugin / frame pointers", 1.6, walk("fast", covered, "never", "per_chase"))
    goals.at_most("never seen, plugin / unw_backtrace", 0.3, walk("unwind", covered, "never", "per_unw"))
    goals.at_most("repeated, no plugin / unw_backtrace", 0.5, walk("unwind", plain, "repeated", "per_unw"), 1.0)
    goals.at_most("repeated, half and half / unw_backtrace", 0.5, walk("unwind", half, "repeated", "per_unw"))
    for name, cover, run in (("plugin", covered, "fast"), ("no plugin", plain, "unwind"),
                             ("half and half", half, "unwind")):
        for state in STATES:
            goals.at_most(f"from a ucontext / from its caller, {name}, {STATE_NAMES[state]}", 1.3,
                          walk(run, cover, state, "per_own", "context"))


def add_first_goals(goals, firsts):
    for (name, build, stack), limit in zip(COVERS, (1 / 15, 1 / 8)):
        found = firsts.ratio(build, stack, "own", 100, "sp_backtrace", "unw_backtrace")
        goals.at_most(f"first walk, {name} / unw_backtrace's first", limit,
                      (found[1], found[0], found[2]) if found else None, 0.2)


def add_overhead_goals(goals, overhead):
    words, pointers = overhead.mean("words", "instructions"), overhead.mean("frame-pointers", "instructions")
    goals.at_most("instructions added by words / by frame pointers (geometric means)", 0.5,
                  ((words - 1) / (pointers - 1), None, None) if words and pointers and pointers > 1 else None)
    goals.at_most("time added by words / by frame pointers (geometric means)", 0.5, overhead.added_time_share())
    most, program = max((overhead.ratio(program, "words", "time") or 0, program) for program in overhead.programs)
    goals.at_most(f"time with words / plain, the worst program ({program})", 1.03,
                  (most, *(overhead.spread(program, "words", "time") or (None, None))) if most else None)
    goals.at_most(".text with words / plain (geometric mean)", 1.025, (overhead.mean("words", "text"), None, None))


def main():
    folder = pathlib.Path(sys.argv[1])
    walks, firsts = Walks(folder / "walk.csv"), Firsts(folder / "first.csv")
    overhead = Overhead(folder / "overhead.csv", folder / "times.csv")
    machine = folder / "machine.txt"
    if machine.exists():
        print(f"\n{machine.read_text(encoding='utf-8').strip()}")
    for path in (folder / name for name in ("walk.csv", "first.csv", "overhead.csv")):
        if path.exists():
            print(f"{path.name} is of {datetime.datetime.fromtimestamp(path.stat().st_mtime):%Y-%m-%d %H:%M}")
    goals = Goals()
    if walks.cells:
        print_depths(walks)
        for depth in DEPTHS:
            print_states(walks, depth)
        print_stacks(walks)
        print_ratios(walks)
        add_walk_goals(goals, walks)
    change = rows_of(folder / "change.csv")
    if change:
        print_change(change)
    if firsts.times:
        print_firsts(firsts)
        add_first_goals(goals, firsts)
    if overhead.programs:
        print_overhead(overhead)
        add_overhead_goals(goals, overhead)
    if goals.lines:  # the other parts print their own
        goals.print()


if __name__ == "__main__":
    main()
