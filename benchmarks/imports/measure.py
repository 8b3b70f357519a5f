# SPDX-License-Identifier: MIT
"""measure.py WORK SPWALK CSV [quick]: runs the loop plainly and counted, in turn; prints tables, writes CSV."""

import csv
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

GOAL_NS = 3.0


def loop(work, binding, calls, threads, pattern, before=(), environment=None, clock="cpu"):
    """Nanoseconds a call, of the calling thread's own time or of all that passes."""
    command = [*before, f"{work}/loop-{binding}", str(calls), str(threads), pattern, clock]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **(environment or {})})
    return float(result.stdout.split()[0])


def quartiles(values):
    if len(values) < 2:
        return values[0], values[0], values[0]
    return tuple(statistics.quantiles(values, n=4))


def measure_calls(work, spwalk, rounds, rows):
    counted = [spwalk, "imports", "-o", "/dev/null", "--"]
    audited = {"LD_AUDIT": str(pathlib.Path(work, "auditor.so").resolve())}
    cases = [(binding, threads, pattern) for binding in ("lazy", "now", "no-plt") for threads in (1, 2)
             for pattern in ("one", "eight")]
    for binding, threads, pattern in cases:
        added = {}
        for _ in range(rounds):
            plain = loop(work, binding, 50_000_000, threads, pattern)
            times = {"plain": plain, "spwalk imports": loop(work, binding, 50_000_000, threads, pattern, counted)}
            if binding == "lazy":
                times["LD_AUDIT pltenter"] = loop(work, binding, 2_000_000, threads, pattern, environment=audited)
            for name, value in times.items():
                added.setdefault(name, []).append((value, value - plain))
        if binding == "lazy" and threads == 1 and shutil.which("ltrace"):
            plain = statistics.median(value for value, _ in added["plain"])
            value = loop(work, binding, 20_000, threads, pattern, ["ltrace", "-c", "-o", "/dev/null"], clock="wall")
            added["ltrace -c"] = [(value, value - plain)]
        for name, values in added.items():
            low, middle, high = quartiles([value for value, _ in values])
            more = quartiles([extra for _, extra in values])
            rows.append(["call", binding, threads, pattern, name, f"{low:.3f}", f"{middle:.3f}", f"{high:.3f}", f"{more[0]:.3f}",
                         f"{more[1]:.3f}", f"{more[2]:.3f}"])


def run_ms(command):
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - start) * 1e3


def measure_start(spwalk, rounds, report, rows):
    programs = {"true": ["/bin/true"], "git": ["/usr/bin/git", "--version"], "openssl": ["/usr/bin/openssl", "version"],
                "python3": ["/usr/bin/python3", "-S", "-c", "pass"]}
    for name, command in programs.items():
        if not os.path.exists(command[0]):
            continue
        for options in ([], ["--all"]):
            whole, setup = [], []
            for _ in range(rounds * 2):
                plain = run_ms(command)
                whole.append(run_ms([spwalk, "imports", *options, "--format=json", "-o", report, "--", *command]) - plain)
                setup.append(json.loads(pathlib.Path(report).read_text())["programs"][0]["setup_ms"])
            for what, values in (("in the program", setup), ("the whole command", whole)):
                low, middle, high = quartiles(values)
                rows.append(["start", name, "", "all" if options else "program", what, f"{low:.3f}", f"{middle:.3f}", f"{high:.3f}",
                             "", "", ""])


def show(rows):
    print("\nns a call in a loop, and more than a plain call (quartiles): the thread's own time, with ltrace all that passes\n")
    for row in rows:
        if row[0] == "call":
            print(f"  {row[1]:7} {row[2]} thread{'s' if row[2] > 1 else ' '} {row[3]:6} {row[4]:18} {row[6]:>10} ns   "
                  f"+{row[9]} ({row[8]} to {row[10]})")
    print("\nms that the start takes longer\n")
    for row in rows:
        if row[0] == "start":
            print(f"  {row[1]:8} imports of {'all objects' if row[3] == 'all' else 'the program'}, {row[4]:18} {row[6]:>8} ms "
                  f"({row[5]} to {row[7]})")
    ours = [float(row[9]) for row in rows if row[0] == "call" and row[4] == "spwalk imports"]
    print(f"\ngoal: at most {GOAL_NS} ns a call more than a plain call; measured: at most {max(ours):.2f} "
          f"{'met' if max(ours) <= GOAL_NS else 'NOT MET'}")


def main():
    work, spwalk, output = sys.argv[1:4]
    rounds = 3 if sys.argv[4:] == ["quick"] else 11
    rows = []
    measure_calls(work, spwalk, rounds, rows)
    measure_start(spwalk, rounds, f"{work}/report.json", rows)
    with open(output, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "subject", "threads", "pattern", "how", "q1", "median", "q3", "more_q1", "more", "more_q3"])
        writer.writerows(rows)
    show(rows)


if __name__ == "__main__":
    main()
