# SPDX-License-Identifier: MIT
"""programs_test.py SPWALK: programs of Debian run under spwalk leaks as they do alone; programs that valgrind finds clean
have no report."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "imports"))
from harness import Tests, check, equal  # noqa: E402

SPWALK = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="spwalk-leaks-test."))
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": str(FOLDER)}
TEXT = FOLDER / "text"
TEXT.write_text("".join(f"line {i} of {i * i % 97}\n" for i in range(2000)))

# What valgrind finds no lost block in. sh is dash.
CLEAN = [["cat", TEXT], ["grep", "-c", "of 9", TEXT], ["sed", "s/line/row/;5q", TEXT], ["wc", TEXT],
         ["gzip", "-c", TEXT], ["xz", "-c", TEXT], ["cut", "-d", " ", "-f2", TEXT], ["sha256sum", TEXT],
         ["od", "-c", TEXT], ["find", "/usr/share/doc/libc6"], ["head", "-n3", TEXT], ["env"], ["uniq", "-c", TEXT],
         ["diff", TEXT, "/etc/passwd"], ["ls", "-l", "/usr/share/doc/libc6"], ["nl", TEXT]]
# These keep or lose blocks of their own; their output and status must be as they are.
OTHER = [["sh", "-c", "echo $((6 * 7)); (echo sub); exit 3"], ["bash", "-c", "for i in 1 2 3; do echo $(echo $i); done; exit 4"],
         ["perl", "-e", "print join(',', sort map { $_ * 7 % 11 } 1 .. 20), qq(\\n); exit 5"],
         ["python3", "-c", "import json, threading; print(json.dumps({'a': [1, 2]})); raise SystemExit(6)"],
         ["git", "--version"], ["openssl", "version"]]


def run(command, **arguments):
    return subprocess.run([str(word) for word in command], capture_output=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=300,
                          cwd=FOLDER, **arguments)


def leaks(command):
    output = FOLDER / "report.json"
    output.unlink(missing_ok=True)
    result = run([SPWALK, "leaks", "--format=json", "-o", output, "--", *command])
    check(output.exists(), result.stderr.decode(errors="replace"))
    return result, json.loads(output.read_text())["reports"]


def same(command):
    alone, (watched, reports) = run(command), leaks(command)
    equal((watched.returncode, watched.stdout, watched.stderr), (alone.returncode, alone.stdout, alone.stderr), "as alone")
    return reports


def valgrind(command):
    """Definitely and indirectly lost: [[bytes, blocks], [bytes, blocks]], and the exact addresses are valgrind's own."""
    result = run(["valgrind", "--leak-check=full", "--log-file=" + str(FOLDER / "log"), *command])
    text = (FOLDER / "log").read_text(errors="replace")
    numbers = []
    for name in ("definitely", "indirectly"):
        found = re.search(name + r" lost: ([\d,]+) bytes in ([\d,]+) blocks", text)
        numbers.append([int(word.replace(",", "")) for word in found.groups()] if found else [0, 0])
    return result, numbers


def clean(command):
    _, numbers = valgrind(command)
    reports = same(command)
    equal(numbers, [[0, 0], [0, 0]], "valgrind's")
    for report in reports:
        equal((report["leaks"], report["errors"]), ([], []), "ours")


tests = Tests()
for words in CLEAN:
    if shutil.which("valgrind"):
        tests.run("clean: " + " ".join(map(os.path.basename, map(str, words))), clean, words)
for words in OTHER:
    tests.run("as alone: " + words[0], same, words)
shutil.rmtree(FOLDER)
tests.done()
