# SPDX-License-Identifier: MIT
"""report_test.py SPWALK: the verdicts, the forms of the report, and what is refused."""

import csv
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

from harness import Tests, Workshop, check, equal, library

LIBRARIES = {
    "never": "int never_f(void) { return 1; }\nint never_g(void) { return 2; }\n",
    "late": "int late_f(void) { return 1; }\nint late_g(void) { return 1; }\n",
    "early": "int early_f(void) { return 1; }\n",
    "data": "int data_variable = 1;\nint data_f(void) { return data_variable; }\n",
    "thread": "__thread int thread_variable = 1;\n",
    "constructor": "static int ready;\n__attribute__((constructor)) static void prepare_it(void) { ready = 1; }\n"
                   "int constructor_f(void) { return ready; }\n",
    "pointer": "int pointer_f(void) { return 1; }\n",
    "inner": "int inner_f(void) { return 1; }\n",
    "outer": "int inner_f(void);\nint outer_f(void) { return inner_f(); }\n",
    "front": "void *malloc(unsigned long size)\n{\n    static char memory[1 << 20];\n    static unsigned long used;\n"
             "    used = (used + size + 15) & -16ul;\n    return used > sizeof memory ? 0 : memory + used - ((size + 15) & -16ul);\n"
             "}\nvoid free(void *p) { (void)p; }\nint front_f(void) { return 1; }\n",
}

PROGRAM = r"""
#include <stdio.h>
int never_f(void), never_g(void), late_f(void), late_g(void), early_f(void), data_f(void), constructor_f(void), pointer_f(void);
int inner_f(void), outer_f(void), front_f(void);
extern int data_variable;
extern __thread int thread_variable;
int (*volatile pointer)(void) = pointer_f;
__attribute__((constructor)) static void before_main(void) { early_f(); }
__attribute__((noinline)) int who_forces_it(void) { return late_f() + 1; }
int main(int argc, char **argv)
{
    int sum = 0;
    if (argc > 5)
        sum = never_f() + never_g() + constructor_f() + inner_f() + front_f() + late_g();
    for (int i = 0; i < 10; i++)
        sum += who_forces_it();
    sum += outer_f() + data_variable + thread_variable + pointer();
    return sum ? 0 : 1;
}
"""


def build(shop, *flags):
    needs = {"outer": ["inner"]}
    for name, text in LIBRARIES.items():
        source = shop.folder / f"{name}.c"
        source.write_text(text)
        links = [f"-l{other}" for other in needs.get(name, [])]
        shop.build(f"lib{name}.so", [source], "-O1", "-fno-builtin", "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so", f"-L{shop.folder}",
                   f"-Wl,-rpath,{shop.folder}", *links)
    (shop.folder / "program.c").write_text(PROGRAM)
    return shop.build("program", [shop.folder / "program.c"], "-g", "-O1", *flags, f"-L{shop.folder}", "-Wl,--no-as-needed",
                      f"-Wl,-rpath,{shop.folder}", *(f"-l{name}" for name in LIBRARIES))


def verdicts(shop, flags):
    report = shop.run([build(shop, *flags)]).report
    expected = {
        "never": ("never-called", None),
        "late": ("called-late", None),
        "early": ("called-at-start-up", None),
        "data": ("not-safe", "data_variable"),
        "thread": ("not-safe", "thread-local variables of it are bound (thread_variable)"),
        "constructor": ("not-safe", "its constructors have effects (prepare_it)"),
        "pointer": ("not-safe", "addresses of its functions are taken (pointer_f)"),
        "inner": ("not-safe", "it is needed by libouter.so, which is called"),
        "outer": ("called-late", None),
        "front": ("not-safe", "which does not name it as needed"),
    }
    for name, (verdict, reason) in expected.items():
        item = library(report, f"lib{name}.so")
        equal((name, item["verdict"]), (name, verdict), f"verdict, reasons {item['reasons']}")
        check(any(reason in text for text in item["reasons"]) if reason else not item["reasons"], f"{name}: {item['reasons']}")
    check("it is the C library" in library(report, "libc.so.6")["reasons"], "the C library")
    equal(library(report, "libconstructor.so")["constructors"], ["prepare_it"], "constructors")
    equal(library(report, "libnever.so")["constructors"], [], "only the compiler's own constructors")
    check(library(report, "libnever.so")["compiler_constructors"] >= 1, "the compiler's own are seen")


def copied(shop):
    report = shop.run([build(shop, "-no-pie", "-fno-pie")]).report
    check(any("copied into the program (data_variable)" in text for text in library(report, "libdata.so")["reasons"]),
          f"{library(report, 'libdata.so')['reasons']}")


def first_call(shop):
    report = shop.run([build(shop)]).report
    first = library(report, "liblate.so")["first_call"]
    equal((first["function"], first["user"]), ("late_f", "program"), "function")
    frames = [frame["frame"].split("+")[0] for frame in first["stack"]]
    equal(frames[:2], ["who_forces_it", "main"], "innermost frames")
    check("_start" in frames, f"the whole stack: {frames}")
    check(report["programs"][0]["main_ms"] <= first["ms"] < 60000, f"time {first['ms']}")
    early = library(report, "libearly.so")["first_call"]
    equal(early["stack"][0]["frame"].split("+")[0], "before_main", "the constructor's frame")
    check(early["ms"] <= report["programs"][0]["main_ms"], "before main")
    equal(library(report, "libnever.so")["first_call"], None, "no first call")


def start_up(shop):
    report = shop.run([build(shop)], options=["--start-up=60000"]).report
    equal(library(report, "liblate.so")["verdict"], "called-at-start-up", "verdict")


def left_out(shop):
    """What --to and --from leave out is not taken for what is never called."""
    program = build(shop)

    def verdicts_with(*options):
        report = shop.run([program], options=options).report["programs"][0]
        check(report["main_ms"] is not None, f"main was entered, {options}")
        return {item["name"]: (item["verdict"], " ".join(item["reasons"])) for item in report["libraries"]}
    equal(verdicts_with("--to", "liblate.*", "--to", "libnever.*"), {"liblate.so": ("called-late", ""), "libnever.so": ("never-called", "")},
          "--to")
    inner = verdicts_with("--to", "libinner.*")["libinner.so"]
    equal(inner[0], "not-safe", "a library that one left out may call")
    check("libouter.so, which stays or may be called" in inner[1], inner[1])
    users = verdicts_with("--from", "libouter.*")
    equal({users[name][0] for name in ("libnever.so", "liblate.so", "libinner.so")}, {"unknown"}, "--from leaves out the program")


def unmatched(shop):
    """A pattern that matches nothing is told, one that matches is not, and the program's exit status stays."""
    program = build(shop)
    plain = shop.run([program])
    for options, told in ((["--to=nothere", "--to=liblate.*"], ["--to=nothere matches no library that was loaded at the start"]),
                          (["--from=nothere", "--to=*/libnever.so"], ["--from=nothere matches no library that was loaded"]),
                          (["--from", "nothere", "-t", "neither"], ["--from=nothere matches", "--to=neither matches"]),
                          (["--from=libouter.*", "--to=libinner.*"], [])):
        result = shop.run([program], options=options)
        equal(result.returncode, plain.returncode, f"exit status with {options}")
        lines = result.stderr.splitlines()[len(plain.stderr.splitlines()):]
        check(len(lines) == len(told) and all(line.startswith("spwalk imports: " + text) for line, text in zip(lines, told)),
              f"{options}: {lines}")
        check(result.report is not None, "the report is made")


def many_constructors(shop):
    source, user = shop.folder / "constructors.c", shop.folder / "uses-constructors.c"
    source.write_text("long built;\n" + "".join(f"__attribute__((constructor)) static void build_{i}(void) {{ built++; }}\n" for i in range(40)) +
                      "int constructed(void)\n{\n    return built;\n}\n")
    user.write_text("int constructed(void);\nint main(void)\n{\n    return constructed() != 40;\n}\n")
    shop.build("libconstructors.so", [source], "-shared", "-fPIC", "-Wl,-soname,libconstructors.so")
    program = shop.build("uses-constructors", [user], f"-L{shop.folder}", "-lconstructors", f"-Wl,-rpath,{shop.folder}")
    result = shop.run([program])
    equal(result.returncode, 0, "exit status")
    item = library(result.report, "libconstructors.so")
    # The compiler's own are _init and frame_dummy.
    equal(len(item["constructors"]) + item["constructors_not_named"] + item["compiler_constructors"], 42, f"constructors {item}")
    text = subprocess.run([shop.spwalk, "imports", "--", program], capture_output=True, text=True).stderr
    check(re.search(r"^constructors of libconstructors\.so: build_0, .* and 26 more$", text, re.M), text)


def counts(shop):
    report = shop.run([build(shop)]).report
    libraries = report["programs"][0]["libraries"]
    equal([item["calls"] for item in libraries], sorted((item["calls"] for item in libraries), reverse=True), "order")
    late = library(report, "liblate.so")
    equal((late["calls"], late["functions_called"], late["functions_imported"]), (10, 1, 2), "liblate.so")
    equal({row["name"]: row["calls"] for row in late["imports"]}, {"late_f": 10, "late_g": 0}, "rows, that of 0 too")


def symbol_lists(shop):
    program = build(shop)
    folder = shop.folder / "lists"
    folder.mkdir(exist_ok=True)
    shop.run([program], options=["--symbol-lists", str(folder)])
    lists = {path.name: sorted(path.read_text().split("\n")) for path in folder.iterdir()}
    equal(lists, {"libnever.so.symbols": ["", "never_f", "never_g"], "liblate.so.symbols": ["", "late_f", "late_g"],
                  "libouter.so.symbols": ["", "outer_f"]}, "lists")


def forms(shop):
    program = build(shop)
    text = subprocess.run([shop.spwalk, "imports", "--", program], capture_output=True, text=True)
    for line in (r"^ +10 +1/2 +[\d.]+ ms  liblate\.so$", r"^ +0 +0/2 +-  libnever\.so$",
                 r"^ +never called: safe to load lazily$", r"^first call into liblate\.so: late_f by program, after [\d.]+ ms",
                 r"^    #0  who_forces_it\+0x[0-9a-f]+ \(program\)$", r"^constructors of libconstructor\.so: prepare_it$",
                 r"^    pointer_f of libpointer\.so, by program: its address is taken"):
        check(re.search(line, text.stderr, re.M), f"{line} is not in\n{text.stderr}")
    equal((text.returncode, text.stdout), (0, ""), "the program's own")
    functions = subprocess.run([shop.spwalk, "imports", "-F", "--", program], capture_output=True, text=True).stderr
    check(re.search(r"^ +10  late_f, by program$", functions, re.M), functions)
    check(re.search(r"^ +variable  data_variable, by program$", functions, re.M), functions)
    table = subprocess.run([shop.spwalk, "imports", "--format", "csv", "--", program], capture_output=True, text=True).stderr
    rows = {row["library"]: row for row in csv.DictReader(table.splitlines())}
    equal((rows["liblate.so"]["calls"], rows["liblate.so"]["verdict"]), ("10", "called-late"), "CSV")
    check("libouter.so" in rows["libinner.so"]["reasons"], "reasons in CSV")
    table = subprocess.run([shop.spwalk, "imports", "-F", "--format=csv", "--", program], capture_output=True, text=True).stderr
    rows = {row["symbol"]: row for row in csv.DictReader(table.splitlines())}
    equal((rows["late_f"]["calls"], rows["late_f"]["user"], rows["data_variable"]["type"]), ("10", "program", "variable"), "CSV")


def refused(shop, what, command, options=(), text=""):
    """Exit status 2 and one line, and neither a report nor the program's output."""
    output = shop.folder / "refused.txt"
    if "-o" not in options:
        options = [*options, "-o", str(output)]
    result = subprocess.run([shop.spwalk, "imports", *options, "--", *command], capture_output=True, text=True)
    equal((result.returncode, result.stdout), (2, ""), f"{what}: {result.stderr}")
    check(re.fullmatch(r"spwalk imports: [^\n]+\n", result.stderr), f"one line: {result.stderr!r}")
    check(text in result.stderr, result.stderr)


def refusals(shop):
    main = shop.folder / "main.c"
    main.write_text("int main(void) { return 0; }\n")
    normal = shop.build("normal", [main])
    refused(shop, "static", [shop.build("static", [main], "-static")], text="statically linked")
    refused(shop, "static PIE", [shop.build("static-pie", [main], "-static-pie")], text="statically linked")
    refused(shop, "no such program", ["no-such-program-anywhere"], text="PATH")
    refused(shop, "no such path", [str(shop.folder / "none")], text="No such file")
    refused(shop, "a folder", [str(shop.folder)], text="not a program")
    refused(shop, "text", [str(main)], text="Permission denied")
    os.chmod(main, 0o755)
    refused(shop, "executable text", [str(main)], text="neither an ELF program nor a script")
    script = shop.folder / "script"
    script.write_text(f"#!{shop.path('static')}\n")
    os.chmod(script, 0o755)
    refused(shop, "a script of a static interpreter", [str(script)], text="statically linked")
    if os.geteuid() == 0:
        other = shop.path("setuid")
        shutil.copy(normal, other)
        os.chown(other, 65534, 65534)
        os.chmod(other, 0o755 | stat.S_ISUID)
        refused(shop, "setuid", [other], text="privileges")
    refused(shop, "no program", [], text="no PROGRAM")
    refused(shop, "unknown option", [normal], ["--no-such-option"])
    refused(shop, "format", [normal], ["--format=xml"], text="xml")
    refused(shop, "start-up", [normal], ["--start-up=x"], text="milliseconds")
    refused(shop, "empty pattern", [normal], ["--from="], text="pattern")
    refused(shop, "output", [normal], ["-o", "/no/such/folder/file"], text="/no/such/folder/file")
    refused(shop, "symbol lists", [normal], ["-s", "/no/such/folder"], text="/no/such/folder")
    limited = subprocess.run(["sh", "-c", f"ulimit -f 1000; exec {shop.spwalk} imports -- {normal}"], capture_output=True, text=True)
    equal((limited.returncode, limited.stderr.count("\n")), (2, 1), f"with ulimit -f: {limited.stderr}")
    left = [path for path in pathlib.Path("/dev/shm").glob("spwalk-imports.*") if path.stat().st_uid == os.geteuid()]
    equal([path for path in left if not any(path.iterdir())], [], "folders left behind")


def commands_alike(shop):
    """Each command has its --help, the version and one line for what it does not know; a full disk is told."""
    def spwalk(*arguments, stdout=subprocess.PIPE):
        return subprocess.run([shop.spwalk, *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    commands = re.findall(r"^  (\w+) ", spwalk("--help").stdout, re.M)
    equal(set(commands), {"frames", "imports", "leaks", "map", "symbolize"}, "commands")
    version = spwalk("--version").stdout
    for command in commands:
        for option in ("--help", "-h"):
            result = spwalk(command, option)
            equal((result.returncode, result.stderr), (0, ""), f"{command} {option}")
            check(result.stdout.startswith(f"usage: spwalk {command} "), result.stdout)
        for option in ("--version", "-V"):
            equal((spwalk(command, option).returncode, spwalk(command, option).stdout), (0, version), f"{command} {option}")
        result = spwalk(command, "--no-such-option")
        equal((result.returncode, result.stdout), (2, ""), f"{command}, unknown option")
        check(re.fullmatch(rf"spwalk {command}: '--no-such-option' [^\n]*; see spwalk {command} --help\n", result.stderr), result.stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        for arguments in (["--help"], ["--version"], ["imports", "--help"]):
            result = spwalk(*arguments, stdout=full)
            equal((result.returncode, result.stderr.count("\n")), (2, 1), f"{arguments} to a full disk: {result.stderr}")


def script(shop):
    """A script is run by its interpreter, which is what is counted."""
    text = shop.folder / "script.sh"
    text.write_text("#!/bin/sh\necho $1\nexit 9\n")
    os.chmod(text, 0o755)
    result = shop.run([str(text), "argument"])
    equal((result.returncode, result.stdout), (9, "argument\n"), "result")
    check(os.path.basename(result.report["programs"][0]["program"]) in ("dash", "bash"), "the interpreter")


def main():
    tests = Tests()
    with Workshop(sys.argv[1]) as shop:
        for name, flags in (("lazy", ["-Wl,-z,lazy"]), ("now", ["-Wl,-z,now"]), ("no PLT", ["-fno-plt"])):
            tests.run(f"verdicts, {name}", verdicts, shop, flags)
        tests.run("copy relocations", copied, shop)
        tests.run("stack and time of the first call", first_call, shop)
        tests.run("--start-up", start_up, shop)
        tests.run("counts and order", counts, shop)
        tests.run("what --to and --from leave out", left_out, shop)
        tests.run("patterns that match nothing", unmatched, shop)
        tests.run("more constructors than are named", many_constructors, shop)
        tests.run("symbol lists", symbol_lists, shop)
        tests.run("text and CSV", forms, shop)
        tests.run("all commands alike", commands_alike, shop)
        tests.run("a script", script, shop)
        tests.run("what is refused", refusals, shop)
    tests.done()


if __name__ == "__main__":
    main()
