# SPDX-License-Identifier: MIT
"""programs_test.py SPWALK: programs of Debian run as they do alone, and their counts equal an independent count."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from harness import Tests, Workshop, check, equal

ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PERL_HASH_SEED": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_COMMITTER_DATE": "1700000000 +0000",
}

SHELL = r'''
set -- one two three
for i in 1 2 3 4 5; do echo "$i $(echo sub $i) ${#i}"; done
f() { case $1 in a*) return 3;; *) echo other; esac; }
f x; f a; echo $?
printf '%s\n' b a c | sort | while read -r l; do echo "<$l>"; done
ls /no/such/file; trap 'echo end' EXIT; exit 7
'''

PYTHON = r'''
import json, re, sys, threading, zlib, hashlib, subprocess, ctypes
out = []
def work(n):
    out.append(sum(i * n for i in range(1000)))
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(out), json.dumps({"a": [1, 2]}), re.sub("a+", "b", "caat"))
print(hashlib.sha256(zlib.compress(b"x" * 10000)).hexdigest())
print(subprocess.run(["/bin/echo", "child"], capture_output=True, text=True).stdout)
print("to stderr", file=sys.stderr)
sys.exit(5)
'''

PERL = r'''
my %h = map { $_ => length } qw(a bb ccc); print join(",", map { "$_=$h{$_}" } sort keys %h), "\n";
my $s = "x" x 1000; $s =~ s/x{3}/y/g; print length($s), "\n"; print STDERR "warned\n"; print `echo sub`; exit 4;
'''

SQL = """
create table t(a integer primary key, b text);
with recursive c(n) as (select 1 union all select n + 1 from c where n < 500) insert into t select n, hex(n * n) from c;
create index i on t(b);
select count(*), sum(length(b)), max(b) from t where b like '3%';
select no_such_column from t;
"""


def programs(folder):
    """Name and command; each is run twice in fresh copies of the same folder."""
    data = folder / "data"
    return {
        "bash": ["bash", "-c", SHELL],
        "dash": ["dash", "-c", SHELL],
        "python3": ["python3", "-S", "-c", PYTHON],
        "perl": ["perl", "-e", PERL],
        "git": ["git", "-C", str(folder / "repository"), "log", "--stat", "-p", "--graph"],
        "git commit": ["git", "-C", str(folder / "repository"), "commit", "--allow-empty", "-q", "-m", "more"],
        "openssl": ["openssl", "enc", "-aes-256-cbc", "-K", "00" * 32, "-iv", "00" * 16, "-a", "-in", str(data)],
        "openssl, an error": ["openssl", "enc", "-d", "-aes-128-cbc", "-k", "x", "-pbkdf2", "-in", str(data)],
        "sqlite3": ["sqlite3", ":memory:", SQL],
        "curl": ["curl", "-s", "-S", f"file://{data}", "file:///no/such/file"],
        "tar with gzip": ["tar", "-cz", "-f", "-", "--mtime=@0", "-C", str(folder), "data"],
        "xz": ["xz", "-1", "-c", str(data)],
        "gzip": ["gzip", "-9", "-n", "-c", str(data)],
        "awk": ["awk", "{ n[$2]++ } END { for (k in n) s += n[k]; print s, length(n) }", str(data)],
        "sort": ["sort", "-k2,2n", str(data)],
        "find": ["find", str(folder), "-name", "d*", "-printf", "%f %s\\n"],
        "ls, an error": ["ls", "-l", "/no/such/file"],
        "gcc": ["gcc", "-O1", "-S", "-o", "-", "-x", "c", str(folder / "data.c")],
    }


def repeatable(folder):
    """Commands that do the same in each run: without children, whose ends come when they come."""
    loop = 'for i in {1..200}; do a[i%7]=$((i*i)); s=${s}x; [[ $s == *xx ]] && printf "%s %d\\n" "${s:3:5}" "${a[3]}"; done'
    every = programs(folder)
    names = ("git", "sqlite3", "openssl, an error", "xz", "sort", "curl", "gzip")
    return {name: every[name] for name in names} | {
        "bash": ["bash", "-c", loop],
        "perl": ["perl", "-e", PERL.split("print `")[0]],
        "tar": ["tar", "-c", "-f", "-", "--mtime=@0", "-C", str(folder), "data"],
    }


def make_data(folder):
    (folder / "data").write_text("".join(f"line {i * i % 9973} of some text {i}\n" for i in range(3000)))
    (folder / "data.c").write_text("int f(int a) { return a * 3 + __builtin_popcount(a); }\n")
    repository = folder / "repository"
    repository.mkdir()

    def git(*arguments):
        subprocess.run(["git", "-C", str(repository), *arguments], env=ENVIRONMENT, check=True, capture_output=True)
    git("init", "-q", "-b", "main")
    for i in range(5):
        (repository / f"file{i}").write_text(f"content {i}\n" * (i + 1) * 20)
        git("add", "-A")
        git("commit", "-q", "-m", f"commit {i}")


def unchanged(shop, command, options):
    alone = subprocess.run(command, env=ENVIRONMENT, capture_output=True, stdin=subprocess.DEVNULL)
    output = shop.path("report.txt")
    counted = subprocess.run([shop.spwalk, "imports", *options, "-o", output, "--", *command], env=ENVIRONMENT,
                             capture_output=True, stdin=subprocess.DEVNULL)
    equal(counted.returncode, alone.returncode, "exit status")
    equal(counted.stdout, alone.stdout, "standard output")
    equal(counted.stderr, alone.stderr, "standard error")
    total = re.search(r" (\d+) calls", pathlib.Path(output).read_text())
    check(total and int(total[1]) > 10, "counted some calls")


PLT_ENTRY = re.compile(r"^([0-9a-f]+) <(.+)@plt>:$", re.M)
CODE_SEGMENT = re.compile(r"^\s*LOAD\s+(\w+)\s+(\w+)\s+\w+\s+(\w+)\s+\w+\s+R E", re.M)


def plt_entries(program):
    """The addresses of its PLT entries, by function."""
    sections = ["-j", ".plt", "-j", ".plt.got", "-j", ".plt.sec"]
    listing = subprocess.run(["objdump", "-d", "-w", *sections, program], capture_output=True, text=True).stdout
    return {name: int(address, 16) for address, name in PLT_ENTRY.findall(listing)}


class Uprobes:
    """Counts passes of addresses by the kernel's uprobes."""

    ROOTS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")

    @classmethod
    def folder(cls):
        if os.geteuid() == 0 and not os.path.exists(cls.ROOTS[0] + "/uprobe_events"):
            subprocess.run(["mount", "-t", "tracefs", "nodev", cls.ROOTS[0]], capture_output=True)
        for root in cls.ROOTS:
            if os.access(root + "/uprobe_events", os.W_OK):
                return root
        return None

    @staticmethod
    def write(root, line):
        events = os.open(f"{root}/uprobe_events", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(events, line.encode())
        finally:
            os.close(events)

    def count(self, program, entries, command):
        root, group = self.folder(), f"spwalk{os.getpid()}"
        layout = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
        offset, address, _ = (int(field, 16) for field in CODE_SEGMENT.search(layout).groups())
        names = {f"p{number}": name for number, name in enumerate(entries)}
        for event, name in names.items():
            self.write(root, f"p:{group}/{event} {program}:{entries[name] - address + offset:#x}\n")
        try:
            pathlib.Path(f"{root}/events/{group}/enable").write_text("1")
            subprocess.run(command, env=ENVIRONMENT, capture_output=True, stdin=subprocess.DEVNULL)
            pathlib.Path(f"{root}/events/{group}/enable").write_text("0")
            lines = pathlib.Path(f"{root}/uprobe_profile").read_text().splitlines()
            # PROGRAM EVENT HITS, and how many the kernel missed where it tells.
            fields = [line.split() for line in lines]
            hits = {row[1]: [int(number) for number in row[2:]] for row in fields if row[0] == program}
        finally:
            self.write(root, f"-:{group}/\n")
        check(all(not any(numbers[1:]) for numbers in hits.values()), "no uprobe was missed")
        return {name: hits[event][0] for event, name in names.items()}


class Debugger:
    """Counts passes of addresses by gdb's breakpoints. The program is one that can be loaded anywhere, and is not."""

    BASE = 0x555555554000

    def count(self, program, entries, command):
        names = list(entries)
        # gdb adds LINES and COLUMNS to the environment.
        script = ["set pagination off", "set confirm off", "set exec-wrapper env -u LINES -u COLUMNS", "starti"]
        script += [f"break *{self.BASE + entries[name]:#x}" for name in names]
        script += [f"ignore {number + 1} 1000000000" for number in range(len(names))]
        script += ["continue", "info breakpoints"]
        arguments = [item for line in script for item in ("-ex", line)]
        result = subprocess.run(["gdb", "-q", "-nx", "-batch", *arguments, "--args", program, *command[1:]], env=ENVIRONMENT, capture_output=True,
                                text=True, errors="replace", stdin=subprocess.DEVNULL)
        counts = dict.fromkeys(names, 0)
        current = None
        for line in result.stdout.splitlines():
            row = re.match(r"(\d+)\s+breakpoint\s+keep", line)
            hit = re.search(r"breakpoint already hit (\d+) time", line)
            if row:
                current = names[int(row[1]) - 1]
            elif hit and current:
                counts[current] = int(hit[1])
        check(any(counts.values()), "gdb counted something: " + result.stdout[-500:] + result.stderr[-500:])
        return counts


def equals_independent(shop, counter, command):
    """By the program's PLT entries, in a copy of it that nothing else runs."""
    original = os.path.realpath(shutil.which(command[0]))
    program = shop.path("copy-of-" + os.path.basename(original))
    shutil.copy(original, program)
    entries = plt_entries(program)
    check(len(entries) > 20, "found its PLT")
    command = [program, *command[1:]]
    independent = counter.count(program, entries, command)
    result = shop.run(command, environment=ENVIRONMENT)
    user = os.path.basename(program)
    counted = dict.fromkeys(entries, 0)
    for library in result.report["programs"][0]["libraries"]:
        for row in library["imports"]:
            if row["user"] == user and row["name"] in counted:
                check(row["calls"] is not None, f"{row['name']} is counted: {row['not_counted']}")
                counted[row["name"]] += row["calls"]
    wrong = {name: (counted[name], independent[name]) for name in entries if counted[name] != independent[name]}
    check(not wrong, f"differ (spwalk, independent): {wrong}")
    called = sum(1 for count in independent.values() if count)
    print(f"# {os.path.basename(original)}: {called} of {len(entries)} functions called, {sum(independent.values())} calls, "
          f"all equal")


def equals_ltrace(shop):
    """ltrace sees lazily bound programs."""
    source = shop.folder / "traced.c"
    source.write_text("#include <stdlib.h>\n#include <string.h>\nint main(int argc, char **argv)\n{\n"
                      "    for (int i = 0; i < 40; i++)\n        free(strdup(argv[0]));\n"
                      "    for (int i = 0; i < 9; i++)\n        getenv(argv[0]);\n    return argc - 1;\n}\n")
    program = shop.build("traced", [source], "-O0", "-Wl,-z,lazy", "-fno-builtin", "-fcf-protection=none")
    traced = subprocess.run(["ltrace", "-c", program], capture_output=True, text=True).stderr
    seen = {line.split()[-1]: int(line.split()[-2]) for line in traced.splitlines() if re.match(r"\s*\d+\.\d+\s+\d", line)}
    seen.pop("total", None)
    check("strdup" in seen, traced)
    report = shop.run([program]).report
    rows = {row["name"]: row["calls"] for item in report["programs"][0]["libraries"] for row in item["imports"]}
    equal({name: rows[name] for name in seen if name in rows and name != "__libc_start_main"},
          {name: count for name, count in seen.items() if name in rows and name != "__libc_start_main"}, "counts")


def main():
    tests = Tests()
    with Workshop(sys.argv[1]) as shop:
        work = shop.folder / "work"
        work.mkdir()
        make_data(work)
        commands = programs(work)
        for name, command in commands.items():
            for options in ([], ["--all"]):
                tests.run(f"{name} unchanged{' with --all' if options else ''}", unchanged, shop, command, options)
        uprobes = Uprobes.folder() is not None
        commands = repeatable(work)
        if uprobes:
            for name in ("git", "sqlite3", "tar", "xz", "bash", "perl", "sort", "curl"):
                tests.run(f"{name} equals uprobes", equals_independent, shop, Uprobes(), commands[name])
        # Where there are no uprobes gdb has more to do.
        for name in ("openssl, an error", "gzip", "xz") if uprobes else (
                "git", "sqlite3", "openssl, an error", "gzip", "xz", "sort", "curl"):
            tests.run(f"{name} equals gdb", equals_independent, shop, Debugger(), commands[name])
        tests.run("equals ltrace", equals_ltrace, shop)
    tests.done()


if __name__ == "__main__":
    main()
