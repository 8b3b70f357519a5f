# SPDX-License-Identifier: MIT
"""strange_test.py SPWALK: programs and surroundings that are out of the ordinary."""

import csv
import os
import pathlib
import re
import signal
import subprocess
import sys

from harness import Tests, Workshop, calls, check, equal, library, printed_counts


def places(shop, how, flags):
    program = shop.build("strange", ["strange.c"], "-O1", "-g", "-D_GNU_SOURCE", "-pthread", *flags, *shop.target_flags())
    result = shop.run([program, how])
    equal((result.returncode, result.stderr), (0, ""), "exit status and standard error")
    equal(calls(result.report, "libtarget.so", "target_plain"), printed_counts(result.stdout)["target_plain"], "calls")
    first = library(result.report, "libtarget.so")["first_call"]
    equal(first["stack"][0]["frame"].split("+")[0], "call", "innermost frame")
    equal(first["stack_is_cut"], how == "deep", "marked as cut")


def many(shop, count, flags):
    """More imports than a small program ever has: all are counted, those never called too."""
    source, user = shop.folder / "many.c", shop.folder / "uses-many.c"
    source.write_text("".join(f"int many_{i}(void) {{ return 1; }}\n" for i in range(count)))
    user.write_text("".join(f"int many_{i}(void);\n" for i in range(count)) +
                    "int main(int argc, char **argv)\n{\n    int sum = 0;\n    for (int i = 0; i < 3; i++) {\n" +
                    "".join(f"        sum += many_{i}();\n" for i in range(count - 1)) +
                    f"    }}\n    return argc > 9 ? many_{count - 1}() : sum != {3 * (count - 1)};\n}}\n")
    shop.build("libmany.so", [source], "-O0", "-shared", "-fPIC", "-Wl,-soname,libmany.so")
    program = shop.build("uses-many", [user], "-O0", *flags, f"-L{shop.folder}", "-lmany", f"-Wl,-rpath,{shop.folder}")
    result = shop.run([program])
    equal(result.returncode, 0, "exit status")
    item = library(result.report, "libmany.so")
    equal((item["calls"], item["functions_called"], item["functions_imported"]), (3 * (count - 1), count - 1, count), "counts")
    equal({row["calls"] for row in item["imports"]}, {0, 3}, "each")


HELPER = "int helper(void)\n{\n    return %d;\n}\n"
PLUGIN = "int helper(void);\nint run(int count)\n{\n    int sum = 0;\n    while (count--)\n        sum += helper();\n    return sum;\n}\n"
OPENER = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        int mode = (strchr(argv[i], 'n') ? RTLD_NOW : RTLD_LAZY) | (strchr(argv[i], 'd') ? RTLD_DEEPBIND : 0);
        void *plugin = dlopen(argv[i + 1], mode);
        if (!plugin)
            return puts(dlerror()), 1;
        printf("%d\n", ((int (*)(int))dlsym(plugin, "run"))(10 * i));
        if (strchr(argv[i], 'c'))
            dlclose(plugin);
    }
    return 0;
}
"""


def build_plugins(shop, *program_flags):
    """Plugins a and b, each of which needs a library of its own with a function of the same name."""
    for number, name in enumerate("ab", 1):
        (shop.folder / f"helper-{name}.c").write_text(HELPER % number)
        shop.build(f"libhelper-{name}.so", [shop.folder / f"helper-{name}.c"], "-shared", "-fPIC", f"-Wl,-soname,libhelper-{name}.so")
        (shop.folder / f"plugin-{name}.c").write_text(PLUGIN)
        shop.build(f"plugin-{name}.so", [shop.folder / f"plugin-{name}.c"], "-shared", "-fPIC", "-Wl,-z,lazy", f"-L{shop.folder}",
                   f"-lhelper-{name}", f"-Wl,-rpath,{shop.folder}")
    (shop.folder / "opener.c").write_text(OPENER)
    return shop.build("opener", [shop.folder / "opener.c"], f"-L{shop.folder}", f"-Wl,-rpath,{shop.folder}", *program_flags)


def helpers(shop, program, *arguments):
    result = shop.run([program, *arguments], options=["--all", "--to", "libhelper-*"])
    equal(result.returncode, 0, result.stdout + result.stderr)
    found = {}
    for item in result.report["programs"][0]["libraries"]:
        for row in item["imports"]:
            if row["calls"]:
                found[row["user"], item["name"]] = row["calls"]
    return found


def same_names(shop):
    """What a library that was opened needs is its own."""
    program = build_plugins(shop)
    paths = shop.path("plugin-a.so"), shop.path("plugin-b.so")
    for mode in ("l", "n", "lc"):
        equal(helpers(shop, program, mode, paths[0], mode, paths[1]),
              {("plugin-a.so", "libhelper-a.so"): 10, ("plugin-b.so", "libhelper-b.so"): 30}, mode)


def deep_binding(shop):
    """RTLD_DEEPBIND: what it was bound to is what counts, not what comes first."""
    program = build_plugins(shop, "-Wl,--no-as-needed", "-lhelper-a")
    plugin = shop.path("plugin-b.so")
    for mode, name in (("l", "a"), ("ld", "b"), ("n", "a"), ("nd", "b"), ("ldc", "b")):
        equal(helpers(shop, program, mode, plugin, mode, plugin), {("plugin-b.so", f"libhelper-{name}.so"): 40}, mode)


def without_status(shop):
    """SIGCHLD may be ignored by who starts the tool."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    process = subprocess.Popen([shop.spwalk, "imports", "-o", "/dev/null", "--", "/bin/sh", "-c", "trap; exit 7"], restore_signals=False)
    signal.signal(signal.SIGCHLD, before)
    equal(process.wait(), 7, "exit status")


def folder_of_counts(shop):
    """A relative TMPDIR is where it was when the program changes its folder; one without room is not used."""
    script = shop.folder / "moves.sh"
    script.write_text("cd /\n/bin/true\n/bin/true\n")
    (shop.folder / "tmp").mkdir(exist_ok=True)
    output = shop.path("moved")
    result = subprocess.run([shop.spwalk, "imports", "--follow", "-o", output, "--", "/bin/sh", str(script)], cwd=shop.folder,
                            env={**os.environ, "TMPDIR": "tmp"}, capture_output=True, text=True)
    equal((result.returncode, result.stderr), (0, ""), "result")
    check(re.search(r"/true: process \d+, .* run 2 times", pathlib.Path(output).read_text()), "both are counted")
    equal(list((shop.folder / "tmp").iterdir()), [], "left behind")


def no_room(shop):
    small = shop.folder / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)], capture_output=True).returncode != 0:
        print("# not as root: no file system can be mounted that has no room")
        return
    try:
        result = shop.run(["/bin/ls", str(small)], environment={**os.environ, "TMPDIR": str(small)})
        equal((result.returncode, result.stdout), (0, ""), "exit status, and what is in it while it is counted")
        check(result.report["programs"], "counted elsewhere")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def outputs(shop):
    """A report is whole or is not there, a link stays a link, and a reader that goes away leaves nothing behind."""
    text = shop.folder / "text"
    link, output = shop.folder / "link", shop.folder / "output"
    link.symlink_to(output)
    subprocess.run([shop.spwalk, "imports", "-o", str(link), "--", "/bin/true"], check=True)
    check(link.is_symlink() and "/true: process" in output.read_text(), "written through the link")
    with open(text, "wb") as file:
        subprocess.run([shop.spwalk, "imports", "-o", "/dev/stdout", "--", "/bin/true"], check=True, stdout=file)
    check("/true: process" in text.read_text() and os.path.islink("/dev/stdout"), "/dev/stdout")
    (shop.folder / "not-run").write_bytes(b"\x7fELF")
    os.chmod(shop.folder / "not-run", 0o755)
    before = output.read_text()
    subprocess.run([shop.spwalk, "imports", "-o", str(output), "--", shop.path("not-run")], capture_output=True)
    equal(output.read_text(), before, "a program that cannot be run leaves the file alone")
    reader, writer = os.pipe()
    os.close(reader)
    folders = set(pathlib.Path("/dev/shm").glob("spwalk-imports.*"))
    subprocess.run([shop.spwalk, "imports", "--all", "--functions", "--", "/bin/true"], stderr=writer)
    os.close(writer)
    equal([path for path in set(pathlib.Path("/dev/shm").glob("spwalk-imports.*")) - folders if not any(path.iterdir()) or
           (path / "options").exists() and not os.path.exists(f"/proc/{next(iter(path.glob('*.report'))).name.split('-')[0]}")], [],
          "left behind")
    full = subprocess.run([shop.spwalk, "imports", "-o", "/dev/full", "--", "/bin/true"], capture_output=True, text=True)
    equal((full.returncode, full.stderr), (2, "spwalk imports: /dev/full: cannot write: No space left on device\n"), "/dev/full")


def damaged(shop):
    """A program may write where it should not: then there is no report, and one line."""
    for offset, content in ((0, b"spwalk"), (48, b"\xff" * 8), (60, b"\0" * 4), (68, b"\xff" * 4)):
        script = shop.folder / "damages.py"
        script.write_text("import glob, os\nfor path in glob.glob(os.environ['TMPDIR'] + '/spwalk-imports.*/*.report'):\n"
                          f"    os.pwrite(os.open(path, os.O_WRONLY), {content!r}, {offset})\n")
        folder = shop.folder / "damage"
        folder.mkdir(exist_ok=True)
        result = subprocess.run([shop.spwalk, "imports", "-o", shop.path("none"), "--", sys.executable, "-S", str(script)],
                                env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True)
        equal(result.returncode, 2, f"exit status, damage at {offset}")
        check(re.fullmatch(r"spwalk imports: .*: the counted program left a damaged report\n", result.stderr), result.stderr)
        equal(list(folder.iterdir()), [], "left behind")


def little_memory(shop):
    """A limit of the address space leaves room for fewer blocks, or for none: then nothing is counted, and that is said."""
    def limited(kilobytes, *options):
        command = f"ulimit -v {kilobytes}; exec {shop.spwalk} imports -o {shop.path('limited')} {' '.join(options)} -- /bin/true"
        return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    for options in ((), ("--all",)):
        result = limited(250_000, *options)
        equal((result.returncode, result.stderr), (0, ""), f"250 MB {options}")
        check("/true: process" in (shop.folder / "limited").read_text(), "counted")
    result = limited(30_000, "--all")
    equal(result.returncode, 2, result.stderr)
    check(re.fullmatch("spwalk imports: [^\n]*nothing was counted[^\n]*\n", result.stderr), result.stderr)


def quoted(shop):
    """A constructor's name may have quotation marks in it."""
    source = shop.folder / "quote.cc"
    source.write_text('long seen;\n__attribute__((constructor)) long double operator"" _mark(unsigned long long)\n{\n    return ++seen;\n}\n'
                      'extern "C" int quote(void)\n{\n    return 1;\n}\n')
    shop.build("libquote.so", [source], "-shared", "-fPIC", compiler="g++")
    user = shop.folder / "uses-quote.c"
    user.write_text("int quote(void);\nint main(void)\n{\n    return quote() - 1;\n}\n")
    program = shop.build("uses-quote", [user], f"-L{shop.folder}", "-lquote", f"-Wl,-rpath,{shop.folder}")
    table = subprocess.run([shop.spwalk, "imports", "--format=csv", "--", program], capture_output=True, text=True).stderr
    rows = {row["library"]: row for row in csv.DictReader(table.splitlines(), strict=True)}
    check('(operator"" _mark(unsigned long long))' in rows["libquote.so"]["reasons"], rows["libquote.so"]["reasons"])


def refused(shop):
    main = shop.folder / "main.c"
    main.write_text("int main(void)\n{\n    return 0;\n}\n")
    musl = shop.build("musl", [main], compiler="musl-gcc")
    whole = pathlib.Path(shop.build("whole", [main])).read_bytes()
    (shop.folder / "cut").write_bytes(whole[:100])
    (shop.folder / "wide").write_bytes(whole[:4] + b"\x01" + whole[5:])
    (shop.folder / "empty").write_bytes(b"")
    (shop.folder / "no-interpreter").write_text("#!\n")
    os.mkfifo(shop.folder / "pipe")
    for name in ("cut", "wide", "empty", "no-interpreter", "pipe"):
        os.chmod(shop.folder / name, 0o755)
    for name, text in ((musl, "ld-musl"), (shop.path("cut"), "damaged"), (shop.path("wide"), "not a program for x86-64"),
                       (shop.path("empty"), "neither"), (shop.path("no-interpreter"), "neither"), (shop.path("pipe"), "not a program"),
                       ("", "no such program")):
        result = subprocess.run([shop.spwalk, "imports", "--", name], capture_output=True, text=True, timeout=60)
        equal((result.returncode, result.stdout), (2, ""), name)
        check(re.fullmatch(r"spwalk imports: [^\n]+\n", result.stderr) and text in result.stderr, f"{name}: {result.stderr!r}")
    result = subprocess.run([shop.spwalk, "imports", "-o", "", "--", "/bin/true"], capture_output=True, text=True)
    equal((result.returncode, result.stderr), (2, "spwalk imports: an output file needs a name\n"), "-o ''")


def main():
    tests = Tests()
    with Workshop(sys.argv[1]) as shop:
        shop.build_target()
        for how in ("forks", "clones", "vforks", "coroutine", "alternate stack", "small thread", "deep"):
            for binding, flags in (("now", ["-Wl,-z,now"]), ("lazy", ["-Wl,-z,lazy"])):
                tests.run(f"{how}, {binding}", places, shop, how, flags)
        tests.run("5,000 imports, lazy", many, shop, 5000, ["-Wl,-z,lazy"])
        tests.run("20,000 imports, no PLT", many, shop, 20000, ["-fno-plt"])
        tests.run("two libraries with a function of the same name", same_names, shop)
        tests.run("RTLD_DEEPBIND", deep_binding, shop)
        tests.run("SIGCHLD ignored", without_status, shop)
        tests.run("TMPDIR, relative", folder_of_counts, shop)
        tests.run("TMPDIR without room", no_room, shop)
        tests.run("outputs", outputs, shop)
        tests.run("little memory", little_memory, shop)
        tests.run("a damaged report", damaged, shop)
        tests.run("quotation marks in CSV", quoted, shop)
        tests.run("what is refused", refused, shop)
    tests.done()


if __name__ == "__main__":
    main()
