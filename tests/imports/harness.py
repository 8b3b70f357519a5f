# SPDX-License-Identifier: MIT
"""What the tests of spwalk imports share: building programs, running them counted, and TAP."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def equal(actual, expected, what):
    check(actual == expected, f"{what}: {actual!r}, expected {expected!r}")


class Tests:
    """Runs functions as TAP cases."""

    def __init__(self):
        self.count = 0
        self.failures = 0

    def run(self, name, function, *arguments):
        self.count += 1
        try:
            function(*arguments)
            print(f"ok {self.count} - {name}", flush=True)
        except (Failed, subprocess.SubprocessError, OSError, KeyError, ValueError) as error:
            self.failures += 1
            detail = getattr(error, "stderr", "") or ""
            text = f"{type(error).__name__}: {error}\n{detail}".rstrip()
            print("".join(f"# {line}\n" for line in text.splitlines()) + f"not ok {self.count} - {name}", flush=True)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failures else 0)


class Workshop:
    """A folder for built programs, and the spwalk under test."""

    def __init__(self, spwalk):
        self.spwalk = str(pathlib.Path(spwalk).resolve())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="spwalk-imports-test."))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, name):
        return str(self.folder / name)

    def build(self, output, sources, *flags, compiler="gcc"):
        """Compiles into the folder; returns the path."""
        command = [compiler, "-w", "-o", self.path(output), *(str(SOURCE / source) for source in sources), *flags]
        result = subprocess.run(command, capture_output=True, text=True)
        check(result.returncode == 0, f"{' '.join(command)}\n{result.stderr}")
        return self.path(output)

    def build_target(self):
        self.build("libtarget.so", ["target.c"], "-O1", "-g", "-shared", "-fPIC", f"-Wl,--version-script={SOURCE / 'target.map'}",
                   "-Wl,-soname,libtarget.so")

    def target_flags(self):
        return [f"-L{self.folder}", "-Wl,--no-as-needed", "-ltarget", f"-Wl,-rpath,{self.folder}"]

    def run(self, command, options=(), environment=None, stdin=None):
        """Runs `command` counted. Returns the finished process, with its report as .report (None where there is none)."""
        output = self.path("report.json")
        if os.path.exists(output):
            os.unlink(output)
        full = [self.spwalk, "imports", "--functions", "--format=json", "-o", output, *options, "--", *command]
        result = subprocess.run(full, capture_output=True, text=True, errors="replace", env=environment, stdin=stdin or subprocess.DEVNULL,
                                timeout=300)
        text = pathlib.Path(output).read_text() if os.path.exists(output) else ""
        result.report = json.loads(text) if text else None
        return result


def library(report, name, program=0):
    for item in report["programs"][program]["libraries"]:
        if item["name"] == name:
            return item
    raise Failed(f"no row for {name}")


def calls(report, name, function, program=0):
    """The calls of a function of a library over all users; None where it was not counted."""
    rows = [row for row in library(report, name, program)["imports"] if row["name"] == function]
    check(rows, f"no row for {function}")
    counts = [row["calls"] for row in rows]
    return None if None in counts else sum(counts)


def printed_counts(text):
    """The "NAME COUNT" lines that a test program prints."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines() if len(line.split()) == 2}
