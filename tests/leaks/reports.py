# SPDX-License-Identifier: MIT
"""What the tests of spwalk leaks share: building programs, running them, and what their reports say."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "imports"))
from harness import check, equal  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parent
SPWALK = str(pathlib.Path(sys.argv[1]).resolve())
ROOT = SOURCE.parent.parent
LIBRARY = pathlib.Path(SPWALK).parent.parent / "leaks"
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="spwalk-leaks-test."))
LIBRARY_FLAGS = [f"-I{ROOT / 'include'}", f"-L{LIBRARY}", "-lspwalk-leaks", f"-Wl,-rpath,{LIBRARY}"]


def build(name, source, *flags):
    command = ["g++" if source.endswith(".cc") else "gcc", "-w", "-g", "-o", str(FOLDER / name), str(SOURCE / source), *flags]
    result = subprocess.run(command, capture_output=True, text=True)
    check(result.returncode == 0, result.stderr)


def run(*command, options=(), status=7):
    output = FOLDER / "report.json"
    output.unlink(missing_ok=True)
    result = subprocess.run([SPWALK, "leaks", "--format=json", "-o", str(output), *options, "--", str(FOLDER / command[0]),
                             *command[1:]], capture_output=True, text=True, timeout=120)
    equal(result.returncode, status, f"exit status ({result.stderr})")
    equal(result.stderr, "", "stderr")
    document = json.loads(output.read_text())
    return document["reports"], result.stdout


def functions(stack):
    """The names up to main, or all."""
    names = [frame["function"] for frame in stack]
    return names[:names.index("main") + 1] if "main" in names else names


def leaks(report):
    """{(class, stack): [count, bytes]}"""
    found = {}
    for leak in report["leaks"]:
        key = leak["class"].split()[0], "<".join(name or "?" for name in functions(leak["stack"]))
        sums = found.setdefault(key, [0, 0])
        sums[0] += leak["count"]
        sums[1] += leak["bytes"]
    return found
