# SPDX-License-Identifier: MIT
"""edges_test.py SPWALK: what programs seldom do, and each part of an answer that a usual program leaves open."""

import os
import subprocess
import sys

from reports import FOLDER, LIBRARY, LIBRARY_FLAGS, SOURCE, SPWALK, build, leaks, run

sys.path.insert(0, str(SOURCE.parent / "imports"))
from harness import Tests, check, equal  # noqa: E402


def errors_of(report):
    return sorted((error["type"], error["allocated_by"], error["freed_by"], error["count"]) for error in report["errors"])


def kinds():
    """One malloc, four forms each of new and new[]; one free, six forms each of delete and delete[]."""
    allocated = {"malloc": 1, "new": 4, "new[]": 4}
    freed = {"free": 1, "delete": 6, "delete[]": 6}
    right = {("malloc", "free"), ("new", "delete"), ("new[]", "delete[]")}
    reports, _ = run("kinds", "each")
    expected = sorted(("mismatch", by, given, many * times) for by, many in allocated.items() for given, times in freed.items()
                      if (by, given) not in right)
    sums = {}
    for kind, by, given, count in errors_of(reports[0]):
        sums[kind, by, given] = sums.get((kind, by, given), 0) + count
    equal(sorted((*key, count) for key, count in sums.items()), expected, "mismatches")


def second_attempt():
    reports, printed = run("kinds", "second")
    equal((printed, errors_of(reports[0])), ("2 attempts\n", []), "what a new-handler made room for")


def frames_of_errors():
    """--frames holds for the stacks of errors too, and they say that they are cut."""
    reports, _ = run("blocks", "double", options=["--frames=1"])
    error = reports[0]["errors"][0]
    equal(([frame["function"] for frame in error["here"]], len(error["allocated"])), (["main"], 1), "frames")
    result = subprocess.run([SPWALK, "leaks", "--frames=1", str(FOLDER / "blocks"), "double"], capture_output=True, text=True)
    equal(result.stderr.count("... (--frames cuts it here)"), 2, result.stderr)
    result = subprocess.run([SPWALK, "leaks", str(FOLDER / "blocks"), "double"], capture_output=True, text=True)
    equal(result.stderr.count("... (--frames cuts it here)"), 0, result.stderr)


def vfork():
    """A child that shares the program's memory says nothing, and leaves the program's report to it."""
    reports, printed = run("edges", "vfork")
    equal([report["process"] for report in reports], [int(printed)], "processes")
    equal(leaks(reports[0]), {("definitely", "leak<end_by_vfork<main"): [2, 70]}, "leaks")


def flush():
    """One report, and one alone, where the program ends itself while the C library ends it."""
    for options in ([], ["--keep-libc"]):
        reports, _ = run("edges", "flush", options=options, status=9)
        equal([leaks(report) for report in reports], [{("definitely", "leak<end_in_flush<main"): [1, 70]}], f"{options}")


def hook():
    reports, _ = run("edges", "let through")
    equal(len(reports), 1, "reports of a hook that lets them through")
    reports, _ = run("edges", "refuse")
    equal(len(reports), 0, "reports of one that does not")
    result = subprocess.run([SPWALK, "leaks", "-e", "3", "--", str(FOLDER / "edges"), "refuse"], capture_output=True, text=True)
    equal((result.returncode, result.stdout, result.stderr), (7, "", ""), "refused")


def fork():
    """Another thread makes a report when the program forks: there is none of it in the child, whose own report comes."""
    reports, _ = run("edges", "fork")
    child = [report for report in reports if report["parent"] in [other["process"] for other in reports]]
    equal([leaks(report) for report in child], [{("definitely", "leak<fork_while_reporting<main"): [1, 50]}], "the child's")


def ended():
    """What an ended thread has left on its stack, and in its thread-local storage, keeps no block. (The C library's own end
    gives such stacks back.)"""
    reports, _ = run("edges", "ended", options=["--keep-libc"])
    equal(leaks(reports[0]), {("definitely", "leave_pointers<start_thread<clone3"): [1, 60]}, "leaks")


def deaf():
    reports, _ = run("edges", "deaf")
    equal(reports[0]["threads_not_stopped"], 1, "threads that did not stop")


def too_much():
    reports, printed = run("edges", "too much")
    equal((printed, errors_of(reports[0])), ("1 1 unchanged, 1 1\n", []), "what is refused")


def content():
    reports, _ = run("edges", "content")
    equal([block["content"] for leak in reports[0]["leaks"] for block in leak["blocks"]], ["abcdef01ff"], "content")


def environment():
    """What lies behind the environment is found there, whether LD_PRELOAD was set before or not."""
    for extra in ({}, {"LD_PRELOAD": "libm.so.6"}):
        given = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        result = subprocess.run([SPWALK, "leaks", "-o", "/dev/null", "--", str(FOLDER / "edges"), "environment"], capture_output=True,
                                text=True, env={**given, **extra})
        equal(result.stdout, f"page {os.sysconf('SC_PAGESIZE')}\n", f"{extra}")


def own_allocator():
    reports, _ = run("own")
    equal(reports[0]["own_allocator"], True, "own")
    reports, _ = run("edges", "")
    equal(reports[0]["own_allocator"], False, "none")


def options_together():
    reports, _ = run("blocks", "simple", options=["--frames=1", "--min-size=12", "--dump=2"])
    equal(leaks(reports[0]), {("definitely", "leak_malloc"): [3, 39]}, "leaks")
    equal({len(block.get("content", "0000")) for block in reports[0]["leaks"][0]["blocks"]}, {4}, "content")


def data_file():
    """A data file is whole, or is refused."""
    folder = FOLDER / "data"
    folder.mkdir()
    result = subprocess.run([str(FOLDER / "blocks"), "simple"], capture_output=True, text=True,
                            env={"LD_PRELOAD": str(LIBRARY / "libspwalk-leaks.so"), "SPWALK_LEAKS_FOLDER": str(folder)})
    equal((result.returncode, result.stderr), (7, ""), "run")
    files = list(folder.iterdir())
    equal(len(files), 1, "files")
    whole = files[0].read_bytes()
    for bytes_of, is_good in ((whole, True), (whole + bytes(8), False), (whole[:-8], False), (whole[:-1], False), (b"", False)):
        copy = FOLDER / "copy.leaks"
        copy.write_bytes(bytes_of)
        result = subprocess.run([SPWALK, "leaks", "--print", str(copy)], capture_output=True, text=True)
        equal(result.returncode, 0 if is_good else 2, f"{len(bytes_of)} of {len(whole)} bytes")
        line = f"spwalk leaks: {copy}: not a whole data file of spwalk leaks\n"
        check(("60 bytes in 5 blocks definitely lost" in result.stderr) if is_good else line in result.stderr, result.stderr)


build("blocks", "blocks.c", "-O1", "-pthread")
build("edges", "edges.c", "-O1", "-pthread", *LIBRARY_FLAGS)
build("kinds", "kinds.cc", "-O1", "-std=c++17")
build("own", "own.c", "-O1", "-fno-builtin")
tests = Tests()
tests.run("malloc, new, new[] with free, delete, delete[] in all forms", kinds)
tests.run("new that succeeds at the second attempt", second_attempt)
tests.run("frames of an error's stacks", frames_of_errors)
tests.run("vfork", vfork)
tests.run("_exit while the C library flushes", flush)
tests.run("a hook that lets the report through, and one that does not", hook)
tests.run("fork while another thread reports", fork)
tests.run("a thread that has ended", ended)
tests.run("a thread that cannot be stopped", deaf)
tests.run("sizes that overflow", too_much)
tests.run("content", content)
tests.run("the environment's end", environment)
tests.run("a program with an allocator of its own", own_allocator)
tests.run("several options", options_together)
tests.run("data files that are not whole", data_file)
subprocess.run(["rm", "-rf", str(FOLDER)], check=False)
tests.done()
