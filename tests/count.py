# SPDX-License-Identifier: MIT
"""Counts test cases for tests/run.

count.py FOLDER: FOLDER holds meson's testlog.json (a line a test) and, for each further part, NAME.part (its output) and
NAME.status (its exit status).

A test that prints TAP or Check's summary counts as many cases as it says it has; any other test is one case. A test
that crashed after its last case is one failure more. Exit status 77 is a skip, with the last line it printed as the
reason. Prints the failures and the skips, then "N passed, N failed, N skipped"; exits with 1 where any failed.
"""

import json
import pathlib
import re
import sys

TAP_PLAN = re.compile(r"^1\.\.(\d+)(?:\s*#\s*skip\S*\s*(.*))?$", re.I | re.M)
TAP_CASE = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*?)(?:\s*#\s*(skip|todo)\S*\s*(.*))?$", re.I | re.M)
CHECK_SUMMARY = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)$", re.M)
CHECK_FAILURE = re.compile(r"^\S+:\d+:[FE]:(.*)$", re.M)
TAP_BAIL = re.compile(r"^Bail out!\s*(.*)$", re.M)
PART_SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.M)
PART_SKIP = re.compile(r"^skipped: (.*)$", re.M)
SKIP_STATUS = 77


class Count:
    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []

    def fail(self, name, why):
        self.failures.append(f"{name}: {why}")

    def skip(self, name, why):
        self.skips.append(f"{name}: {why or 'no reason given'}")


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def add_tap(count, name, output, status):
    cases = list(TAP_CASE.finditer(output))
    failures = len(count.failures)
    for case in cases:
        failed, title, directive, why = case.groups()
        title = f"{name} / {title.strip()}"
        directive = (directive or "").lower()
        if directive == "skip":
            count.skip(title, why)
        elif failed and directive != "todo":
            count.fail(title, "not ok")
        else:
            count.passed += 1
    plan = TAP_PLAN.search(output)
    bail = TAP_BAIL.search(output)
    if bail:
        count.fail(name, f"bailed out: {bail[1]}")
    elif plan and int(plan[1]) == 0:
        count.skip(name, plan[2])
    elif not plan:
        count.fail(name, "ended before its plan")
    elif int(plan[1]) != len(cases):
        count.fail(name, f"planned {plan[1]} cases and ran {len(cases)}")
    if status not in (0, SKIP_STATUS) and len(count.failures) == failures:
        count.fail(name, f"exit status {status}")


def add_check(count, name, output, status):
    """A program may run several Check suites, each with a summary of its own."""
    failures = len(count.failures)
    broken = 0
    for checks, failed, errors in CHECK_SUMMARY.findall(output):
        count.passed += int(checks) - int(failed) - int(errors)
        broken += int(failed) + int(errors)
    for line in CHECK_FAILURE.findall(output)[:broken]:
        count.fail(name, line)
        broken -= 1
    for _ in range(broken):
        count.fail(name, "a case failed (no message)")
    if status != 0 and len(count.failures) == failures:
        count.fail(name, f"exit status {status}")


def add_meson_test(count, test):
    output = test.get("stdout", "")
    status = test.get("returncode", 1)
    if test["result"] == "TIMEOUT":
        count.fail(test["name"], "timed out")
    elif CHECK_SUMMARY.search(output):
        add_check(count, test["name"], output, status)
    elif TAP_PLAN.search(output) and TAP_CASE.search(output):
        add_tap(count, test["name"], output, status)
    elif status == SKIP_STATUS:
        count.skip(test["name"], last_line(output) or last_line(test.get("stderr", "")))
    elif test["result"] in ("OK", "EXPECTEDFAIL"):
        count.passed += 1
    else:
        count.fail(test["name"], f"exit status {status}")


def add_part(count, name, output, status):
    summary = PART_SUMMARY.search(last_line(output))
    if summary:
        passed, failed, skipped = map(int, summary.groups())
        reasons = PART_SKIP.findall(output)
        count.passed += passed
        for number in range(failed):
            count.fail(name, f"failure {number + 1} of {failed}, see above")
        for number in range(skipped):
            count.skip(name, reasons[number] if number < len(reasons) else "see above")
        if status != 0 and failed == 0:
            count.fail(name, f"exit status {status}")
    elif status == SKIP_STATUS:
        count.skip(name, last_line(output))
    elif status == 0:
        count.passed += 1
    else:
        count.fail(name, f"exit status {status}")


def main():
    folder = pathlib.Path(sys.argv[1])
    count = Count()
    log = folder / "testlog.json"
    if log.exists():
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            add_meson_test(count, json.loads(line))
    for part in sorted(folder.glob("*.part")):
        status = int(part.with_suffix(".status").read_text(encoding="ascii") or 1)
        add_part(count, part.stem, part.read_text(encoding="utf-8", errors="replace"), status)
    for failure in count.failures:
        print(f"failed: {failure}")
    for skip in count.skips:
        print(f"skipped: {skip}")
    print(f"{count.passed} passed, {len(count.failures)} failed, {len(count.skips)} skipped")
    return 1 if count.failures else 0


if __name__ == "__main__":
    sys.exit(main())
