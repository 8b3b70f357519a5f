# SPDX-License-Identifier: MIT
"""leaks_test.py SPWALK: the count, bytes and stack of every leak of programs whose leaks are known."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

from reports import FOLDER, LIBRARY_FLAGS, ROOT, SOURCE, SPWALK, build, functions, leaks, run

sys.path.insert(0, str(SOURCE.parent / "imports"))
from harness import Failed, Tests, check, equal  # noqa: E402


def one(case, expected, program="blocks", status=7, errors=0, options=(), arguments=()):
    reports, _ = run(program, case, *arguments, status=status, options=options)
    equal(len(reports), 1, "reports")
    equal(leaks(reports[0]), expected, "leaks")
    equal(len(reports[0]["errors"]), errors, "errors")
    return reports[0]


def simple():
    report = one("simple", {("definitely", "leak_malloc<main"): [5, 60]})
    equal([block["size"] for block in report["leaks"][0]["blocks"]], [10, 11, 12, 13, 14], "sizes")
    serials = [block["serial"] for block in report["leaks"][0]["blocks"]]
    equal(serials, list(range(serials[0], serials[0] + 5)), "serials")
    frame = report["leaks"][0]["stack"][0]
    line = 1 + (SOURCE / "blocks.c").read_text().splitlines().index("    forget(malloc(size));")
    equal((pathlib.Path(frame["file"]).name, frame["line"]), ("blocks.c", line), "place")
    equal(frame["module"], str(FOLDER / "blocks"), "module")


def each():
    own = [(1, 11), (1, 21), (1, 31), (1, 40), (1, 50), (1, 61), (1, 71), (1, 81), (1, 4096)]
    report = one("each", {("definitely", "leak_by_each<main"): [9, sum(size for _, size in own)],
                          ("definitely", "strdup<leak_by_each<main"): [1, 10],
                          ("definitely", "strndup<leak_by_each<main"): [1, 5],
                          ("definitely", asprintf_stack()): [1, 6]})
    equal(report["totals"]["definitely lost"], {"count": 12, "bytes": 4462 + 21}, "total")


def asprintf_stack():
    """What the C library calls within asprintf is its own affair."""
    reports, _ = run("blocks", "each")
    stacks = [stack for _, stack in leaks(reports[0]) if "asprintf" in stack]
    equal(len(stacks), 1, "stacks through asprintf")
    return stacks[0]


def structure():
    one("structure", {("definitely", "leak_structure<main"): [1, 24], ("indirectly", "leak_structure<main"): [3, 600]})


def kept():
    one("kept", {})
    one("kept", {("still", "keep_blocks<main"): [3, 6000]}, options=["--show=all"])


def threads():
    report = one("threads", {("definitely", "leak_malloc<leak_in_thread<start_thread<clone3"): [80, 8000]})
    equal(len({block["thread"] for leak in report["leaks"] for block in leak["blocks"]}), 8, "threads")


def holding():
    report = one("holding", {})
    equal(report["threads_not_stopped"], 0, "threads that did not stop")
    check(report["totals"]["still reachable"]["bytes"] >= 666, "what a thread holds is reachable")


def fork():
    reports, _ = run("blocks", "fork")
    equal(len(reports), 2, "reports")
    child, parent = sorted(reports, key=lambda report: len(report["leaks"]) and report["totals"]["definitely lost"]["bytes"])
    equal(leaks(child), {("definitely", "leak_malloc<run_fork<main"): [1, 50]}, "the child's")
    equal(leaks(parent), {("definitely", "leak_malloc<run_fork<main"): [2, 100]}, "the parent's")
    equal(child["parent"], parent["process"], "parent")
    equal(child["totals"]["inherited"], {"count": 1, "bytes": 40}, "inherited")


def library():
    report = one("library", {("definitely", "leak_first<run_library<main"): [1, 601],
                             ("definitely", "leak_second<run_library<main"): [1, 602]}, arguments=[str(FOLDER)])
    pcs = {leak["stack"][0]["function"]: leak["stack"][0]["pc"] for leak in report["leaks"]}
    equal(pcs["leak_first"], pcs["leak_second"], "the second library takes the first one's place")


def ends():
    report = one("ends", {("definitely", stack): [1, size] for stack, size in end_stacks().items()})
    equal(len(report["leaks"]), 3, "leaks")


def end_stacks():
    reports, _ = run("blocks", "ends")
    found = {}
    for (_, stack), (_, size) in leaks(reports[0]).items():
        found[stack] = size
    for name, size in (("leak_in_constructor", 501), ("leak_in_destructor", 502), ("leak_at_exit", 503)):
        equal([bytes for stack, bytes in found.items() if stack.split("<")[0] == name], [size], name)
    return found


def double():
    report = one("double", {}, errors=1)
    error = report["errors"][0]
    equal((error["type"], error["size"], functions(error["here"]), functions(error["allocated"])),
          ("double free", 90, ["main"], ["main"]), "error")
    check(error["here"][0]["line"] == error["allocated"][0]["line"] + 2, "lines")
    error = one("double", {}, errors=1, options=["--free-stacks"])["errors"][0]
    check(error["freed_before"][0]["line"] == error["here"][0]["line"] - 1, "the first free")


def invalid():
    error = one("invalid", {}, errors=1)["errors"][0]
    equal((error["type"], functions(error["here"])), ("invalid free", ["main"]), "error")


def overrun():
    errors = one("overrun", {}, errors=2)["errors"]
    equal([(error["type"], error["size"], functions(error["allocated"]), functions(error["here"])) for error in errors],
          [("overrun", 13, ["main"], ["main"]), ("overrun", 14, ["main"], [])], "errors")
    one("overrun", {}, options=["--no-guard"])


def overrun_far():
    """What a long write destroys of the detector's own is not believed; the program goes on, and it is reported."""
    for character in ("x", "\x01", "\x7f"):
        errors = one("overrun far", {}, errors=3, arguments=[character])["errors"]
        equal([(error["type"], error["size"], len(error["here"]) > 0, functions(error["allocated"])) for error in errors],
              [("overrun", 24, True, ["main"]), ("overrun", 0, True, []), ("overrun", 0, False, [])], "errors")
        run("blocks", "overrun far", character, options=["--no-guard"])


def no_memory():
    """What could not be recorded is freed all the same, and no error."""
    report = one("no memory", {})
    check(report["not_recorded"] > 0, "all was recorded")


def mismatch():
    errors = one("mismatch", GLOBALS, program="objects", status=0, errors=3)["errors"]
    equal([(error["type"], error["allocated_by"], error["freed_by"]) for error in errors],
          [("mismatch", "malloc", "delete"), ("mismatch", "new[]", "delete"), ("mismatch", "new", "free")], "errors")


def clean():
    report, output = run("blocks", "clean")
    equal((leaks(report[0]), report[0]["errors"], output), ({}, [], "usable 100\n"), "blocks")
    report, output = run("objects", "clean", status=0)
    equal((leaks(report[0]), report[0]["errors"], output), (GLOBALS, [], "bad_alloc\n"), "objects")


def objects():
    each_of = {("definitely", "leak_by_each()<main"): [6, 4 + 21 + 64 + 8 + 33 + 128]}
    report = one("each", {**GLOBALS, **each_of}, program="objects", status=0)
    kinds = sorted((leak["allocated_by"], leak["count"], leak["bytes"]) for leak in report["leaks"] if "leak_by_each()" in functions(leak["stack"]))
    equal([(name, sum(c for k, c, _ in kinds if k == name), sum(b for k, _, b in kinds if k == name)) for name in ("new", "new[]")],
          [("new", 3, 4 + 64 + 8), ("new[]", 3, 21 + 33 + 128)], "kinds")


def global_stacks():
    reports, _ = run("objects", "", status=0)
    found = leaks(reports[0])
    equal(sorted(found.values()), [[1, 12], [1, 77]], "a global object's")
    for (_, stack), (_, size) in found.items():
        check(stack.startswith("Global::Global()<" if size == 77 else "Global::~Global()<"), stack)
    return found


def error_status():
    run("blocks", "simple", options=["--error-exitcode=42"], status=42)
    run("blocks", "clean", options=["--error-exitcode=42"], status=7)


def suppression():
    rules = FOLDER / "rules"
    rules.write_text("# a comment\nleak:^leak_malloc$\n")
    report = one("simple", {}, options=[f"--suppressions={rules}"])
    equal(report["totals"]["suppressed"], {"count": 5, "bytes": 60}, "suppressed")
    rules.write_text("leak:no_such_function\n")
    one("simple", {("definitely", "leak_malloc<main"): [5, 60]}, options=[f"--suppressions={rules}"])


def suppression_patterns():
    """In the middle of a name, in the file, in the module; a special character stands for itself."""
    rules = FOLDER / "rules"
    for pattern, is_left_out in (("ak_mal", True), ("^ak_mal", False), ("leak_mal$", False), ("blocks.c", True), ("/blocks$", True),
                                 ("leak*loc", True), ("leak?malloc", False)):
        rules.write_text(f"leak:{pattern}\n")
        report, _ = run("blocks", "simple", options=[f"--suppressions={rules}"])
        equal(leaks(report[0]), {} if is_left_out else {("definitely", "leak_malloc<main"): [5, 60]}, pattern)


def text_report():
    result = subprocess.run([SPWALK, "leaks", "--dump=20", "--dumps=2", str(FOLDER / "blocks"), "content"], capture_output=True, text=True)
    equal(result.returncode, 7, result.stderr)
    heads = re.findall(r"^(\d+) bytes? in (\d+) blocks? definitely lost, by malloc; serials? ([\d, .]*)$", result.stderr, re.M)
    equal([head[:2] for head in heads], [("300", "10"), ("20", "1")], "biggest first")
    equal((heads[0][2].count(","), heads[0][2][-3:], heads[1][2].count(",")), (8, "...", 0), "serials")
    row = "    0000  61 62 07 00 00 00 00 00  00 00 00 00 00 00 00 00  ab.............".replace("00  00", "00 00")
    check(row in result.stderr and "    0010  00 00 00 00" in result.stderr, result.stderr)
    equal(result.stderr.count("    0000 "), 3, "dumps")


def choices():
    one("simple", {("definitely", "leak_malloc<main"): [3, 39]}, options=["--min-size=12"])
    one("simple", {}, options=["--start-disabled"])
    one("simple", {("definitely", "leak_malloc"): [5, 60]}, options=["--frames=1"])
    one("ring", {("definitely", "leak_ring<main"): [1, 32], ("indirectly", "leak_ring<main"): [1, 48]})
    one("kept", {("held", "keep_blocks<main"): [3, 6000]}, options=["--no-scan"])


def folded():
    output = FOLDER / "folded"
    subprocess.run([SPWALK, "leaks", "--format=folded", "-o", str(output), "--", str(FOLDER / "blocks"), "simple"], check=False)
    lines = output.read_text().splitlines()
    equal(len(lines), 1, "lines")
    check(lines[0].endswith(";main;leak_malloc 60"), lines[0])


def asks(case, expected, output="", reports=1, options=()):
    found, printed = run("asks", case, status=0, options=options)
    equal(printed, output, "output")
    equal(len(found), reports, "reports")
    equal([sorted(sum((report_sizes(leak) for leak in report["leaks"]), [])) for report in found], expected, "sizes")
    return found


def handling():
    """They run when the other threads go on, and no signal stays blocked."""
    _, printed = run("asks", "handler", status=0)
    equal(printed, "handled\n", "output")


def report_sizes(leak):
    return [block["size"] for block in leak["blocks"]]


def closed_hook():
    """A hook goes with its library."""
    one("hook", {("definitely", "main"): [1, 70]}, program="plugins", arguments=[str(FOLDER)])


def closed_library():
    """The library itself is loaded and closed by a program that knows nothing of it."""
    result = subprocess.run([str(FOLDER / "plugins"), "hook", str(FOLDER)], capture_output=True, text=True, timeout=60)
    equal(result.returncode, 7, result.stderr)


def asks_hook():
    result = subprocess.run([SPWALK, "leaks", "-o", "/dev/null", "--", str(FOLDER / "asks"), "hook"], capture_output=True, text=True)
    equal(result.stdout, "hook 1 10 argument\n", "output")


def linked():
    """Without the tool around it, and without LD_PRELOAD: the program prints its report itself."""
    output = FOLDER / "linked.json"
    result = subprocess.run([str(FOLDER / "linked"), "count"], capture_output=True, text=True,
                            env={"SPWALK_LEAKS": f"format=json:output={output}:dump=3"})
    equal((result.returncode, result.stdout, result.stderr), (0, "2 30\n", ""), "run")
    report = json.loads(output.read_text())["reports"][0]
    equal(sum(leak["bytes"] for leak in report["leaks"]), 30, "bytes")
    equal({len(block.get("content", "")) for leak in report["leaks"] for block in leak["blocks"][:1]}, {6}, "content")
    text = subprocess.run([str(FOLDER / "linked"), "count"], capture_output=True, text=True, env={})
    check("10 bytes in 1 block definitely lost" in text.stderr or "30 bytes in 2 blocks definitely lost" in text.stderr, text.stderr)


def without():
    """With NDEBUG the header asks for nothing, and links with nothing."""
    result = subprocess.run([str(FOLDER / "without"), "now"], capture_output=True, text=True)
    equal((result.returncode, result.stderr), (0, ""), "run")
    needed = subprocess.run(["readelf", "-d", str(FOLDER / "without")], capture_output=True, text=True).stdout
    check("spwalk" not in needed, needed)


def compare():
    paths = []
    for i, case in enumerate(("simple", "each")):
        run("blocks", case)
        paths.append(FOLDER / f"compare{i}.json")
        paths[i].write_text((FOLDER / "report.json").read_text())
    same = subprocess.run([SPWALK, "leaks", "--compare", str(paths[0]), str(paths[0])], capture_output=True, text=True)
    equal((same.returncode, same.stdout), (0, ""), "the same")
    more = subprocess.run([SPWALK, "leaks", "--compare", str(paths[0]), str(paths[1])], capture_output=True, text=True)
    equal(more.returncode, 1, "more")
    check("-60 bytes in -5 blocks" in more.stdout and "+10 bytes in +1 blocks" in more.stdout, more.stdout)


def bad_input():
    """One line that names what is wrong with what, and status 2."""
    (FOLDER / "text").write_text("not JSON\n")
    (FOLDER / "other.json").write_text("{}\n")
    for arguments, line in (
            (["--compare", "nowhere", "nowhere"], "nowhere: No such file or directory"),
            (["--compare", str(FOLDER), "nowhere"], f"{FOLDER}: Is a directory"),
            (["--compare", str(FOLDER / "text"), "nowhere"],
             f"{FOLDER}/text: not a JSON report of spwalk leaks: line 1: '[' or '{{' expected near 'not'"),
            (["--compare", str(FOLDER / "other.json"), "nowhere"],
             f"{FOLDER}/other.json: not a JSON report of spwalk leaks: it has no reports"),
            (["--show=definite,foo", "--", "true"], "'foo' is not a class of blocks: definite, indirect, reachable or all"),
            (["--show=", "--", "true"], "--show needs a class of blocks: definite, indirect, reachable or all"),
            (["--suppressions", str(FOLDER), "--", "true"], f"{FOLDER}: Is a directory"),
            *((["--signal", number, "--", "true"], f"'{number}' is not a signal's number from 1 to 64 that a program may use, nor 0")
              for number in ("9", "19", "32", "61", "65", "x", "-1"))):
        result = subprocess.run([SPWALK, "leaks", *arguments], capture_output=True, text=True)
        equal((result.returncode, result.stdout), (2, ""), f"{arguments}")
        equal(result.stderr.split(";")[0].rstrip("\n"), "spwalk leaks: " + line, f"{arguments}")
        equal(result.stderr.count("\n"), 1, f"lines of {arguments}")


def bad_environment():
    for word, line in (("frames=0", "'frames=0': not a number from 1 to 256 that can be had"),
                       ("guard=yes", "'guard=yes': not a number from 0 to 1 that can be had"),
                       ("signal=9", "'signal=9': not a number from 0 to 64 that can be had"),
                       ("frame=3", "'frame=3': no NAME=VALUE with a name that there is"),
                       ("frames", "'frames': no NAME=VALUE with a name that there is")):
        environment = {**os.environ, "SPWALK_LEAKS": f"dump=8:{word}:show=all"}
        result = subprocess.run([SPWALK, "leaks", str(FOLDER / "blocks"), "simple"], capture_output=True, text=True, env=environment)
        equal((result.returncode, result.stdout), (2, ""), word)
        equal(result.stderr.split(";")[0].rstrip("\n"), "spwalk leaks: SPWALK_LEAKS: " + line, word)
        linked_program = subprocess.run([str(FOLDER / "linked"), "count"], capture_output=True, text=True, env=environment)
        equal(linked_program.returncode, 0, f"linked, {word}")
        check(line in linked_program.stderr and "definitely lost" in linked_program.stderr, linked_program.stderr)


def ending(case, status, sizes, told=""):
    """How a program ends: with its own status or signal, with what report, and what is said where there is none."""
    output = FOLDER / "ending.json"
    result = subprocess.run([SPWALK, "leaks", "--format=json", "-o", str(output), "--", str(FOLDER / "ends"), case],
                            capture_output=True, text=True, timeout=120)
    equal(result.returncode, status, "status")
    reports = json.loads(output.read_text())["reports"]
    equal([sorted(sum((report_sizes(leak) for leak in report["leaks"]), [])) for report in reports], sizes, "sizes")
    check(told in result.stderr and result.stderr.count("\n") == (1 if told else 0), result.stderr)


def self_test():
    result = subprocess.run([SPWALK, "leaks", "--self-test"], capture_output=True, text=True, timeout=120)
    equal((result.returncode, result.stdout.count("ok: "), result.stderr), (0, 9, ""), result.stdout)
    broken = subprocess.run([SPWALK, "leaks", "--self-test"], capture_output=True, text=True, timeout=120,
                            env={**os.environ, "SPWALK_LEAKS": "guard=0:frames=2"})
    equal(broken.returncode, 1, "with what is told left out")
    equal([line for line in broken.stdout.splitlines() if line.startswith("WRONG")],
          ["WRONG: their stack, up to the program's start", "WRONG: a write past the end of a block"], "wrong")


def many():
    output = FOLDER / "many.folded"
    result = subprocess.run([SPWALK, "leaks", "--format=folded", "-o", str(output), "--show=definite", "--dumps=0", "--",
                             str(FOLDER / "many")], capture_output=True, text=True, timeout=800)
    equal(result.returncode, 0, result.stderr)
    counts = [int(line.rsplit(" ", 1)[1]) for line in output.read_text().splitlines() if "go_" in line]
    equal((len(counts), set(counts)), (8 << 14, {24 * 8}), "stacks, and the bytes of each")


def bad_usage():
    for arguments in (["--show=none", "true"], ["--frames=0", "true"], [], ["--suppressions=/no/such", "true"],
                      ["-o", "/no/such/folder/file", "true"], ["/no/such/program"]):
        result = subprocess.run([SPWALK, "leaks", *arguments], capture_output=True, text=True)
        equal((result.returncode, result.stdout, result.stderr.count("\n")), (2, "", 1), f"{arguments}: {result.stderr}")


build("blocks", "blocks.c", "-O1", "-pthread")
build("objects", "objects.cc", "-O1")
build("libleaky1.so", "leaky.c", "-shared", "-fPIC", "-DFUNCTION=leak_first", "-DSIZE=601")
build("libleaky2.so", "leaky.c", "-shared", "-fPIC", "-DFUNCTION=leak_second", "-DSIZE=602")
build("asks", "asks.c", "-O1", "-pthread", *LIBRARY_FLAGS)
build("linked", "asks.c", "-O1", "-pthread", *LIBRARY_FLAGS)
build("without", "asks.c", "-O1", "-pthread", "-DNDEBUG", f"-I{ROOT / 'include'}")
build("many", "many.c", "-O1", "-pthread")
build("libplugin.so", "plugin.c", "-shared", "-fPIC", *LIBRARY_FLAGS)
build("libconstructor.so", "plugin.c", "-shared", "-fPIC", "-DCONSTRUCTOR", "-DNDEBUG", f"-I{ROOT / 'include'}")
build("plugins", "plugins.c", "-O1", "-pthread", "-rdynamic")
build("ends", "ends.c", "-O1", "-pthread")
tests = Tests()
GLOBALS = {}
try:
    GLOBALS = global_stacks()
except Failed as failed:
    print(f"# {failed}")
tests.run("a global object's leaks", global_stacks)
tests.run("count, bytes, serials, stack and line", simple)
tests.run("each function that allocates", each)
tests.run("a chain of realloc", one, "realloc", {("definitely", "leak_realloc_chain<main"): [1, 5120]})
tests.run("a lost structure is definite once", structure)
tests.run("reachable blocks", kept)
tests.run("threads", threads)
tests.run("what a running thread holds is reachable", holding)
tests.run("fork", fork)
tests.run("libraries that are closed again, at the same address", library)
tests.run("constructors, destructors, atexit", ends)
tests.run("_exit", one, "_exit", {("definitely", "leak_malloc<main"): [1, 70]}, "blocks", 9)
tests.run("exec", one, "exec", {("definitely", "leak_malloc<main"): [1, 80]}, "blocks", 0)
tests.run("double free", double)
tests.run("invalid free", invalid)
tests.run("write past the end", overrun)
tests.run("write far past the end", overrun_far)
tests.run("no memory", no_memory)
tests.run("mismatch", mismatch)
tests.run("clean programs", clean)
tests.run("operator new in all forms", objects)
tests.run("exit status", error_status)
tests.run("suppressions", suppression)
tests.run("patterns of suppressions", suppression_patterns)
tests.run("the report as text", text_report)
tests.run("size floor, start disabled, frames, rings, no scan", choices)
tests.run("folded stacks", folded)
tests.run("enable, disable, restore", asks, "disable", [[1, 4, 16, 64]])
tests.run("started disabled: enabled for a thread, for all", asks, "disable", [[16, 64]], "", 1, ["--start-disabled"])
tests.run("bad input", bad_input)
tests.run("bad words in the environment", bad_environment)
tests.run("count", asks, "count", [[10, 20]], "2 30\n")
tests.run("count while others reallocate", asks, "moving", [[]], "0 of 30 counts found lost blocks\n")
tests.run("report now, mark all as reported", asks, "now", [[10], [20]], "", 2)
tests.run("report by a signal", asks, "signal", [[10], [10, 20]], "", 2)
tests.run("handlers that wait for a stopped thread's lock", handling)
tests.run("ignore", asks, "ignore", [[10]], "0 -1\n")
tests.run("hook", asks_hook)
tests.run("the end while another thread reports", asks, "busy", [[], [20]], "", 2)
tests.run("a hook in a library that is closed", closed_hook)
tests.run("the library in one that is closed", closed_library)
tests.run("dlclose in a constructor, and in another thread", one, "constructor", {}, "plugins", 7, 0, [], [str(FOLDER)])
tests.run("linked, without the tool", linked)
tests.run("NDEBUG", without)
tests.run("two reports compared", compare)
tests.run("a million blocks at 131,072 stacks in eight threads", many)
for name in ("_exit", "_Exit", "quick_exit", "handler", "thread", "running"):
    tests.run(f"end: {name}", ending, name, 9, [[70]])
tests.run("end: pthread_exit", ending, "pthread_exit", 0, [[70]])
for name, number in (("abort", signal.SIGABRT), ("segv", signal.SIGSEGV), ("term", signal.SIGTERM), ("kill", signal.SIGKILL)):
    tests.run(f"end: {name}", ending, name, -number, [], f"ended by signal {number:d} ")
tests.run("end: kill, after a report", ending, "reported", -signal.SIGKILL, [[70]], "ended by signal 9 ")
tests.run("end: a system call of its own", ending, "system call", 2, [], "left no report")
tests.run("self test", self_test)
tests.run("bad usage", bad_usage)
subprocess.run(["rm", "-rf", str(FOLDER)], check=False)
tests.done()
