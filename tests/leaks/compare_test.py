# SPDX-License-Identifier: MIT
"""compare_test.py SPWALK: programs that leak, block by block beside valgrind's memcheck and LeakSanitizer: the same class,
stack, count and bytes. Where one of them differs by its nature, what it finds is written down here, with the reason."""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "imports"))
from harness import Tests, check, equal  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent
SPWALK = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="spwalk-leaks-test."))
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(FOLDER)}
# Functions that hand out a block: frames of the tools' own, or of the C library within one call of the program.
ALLOCATORS = re.compile(r"^(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|valloc|pvalloc|reallocarray|operator new.*"
                        r"|strdup|__strdup|strndup|__strndup|__interceptor_\w+|(__)?v?asprintf(_chk|_internal)?|_Zn\w+)$")


def run(command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", timeout=300, cwd=FOLDER,
                          stdin=subprocess.DEVNULL, env={**ENVIRONMENT, **more})


def key(names):
    """From the function that calls an allocator to main; a template's or an operator's arguments are spelt by each in its own way."""
    names = [re.sub(r"\(.*|<.*", "", name or "?") for name in names]
    names = [re.sub(r"(\w+)::\1$", r"\1", name) for name in names]
    while names and ALLOCATORS.match(names[0]):
        names.pop(0)
    return "<".join(names[:names.index("main") + 1] if "main" in names else names[:1])


def add(found, lost, names, count, size):
    sums = found[lost, key(names)]
    sums[0] += count
    sums[1] += size


def ours(command):
    output = FOLDER / "report.json"
    run([SPWALK, "leaks", "--format=json", "-o", output, "--", *command])
    found = collections.defaultdict(lambda: [0, 0])
    reports = json.loads(output.read_text())["reports"]
    processes = {report["process"] for report in reports}
    [report] = [report for report in reports if report["parent"] not in processes]
    for leak in report["leaks"]:
        add(found, leak["class"].split()[0], [frame["function"] for frame in leak["stack"]], leak["count"], leak["bytes"])
    return dict(found)


def direct_bytes(error):
    """Of a definite leak valgrind also counts what only it points to: "624 (24 direct, 600 indirect) bytes"."""
    direct = re.search(r"\(([\d,]+) direct", error.findtext("xwhat/text"))
    return int(direct[1].replace(",", "") if direct else error.findtext("xwhat/leakedbytes"))


def valgrind(command):
    output = FOLDER / "valgrind.xml"
    run(["valgrind", "--leak-check=full", "--num-callers=64", "--show-leak-kinds=definite,indirect", "--child-silent-after-fork=yes", "--xml=yes", f"--xml-file={output}", *command])
    found = collections.defaultdict(lambda: [0, 0])
    for error in xml.etree.ElementTree.parse(output).getroot().iter("error"):
        kind = error.findtext("kind")
        if kind in ("Leak_DefinitelyLost", "Leak_IndirectlyLost"):
            add(found, "definitely" if "Definitely" in kind else "indirectly", [frame.findtext("fn") for frame in error.find("stack")],
                int(error.findtext("xwhat/leakedblocks")), direct_bytes(error))
    return dict(found)


def sanitizer(command):
    """Of a program built with -fsanitize=leak."""
    text = run([f"{command[0]}-lsan", *command[1:]], LSAN_OPTIONS="fast_unwind_on_malloc=0:malloc_context_size=64").stderr
    found = collections.defaultdict(lambda: [0, 0])
    for part in re.split(r"\n\n", text):
        head = re.search(r"(Direct|Indirect) leak of (\d+) byte\(s\) in (\d+) object\(s\)", part)
        if head:
            add(found, "definitely" if head[1] == "Direct" else "indirectly", re.findall(r"#\d+ 0x\w+ in ([^\n]*?)(?: [/.]| \(|\n|$)", part),
                int(head[3]), int(head[2]))
    return dict(found)


def same(tool, command, theirs_alone=(), ours_alone=()):
    mine, theirs = ours(command), tool(command)
    check(mine, "nothing is lost")
    for name, found in theirs_alone:
        equal(theirs.pop(name, None), found, f"theirs of {name}")
    for name, found in ours_alone:
        equal(mine.pop(name, None), found, f"ours of {name}")
    equal(mine, theirs, "ours, and theirs")


def total(found):
    return {lost: [sum(values[i] for (other, _), values in found.items() if other == lost) for i in range(2)]
            for lost in ("definitely", "indirectly")}


def same_total(command):
    """Programs whose symbols are not there: by class alone."""
    mine, theirs = ours(command), valgrind(command)
    check(mine, "nothing is lost")
    equal(total(mine), total(theirs), "ours, and theirs")


def build(name, source, *flags):
    compiler = "g++" if source.endswith(".cc") else "gcc"
    for suffix, more in (("", []), ("-lsan", ["-fsanitize=leak"])):
        subprocess.run([compiler, "-w", "-g", "-O1", "-pthread", "-o", FOLDER / (name + suffix), SOURCE / source, *more, *flags], check=True)


if not shutil.which("valgrind"):
    print("1..0 # SKIP valgrind is not installed")
    sys.exit(0)
build("blocks", "blocks.c")
build("objects", "objects.cc")
build("libleaky1.so", "leaky.c", "-shared", "-fPIC", "-DFUNCTION=leak_first", "-DSIZE=601")
build("libleaky2.so", "leaky.c", "-shared", "-fPIC", "-DFUNCTION=leak_second", "-DSIZE=602")
LEAKY = [(("definitely", "leak_first<run_library<main"), [1, 601]), (("definitely", "leak_second<run_library<main"), [1, 602])]
# What the other finds alone, and what we do; and why.
DIFFERENCES = {
    # It names a stack at the end, when the library is no longer there.
    (valgrind, "library"): ([(("definitely", "?<run_library<main"), [2, 1203])], LEAKY),
    (sanitizer, "library"): ([(("definitely", "run_library<main"), [2, 1203])], LEAKY),
    # Of blocks that only point to each other it calls none definite.
    (sanitizer, "ring"): ([(("indirectly", "leak_ring<main"), [2, 80])],
                          [(("definitely", "leak_ring<main"), [1, 32]), (("indirectly", "leak_ring<main"), [1, 48])]),
    # It looks for leaks in exit, not in _exit.
    (sanitizer, "_exit"): ([], [(("definitely", "leak_malloc<main"), [1, 70])]),
    # The child's report, which is in the same place, has the parent's block of before the fork too.
    (sanitizer, "fork"): ([(("definitely", "leak_malloc<run_fork<main"), [4, 190])], [(("definitely", "leak_malloc<run_fork<main"), [2, 100])]),
}
# The case "each" is not here: valgrind 3.19 ends a program that calls pvalloc, LeakSanitizer one whose size for aligned_alloc
# is no multiple of the alignment.
CASES = {valgrind: ["simple", "realloc", "structure", "ring", "threads", "fork", "library", "ends", "_exit"],
         sanitizer: ["simple", "realloc", "structure", "ring", "threads", "fork", "library", "ends", "_exit"]}

tests = Tests()
for tool, cases in CASES.items():
    for name in cases:
        tests.run(f"{tool.__name__}: {name}", same, tool, [FOLDER / "blocks", name, FOLDER], *DIFFERENCES.get((tool, name), ()))
    tests.run(f"{tool.__name__}: C++", same, tool, [FOLDER / "objects", "each"])
for words in (["sort", "-t:", "-k3", "/etc/passwd"], ["tr", "a-z", "A-Z"], ["date", "-d", "@0"], ["expr", "6", "*", "7"]):
    tests.run("valgrind: " + words[0], same_total, words)
shutil.rmtree(FOLDER)
tests.done()
