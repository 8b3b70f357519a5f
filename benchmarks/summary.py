# SPDX-License-Identifier: MIT
"""summary.py RESULTS: prints the measurements of README as its tables."""

import pathlib
import sys

from results import STATES, Firsts, Overhead, Walks

# The row's name, the program's build, its stack, and the walker.
WALKS = (
    ("`sp_backtrace`, all frames with words", "both", "whole", "sp_backtrace"),
    ("`sp_backtrace`, every other frame libc's", "words", "half", "sp_backtrace"),
    ("`sp_backtrace`, no plugin", "plain", "whole", "sp_backtrace"),
    ("frame-pointer chase", "both", "whole", "frame pointers"),
    ("abseil `GetStackTrace`, by frame pointers", "both", "whole", "abseil"),
    ("libunwind `unw_backtrace`", "plain", "whole", "unw_backtrace"),
    ("libunwind `unw_step`", "plain", "whole", "unw_step"),
    ("glibc `backtrace`", "plain", "whole", "glibc backtrace"),
    ("libgcc `_Unwind_Backtrace`", "plain", "whole", "_Unwind_Backtrace"),
    ("libbacktrace `backtrace_simple`", "plain", "whole", "libbacktrace"),
)
MEASURES = ("instructions", "time", "text", "file", "stack")
BUILDS = (("words", "frame words"), ("frame-pointers", "frame pointers"))


def rounded(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def print_walks(walks, firsts):
    print("| ns a frame, 100 frames | same stack again | inner frames changed | never seen | first walk, µs in all |")
    print("|---|---|---|---|---|")
    for name, build, stack, walker in WALKS:
        cells = [walks.find(build, stack, state, "own", 100, walker) for state in STATES]
        shown = [rounded(cell["ns"] / cell["frames"]) if cell else "-" for cell in cells]
        first = firsts.quartiles(build, stack, "own", 100, walker)
        shown.append(rounded(first[1] / 1000) if first else "-")
        print(f"| {name} | {' | '.join(shown)} |")


def print_overhead(overhead):
    print(f"| % more than -O2, mean of {len(overhead.programs)} programs | {' | '.join(MEASURES)} |")
    print("|---|" + "---|" * len(MEASURES))
    for build, name in BUILDS:
        means = [overhead.mean(build, measure) for measure in MEASURES]
        print(f"| {name} | {' | '.join('-' if mean is None else f'{(mean - 1) * 100:+.1f}' for mean in means)} |")


def main():
    folder = pathlib.Path(sys.argv[1])
    walks, firsts = Walks(folder / "walk.csv"), Firsts(folder / "first.csv")
    overhead = Overhead(folder / "overhead.csv", folder / "times.csv")
    if walks.cells:
        print_walks(walks, firsts)
    if overhead.programs:
        print()
        print_overhead(overhead)


if __name__ == "__main__":
    main()
