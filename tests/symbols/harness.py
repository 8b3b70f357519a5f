# SPDX-License-Identifier: MIT
"""What the scripts here share: TAP, programs to be built, the tool to be run."""
import os
import subprocess
import sys
import tempfile

checks = 0
failures = 0


def check(is_right, what, detail=""):
    global checks, failures
    checks += 1
    if is_right:
        print(f"ok {checks} - {what}")
        return
    failures += 1
    print(f"not ok {checks} - {what}")
    for line in str(detail).splitlines():
        print(f"# {line}")


def equal(found, expected, what):
    check(found == expected, what, f"found    {found!r}\nexpected {expected!r}")


def finish():
    print(f"1..{checks}")
    sys.exit(1 if failures else 0)


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode(errors="surrogateescape")
        self.err = done.stderr.decode(errors="surrogateescape")

    def __repr__(self):
        return f"status {self.status}\nout: {self.out}\nerr: {self.err}"


def run(*command, text="", env=None):
    return Result(subprocess.run([str(part) for part in command], input=text.encode(errors="surrogateescape"),
                                 capture_output=True, env=None if env is None else {**os.environ, **env}))


def must(*command):
    """Runs what a test needs first: gcc, objcopy."""
    result = run(*command)
    if result.status != 0:
        print(f"Bail out! {' '.join(map(str, command))}: {result!r}".replace("\n", " "))
        sys.exit(99)
    return result


def refused(result, what, *words):
    """Exit status 2, one line that has all words, nothing on standard output."""
    one_line = result.err.count("\n") == 1 and result.err.startswith("spwalk")
    check(result.status == 2 and one_line and result.out == "" and all(word in result.err for word in words), what, result)


def folder():
    return tempfile.mkdtemp(prefix="spwalk-symbols-")


def symbols_of(path):
    """name -> (address, size) of the functions in .symtab."""
    found = {}
    for line in must("readelf", "-sW", path).out.splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND":
            found[words[7]] = (int(words[1], 16), int(words[2], 0))
    return found
