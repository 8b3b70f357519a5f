# SPDX-License-Identifier: MIT
"""decode_test.py DECODE: instruction lengths, against objdump's, over the code of Debian's own programs and libraries."""

import re
import subprocess
import sys

from harness import Tests, check

LINE = re.compile(r"^\s+([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)$", re.M)
TEXT = re.compile(r"^\s*\[\s*\d+\]\s+\.text\s+PROGBITS\s+(\w+)\s+(\w+)\s+(\w+)", re.M)
FILES = ["/usr/bin/git", "/usr/bin/openssl", "/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6",
         "/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib/x86_64-linux-gnu/libm.so.6"]


def compare(decoder, path):
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    address, offset, size = (int(field, 16) for field in TEXT.search(sections).groups())
    listing = subprocess.run(["objdump", "-d", "-w", "-j", ".text", path], capture_output=True, text=True, check=True).stdout
    expected = {int(match[1], 16): len(match[2].split()) for match in LINE.finditer(listing) if "(bad)" not in match[3]
                and match[2][:2] != "9b" and not match[3].startswith(("data16", "rex", "fwait", "addr32", "cs ", "es ", "ss ", "ds "))}
    query = "".join(f"{at:x}\n" for at in expected)
    answer = subprocess.run([decoder, path, str(offset), str(size), hex(address)], input=query, capture_output=True, text=True,
                            check=True).stdout
    unknown, wrong = 0, []
    for line in answer.splitlines():
        at, length = line.split()
        if length == "?":
            unknown += 1
        elif int(length) != expected[int(at, 16)]:
            wrong.append(at)
    check(len(answer.splitlines()) > 1000, "too few instructions to be a test")
    check(not wrong, f"{len(wrong)} wrong, first at {wrong[:5]}")
    check(unknown < len(expected) / 200, f"{unknown} of {len(expected)} unknown")


def main():
    tests = Tests()
    for path in FILES:
        tests.run(f"instruction lengths of {path}", compare, sys.argv[1], path)
    tests.done()


if __name__ == "__main__":
    main()
