# SPDX-License-Identifier: MIT
"""counts_test.py SPWALK: programs with known counts, over the ways in which calls can be bound and can end."""

import os
import signal
import subprocess
import sys

from harness import Failed, Tests, Workshop, calls, check, equal, library, printed_counts

BINDINGS = {
    "lazy": ["-Wl,-z,lazy"],
    "lazy without PIE": ["-Wl,-z,lazy", "-no-pie"],
    "now": ["-Wl,-z,now"],
    "full RELRO": ["-Wl,-z,now,-z,relro"],
    "full RELRO without PIE": ["-Wl,-z,now,-z,relro", "-no-pie"],
    "no RELRO": ["-Wl,-z,norelro"],
    "no PLT": ["-fno-plt"],
    "no PLT, lazy": ["-fno-plt", "-Wl,-z,lazy"],
    "no PLT without PIE": ["-fno-plt", "-no-pie"],
    "CET": ["-fcf-protection=full", "-Wl,-z,lazy"],
    "lld, lazy": ["-fuse-ld=lld", "-Wl,-z,lazy"],
    "lld, full RELRO": ["-fuse-ld=lld", "-Wl,-z,now,-z,relro"],
    "gold, lazy": ["-fuse-ld=gold", "-Wl,-z,lazy"],
    "large model": ["-mcmodel=large", "-Wl,-z,now"],
}


def shapes(shop, compiler, level, flags):
    program = shop.build("shapes", ["shapes.c"], level, *flags, *shop.target_flags(), compiler=compiler)
    result = shop.run([program])
    equal((result.returncode, result.stderr), (42, ""), "exit status and standard error")
    for name, count in printed_counts(result.stdout).items():
        equal(calls(result.report, "libtarget.so", name), count, name)
    for row in library(result.report, "libtarget.so")["imports"]:
        if row["type"] == "function" and row["name"] != "target_entered":
            equal(row["not_counted"], None, row["name"])
    equal({row["name"] for row in library(result.report, "libtarget.so")["imports"] if row["type"] == "variable"},
          {"target_variable", "target_thread_variable"}, "variables")


def version_1(shop):
    source = shop.folder / "old.c"
    source.write_text('__asm__(".symver target_versioned, target_versioned@TARGET_1");\n'
                      'long target_versioned(long);\nint main(void)\n{\n    return target_versioned(5) == 4 ? 0 : 1;\n}\n')
    program = shop.build("old", [source], *shop.target_flags())
    result = shop.run([program])
    equal(result.returncode, 0, "exit status")
    rows = [row for row in library(result.report, "libtarget.so")["imports"] if row["name"] == "target_versioned"]
    equal([(row["version"], row["calls"]) for row in rows], [("TARGET_1", 1)], "rows")


def bound_now_by_environment(shop):
    program = shop.build("shapes", ["shapes.c"], "-O2", "-Wl,-z,lazy", *shop.target_flags())
    result = shop.run([program], environment={**os.environ, "LD_BIND_NOW": "1"})
    for name, count in printed_counts(result.stdout).items():
        equal(calls(result.report, "libtarget.so", name), count, name)


def taken_address(shop, flags, counted):
    """Equality holds, and a count is never less than the calls that are not through the pointer."""
    program = shop.build("address", ["address.c"], *flags, *shop.target_flags())
    result = shop.run([program])
    equal(result.stdout, "equal 1\nentered 57\n", "output")
    equal(calls(result.report, "libtarget.so", "target_plain"), counted, "calls")
    row = [row for row in library(result.report, "libtarget.so")["imports"] if row["name"] == "target_plain"][0]
    equal("address" in (row["not_counted"] or ""), counted == 50, "said to be counted in part")
    if counted == 50:
        equal(library(result.report, "libtarget.so")["verdict"], "not-safe", "verdict")


def threads(shop, many, each, serial):
    program = shop.build("threads", ["threads.c"], "-O2", "-pthread", *shop.target_flags())
    result = shop.run([program, str(many), str(each), str(serial)])
    equal(result.returncode, 0, "exit status")
    expected = printed_counts(result.stdout)["target_plain"]
    check(expected >= many * each + 2 * serial, "the program called as often as it should")
    equal(calls(result.report, "libtarget.so", "target_plain"), expected, "calls")


def ends(shop, how, status):
    program = shop.build("ends", ["ends.c"], "-O2", "-pthread", *shop.target_flags())
    result = shop.run([program, how])
    equal(result.returncode, status, "exit status")
    equal(result.stderr, "", "standard error")
    equal(calls(result.report, "libtarget.so", "target_plain"), 30, "calls")
    equal(len(result.report["programs"]), 1, "programs")
    equal(result.report["programs"][0]["processes"], 11 if how == "fork" else 1, "processes")


def opened(shop, options, plugin_flags, times, counted):
    plugin = shop.build("plugin.so", ["plugin.c"], "-shared", "-fPIC", *plugin_flags, *shop.target_flags())
    program = shop.build("opens", ["opens.c"], *shop.target_flags())
    result = shop.run([program, plugin, str(times)], options=options)
    equal(result.returncode, 0, "exit status " + result.stdout + result.stderr)
    expected = printed_counts(result.stdout)["target_plain"]
    if counted:
        equal(calls(result.report, "libtarget.so", "target_plain"), expected, "calls")
    else:
        rows = result.report["programs"][0]["not_bound"]
        check(any(row["user"] == "plugin.so" and "no initialiser" in row["not_counted"] for row in rows),
              "said not to be counted")


def registers(shop, flags, arguments):
    """No register but r11 is changed on the way, in the first call and in later ones. glibc's lazy binding changes r10."""
    shop.build("libcapture.so", ["capture.S"], "-shared")
    program = shop.build("registers", ["registers.c", "give.S"], *flags, f"-L{shop.folder}", "-lcapture", f"-Wl,-rpath,{shop.folder}")
    result = shop.run([program, *arguments])
    wrong = [line for line in result.stdout.splitlines() if ": " in line and "registers: " not in line]
    if "-Wl,-z,lazy" in flags:
        wrong = [line for line in wrong if not line.startswith("first: register 10 ")]
    equal(wrong, [], "changed registers")
    check("registers: " in result.stdout, result.stdout)
    equal(calls(result.report, "libcapture.so", "capture"), 3, "calls")


def exceptions(shop, flags):
    shop.build("libthrower.so", ["thrower.cc"], "-shared", "-fPIC", compiler="g++")
    program = shop.build("exceptions", ["exceptions.cc"], *flags, f"-L{shop.folder}", "-lthrower",
                         f"-Wl,-rpath,{shop.folder}", compiler="g++")
    result = shop.run([program], options=["--all"])
    equal((result.returncode, result.stdout), (0, "thrower 25\ncaught 25\n"), "result")
    equal(calls(result.report, "libthrower.so", "thrower"), 25, "thrower")
    rows = [row for row in library(result.report, "libstdc++.so.6")["imports"] if row["name"] == "__cxa_throw"]
    equal({row["user"]: row["calls"] for row in rows if row["calls"]}, {"libthrower.so": 25}, "__cxa_throw")


def traces(shop):
    """What a program sees of itself is as without us."""
    program = shop.build("traces", ["traces.c"], "-Wl,-z,now,-z,relro", *shop.target_flags())
    for environment in (os.environ, {**os.environ, "LD_PRELOAD": "libc.so.6"}):
        alone = subprocess.run([program], capture_output=True, text=True, env=environment)
        result = shop.run([program], environment=environment)
        equal((result.returncode, result.stdout, result.stderr), (alone.returncode, alone.stdout, alone.stderr), "result")
    check("RELRO read-only 1\n" in alone.stdout and "executable 0\n" in alone.stdout, alone.stdout)
    equal(calls(result.report, "libtarget.so", "target_plain"), 1, "calls")


def missing_function(shop):
    """A lazy import that nothing defines ends the program as it would alone, and not before it is called."""
    extra, source = shop.folder / "extra.c", shop.folder / "lacks.c"
    source.write_text("#include <stdio.h>\nvoid target_plain(void);\nvoid extra(void);\n"
                      "int main(int argc, char **argv)\n{\n    target_plain();\n    puts(\"before\");\n    fflush(stdout);\n"
                      "    if (argc > 1)\n        extra();\n    return 0;\n}\n")
    extra.write_text("void extra(void) {}\n")
    shop.build("libextra.so", [extra], "-shared", "-fPIC")
    program = shop.build("lacks", [source], "-Wl,-z,lazy", *shop.target_flags(), "-lextra")
    extra.write_text("void other(void) {}\n")
    shop.build("libextra.so", [extra], "-shared", "-fPIC")
    for arguments in ([], ["now"]):
        alone = subprocess.run([program, *arguments], capture_output=True, text=True)
        result = shop.run([program, *arguments])
        equal((result.returncode, result.stdout, result.stderr), (alone.returncode, alone.stdout, alone.stderr), "result")
        equal(calls(result.report, "libtarget.so", "target_plain"), 1, "calls")
    equal(alone.returncode, 127, "the program's own end")


def follow(shop):
    ends_program = shop.build("ends", ["ends.c"], "-O2", "-pthread", *shop.target_flags())
    result = shop.run(["/bin/sh", "-c", f"{ends_program} return; {ends_program} fork; true"], options=["--follow"])
    equal(result.returncode, 0, "exit status")
    names = {os.path.basename(item["program"]): index for index, item in enumerate(result.report["programs"])}
    check("ends" in names and len(names) == 2, f"programs {names}")
    equal(calls(result.report, "libtarget.so", "target_plain", names["ends"]), 60, "calls")
    equal(result.report["programs"][names["ends"]]["images"], 2, "images")
    equal(names["ends"], 1, "the program that was started comes first")


def filters(shop):
    plugin = shop.build("plugin.so", ["plugin.c"], "-shared", "-fPIC", *shop.target_flags())
    program = shop.build("opens", ["opens.c"], *shop.target_flags())
    command = [program, plugin, "2"]
    result = shop.run(command, options=["--from", "plugin.*"])
    users = {row["user"] for item in result.report["programs"][0]["libraries"] for row in item["imports"]}
    equal(users, {"plugin.so"}, "users with --from")
    equal(calls(result.report, "libtarget.so", "target_plain"), 18, "calls with --from")
    result = shop.run(command, options=["--all", "--to", "libtarget*"])
    rows = {item["name"]: len(item["imports"]) for item in result.report["programs"][0]["libraries"]}
    equal({name for name, count in rows.items() if count}, {"libtarget.so"}, "libraries with --to")


def audited(shop):
    """With an auditor the linker's lazy binding is its own: all is bound at the start, and counted."""
    program = shop.build("shapes", ["shapes.c"], "-O2", "-Wl,-z,lazy", *shop.target_flags())
    auditor = shop.folder / "auditor.c"
    auditor.write_text("unsigned la_version(unsigned version)\n{\n    return version;\n}\n")
    library_path = shop.build("auditor.so", [auditor], "-shared", "-fPIC")
    result = shop.run([program], environment={**os.environ, "LD_AUDIT": library_path})
    equal(result.returncode, 42, "exit status")
    for name, count in printed_counts(result.stdout).items():
        equal(calls(result.report, "libtarget.so", name), count, name)


def main():
    tests = Tests()
    with Workshop(sys.argv[1]) as shop:
        shop.build_target()
        for binding, flags in BINDINGS.items():
            for compiler in ("gcc", "clang"):
                if compiler == "clang" and "large" in binding:
                    continue
                for level in ("-O0", "-O2"):
                    tests.run(f"call shapes, {binding}, {compiler} {level}", shapes, shop, compiler, level, flags)
        tests.run("a symbol of an older version", version_1, shop)
        tests.run("LD_BIND_NOW", bound_now_by_environment, shop)
        tests.run("address taken, PIE, lazy", taken_address, shop, ["-O2", "-Wl,-z,lazy"], 50)
        tests.run("address taken, PIE, now", taken_address, shop, ["-O2", "-Wl,-z,now"], 50)
        tests.run("address taken, no PLT", taken_address, shop, ["-O2", "-fno-plt"], 50)
        tests.run("address taken, no PIE", taken_address, shop, ["-O2", "-no-pie", "-fno-pie"], 57)
        tests.run("address taken, no PIE, no PLT", taken_address, shop, ["-O2", "-no-pie", "-fPIC", "-fno-plt"], 50)
        tests.run("address in data, PIE", taken_address, shop, ["-O2", "-DADDRESS_IN_DATA"], 50)
        tests.run("address in data, no PIE", taken_address, shop,
                  ["-O2", "-no-pie", "-fno-pie", "-DADDRESS_IN_DATA", "-Wl,-z,lazy"], 50)
        tests.run("8 threads at once, and 3000 in turn", threads, shop, 8, 200000, 3000)
        tests.run("more threads at once than there are blocks", threads, shop, 1500, 50, 0)
        for how, status in (("return", 3), ("exit", 3), ("_exit", 3), ("exec", 3), ("fork", 3), ("vfork", 3), ("thread", 3),
                            ("kill", -signal.SIGKILL), ("abort", -signal.SIGABRT)):
            tests.run(f"end by {how}", ends, shop, how, status)
        tests.run("a library opened at run time", opened, shop, ["--all"], [], 1, True)
        tests.run("the same, 300 times", opened, shop, ["--all"], ["-Wl,-z,lazy"], 300, True)
        tests.run("with DT_INIT_ARRAY alone", opened, shop, ["--all"], ["-nostartfiles"], 4, True)
        tests.run("with no initialiser", opened, shop, ["--all"], ["-nostartfiles", "-DNO_CONSTRUCTOR"], 2, False)
        for binding, flags in (("lazy", ["-Wl,-z,lazy"]), ("now", ["-Wl,-z,now"]), ("no PLT", ["-DNO_PLT"])):
            tests.run(f"registers, {binding}", registers, shop, flags, [])
            tests.run(f"registers as wide as they are, {binding}", registers, shop, flags, ["wide"])
        for binding in ("lazy", "now", "no PLT"):
            tests.run(f"C++ exceptions, {binding}", exceptions, shop, BINDINGS[binding])
        tests.run("nothing to be seen from inside", traces, shop)
        tests.run("a function that is missing", missing_function, shop)
        tests.run("--follow", follow, shop)
        tests.run("--from and --to", filters, shop)
        tests.run("LD_AUDIT", audited, shop)
    tests.done()


if __name__ == "__main__":
    main()
