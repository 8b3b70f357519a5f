# SPDX-License-Identifier: MIT
"""measure.py RESULTS [quick]: what frame words, and what frame pointers, cost the programs that have them.

Builds each program plain (-O2), with frame pointers and with words, and writes RESULTS/overhead.csv: a row a program, build
and measure, each as a ratio to the plain build. RESULTS/times.csv has each run's time, and RESULTS/change.csv how much of
the plain program's stack changes between the samples of a profiler (benchmarks/walk/change.c).

    instructions  executed, counted by callgrind
    time          of the processor in user mode, each run beside a run of the plain build; quartiles over the pairs
    text          bytes of .text
    file          bytes of the stripped file
    stack         bytes of stack a function, the mean over the functions (-fstack-usage)

The build "again" is the plain program once more, run as if it were another: its time shows what the machine alone does to
the ratio.
"""

import concurrent.futures
import csv
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "overhead"
PLUGIN = ROOT / "build" / "compiler-plugin" / "gcc-12" / "spwalk.so"
SAMPLER = ROOT / "build" / "benchmarks" / "walk" / "libchange.so"
BUILDS = {
    "plain": ["-O2"],
    "frame-pointers": ["-O2", "-fno-omit-frame-pointer"],
    "words": ["-O2", f"-fplugin={PLUGIN}"],
}
WORKLOAD = str(ROOT / "examples" / "workload.lua")
# The arguments of a run to be timed, and of a shorter one to be counted, which callgrind makes fifty times as long.
PROGRAMS = {
    "sqlite": (["--memdb", "--size", "20"], ["--memdb", "--size", "4"]),
    "lua": ([WORKLOAD, "3"], [WORKLOAD, "1"]),
    "bzip2": (["-c"], ["-c"]),
    "zlib": (["-9"], ["-9"]),
    "jsoncpp": (["40"], ["8"]),
    "calls": (["40"], ["4"]),
}
# Their standard input, of so many bytes of program text.
COMPRESSORS = ("bzip2", "zlib")
INPUT_TIMED, INPUT_COUNTED = 3_000_000, 500_000


def fail(text):
    print(f"overhead: {text}", file=sys.stderr)
    sys.exit(1)


def build(program, name, flags):
    """The program's file, or None where its source can't be had."""
    out = WORK / f"{program}-{name}"
    objects = WORK / f"{program}-{name}.objects"
    flags = [*flags, "-fstack-usage"]
    # Kept as long as it is of the same flags, workload and plugin.
    made_by = WORK / f"{program}-{name}.flags"
    inputs = [ROOT / ".ci" / "build-real.sh", *(ROOT / "benchmarks" / "overhead").glob("*.c*")]
    if name == "words":
        inputs.append(PLUGIN)
    if (out.exists() and made_by.exists() and made_by.read_text(encoding="utf-8") == " ".join(flags)
            and all(path.stat().st_mtime < out.stat().st_mtime for path in inputs)):
        return out
    made_by.unlink(missing_ok=True)
    shutil.rmtree(objects, ignore_errors=True)
    objects.mkdir(parents=True)
    if program == "calls":
        source = ROOT / "benchmarks" / "overhead" / "calls.c"
        command = ["gcc-12", *flags, str(source), "-o", str(out), "-dumpdir", f"{objects}/"]
    else:
        command = ["sh", str(ROOT / ".ci" / "build-real.sh"), program, str(out), *flags]
    environment = {**os.environ, "CC": "gcc-12", "CXX": "g++-12", "OBJECTS": str(objects)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(f"Left out: {program}: {done.stderr.strip()}")
        return None
    if done.returncode != 0:
        fail(f"{program} does not build with {' '.join(flags)}:\n{done.stderr}")
    made_by.write_text(" ".join(flags), encoding="utf-8")
    return out


def command_of(program, out, counted):
    source = WORK / ("input-counted" if counted else "input-timed") if program in COMPRESSORS else os.devnull
    return [str(out), *PROGRAMS[program][counted]], str(source)


def count_instructions(program, out):
    command, source = command_of(program, out, True)
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    with open(source, "rb") as standard_input:
        done = subprocess.run(valgrind, stdin=standard_input, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        fail(f"callgrind on {out.name}:\n{done.stderr[-2000:]}")
    return int(found[1])


def run_once(command, source, processor):
    """The user's processor time of one run, in seconds."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {processor})
        os.dup2(os.open(source, os.O_RDONLY), 0)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execv(command[0], command)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        fail(f"{' '.join(command)}: status {status}")
    return usage.ru_utime


def measure_times(programs, rounds, write, write_time):
    """Each round runs all builds of all programs, so that a slow spell of the machine falls on all alike."""
    processors = sorted(os.sched_getaffinity(0))
    ratios = {}
    for outs in programs.values():
        outs["again"] = outs["plain"]
    for turn in range(rounds):
        processor = processors[turn % len(processors)]
        for program, outs in programs.items():
            names = list(outs)
            order = names[turn % len(names):] + names[:turn % len(names)]
            times = {name: run_once(*command_of(program, outs[name], False), processor) for name in order}
            for name in names:
                write_time(program, turn, name, f"{times[name]:.6f}")
                if name != "plain":
                    ratios.setdefault((program, name), []).append(times[name] / times["plain"])
    for (program, name), found in ratios.items():
        first, median, third = statistics.quantiles(found, n=4, method="inclusive")
        write(program, name, "time", median, first, third)


def sample_stacks(program, out, results):
    """Adds the program's row to change.csv."""
    command, source = command_of(program, out, False)
    environment = {**os.environ, "LD_PRELOAD": str(SAMPLER), "CHANGE_FILE": str(results / "change.csv")}
    with open(source, "rb") as standard_input:
        done = subprocess.run(command, env=environment, stdin=standard_input, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        fail(f"{out.name} with {SAMPLER.name}: {done.stderr.strip() or done.returncode}")


def sizes_of(out):
    sections = subprocess.run(["size", "-A", str(out)], capture_output=True, text=True, check=True).stdout
    text = int(re.search(r"^\.text\s+(\d+)", sections, re.M)[1])
    stripped = out.with_suffix(".stripped")
    subprocess.run(["strip", "-o", str(stripped), str(out)], check=True)
    return text, stripped.stat().st_size


def stack_usage(program, name):
    """Bytes by function, of those with a frame of constant size."""
    usage = {}
    for file in (WORK / f"{program}-{name}.objects").glob("*.su"):
        for line in file.read_text(encoding="utf-8").splitlines():
            where, size, kind = line.split("\t")
            if kind == "static":
                usage[(file.name, where.split(":", 3)[-1])] = int(size)
    return usage


def build_all(program):
    """The builds' files by name, or nothing where the source can't be had."""
    # The first fetches the source, and the others can be built at once.
    outs = {"plain": build(program, "plain", BUILDS["plain"])}
    if not outs["plain"]:
        return None
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        others = {name: flags for name, flags in BUILDS.items() if name != "plain"}
        outs.update(zip(others, pool.map(lambda item: build(program, *item), others.items())))
    return outs


def measure_all_but_time(program, outs, write):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        instructions = dict(zip(outs, pool.map(lambda out: count_instructions(program, out), outs.values())))
    plain_sizes, plain_stack = sizes_of(outs["plain"]), stack_usage(program, "plain")
    for name in ("frame-pointers", "words"):
        write(program, name, "instructions", instructions[name] / instructions["plain"])
        for measured, size, plain in zip(("text", "file"), sizes_of(outs[name]), plain_sizes):
            write(program, name, measured, size / plain)
        stack = stack_usage(program, name)
        both = plain_stack.keys() & stack.keys()
        if both:
            write(program, name, "stack", sum(stack[key] for key in both) / sum(plain_stack[key] for key in both))


def make_inputs():
    found = subprocess.run(["sh", str(ROOT / ".ci" / "debian-source.sh"), "sqlite3"], capture_output=True, text=True,
                           check=False)
    folder = pathlib.Path(found.stdout.strip()) / "src" if found.returncode == 0 else ROOT / "src"
    text = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.[ch]")))
    while len(text) < INPUT_TIMED:
        text += text
    (WORK / "input-timed").write_bytes(text[:INPUT_TIMED])
    (WORK / "input-counted").write_bytes(text[:INPUT_COUNTED])


def main():
    results = pathlib.Path(sys.argv[1]).resolve()
    rounds = 7 if "quick" in sys.argv[2:] else 21
    if not PLUGIN.exists():
        fail(f"{PLUGIN.relative_to(ROOT)} is not built")
    WORK.mkdir(parents=True, exist_ok=True)
    make_inputs()
    with (open(results / "overhead.csv", "w", encoding="utf-8", newline="") as ratios_file,
          open(results / "times.csv", "w", encoding="utf-8", newline="") as times_file):
        ratios, times = csv.writer(ratios_file), csv.writer(times_file)
        (results / "change.csv").write_text("program,samples,depth,changed,q1,median,q3,p90,pcs\n", encoding="utf-8")
        ratios.writerow(["program", "build", "measure", "ratio", "ratio_q1", "ratio_q3"])
        times.writerow(["program", "round", "build", "seconds"])

        def write(program, name, measured, ratio, first=None, third=None):
            quartiles = ("" if q is None else f"{q:.6f}" for q in (first, third))
            ratios.writerow([program, name, measured, f"{ratio:.6f}", *quartiles])
            ratios_file.flush()

        programs = {}
        for program in PROGRAMS:
            print(f"  {program}: building, counting", flush=True)
            outs = build_all(program)
            if outs:
                measure_all_but_time(program, outs, write)
                if SAMPLER.exists():
                    sample_stacks(program, outs["plain"], results)
                programs[program] = outs
        print(f"  timing {rounds} rounds", flush=True)
        measure_times(programs, rounds, write, lambda *row: times.writerow(row))


if __name__ == "__main__":
    main()
