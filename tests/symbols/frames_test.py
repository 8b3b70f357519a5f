#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""frames_test.py SPWALK: frame records of hand-written assembly, true ones and false ones. Prints TAP."""
import os
import shutil
import sys

from harness import check, equal, finish, folder, must, refused, run

spwalk = os.path.abspath(sys.argv[1])
work = folder()
os.chdir(work)

# A function with a frame of 24 bytes and its word; LENGTH8 is what the record says, in units of 8.
FUNCTION = """
    .text
    .globl f
    .type f, @function
f:  .cfi_startproc
    {save}
    sub ${room}, %rsp
    .cfi_adjust_cfa_offset {room}
    movq ${word}, (%rsp)
    {body}
    call g
    add ${room}, %rsp
    .cfi_adjust_cfa_offset -{room}
    {restore}
    ret
    .cfi_endproc
.Lend:
    .size f, .-f
    .globl g
    .type g, @function
g:  ret
    .size g, .-g
    .globl main
main: xor %eax, %eax
    ret
    .section .spwalk.frames,"ao",@note,.text
    .balign 4
    .long 7, {note}, 1
    .asciz "spwalk"
    .balign 4
    .long f - ., .Lend - f, {record}
    .section .note.GNU-stack,"",@progbits
"""
SAVE_RBP = "push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbp, 0"
RESTORE_RBP = "pop %rbp\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbp"


def word(length, slot=0):
    return 0xA5C00000 | slot << 16 | length // 8


def signed(value):
    return value - (1 << 32)


def build(name, room=24, stored=None, record=None, body="", save="", restore="", note=12):
    stored = word(room) if stored is None else stored
    record = stored if record is None else record
    with open(name + ".s", "w") as file:
        file.write(FUNCTION.format(room=room, word=signed(stored), record=hex(record), body=body, save=save, restore=restore, note=note))
    must("gcc", "-o", name, name + ".s")
    return name


def frames(*arguments):
    return run(spwalk, "frames", *arguments)


good = build("good")
words = frames(good).out.splitlines()[1].split()
equal(words[2:], ["24", "-", "f+0x0"], "a record is printed")
result = frames("--check", good)
check(result.status == 0 and "1 calls proved by CFI" in result.out, "a true record is proved", result)
must("llvm-objcopy", "--strip-sections", good, "headless")
equal(frames("headless").out.splitlines()[1].split()[:4], words[:4], "it is found without section headers")
check(frames("--check", "headless").status == 0, "and proved")

with_rbp = dict(save=SAVE_RBP, restore=RESTORE_RBP, room=16)
result = frames("-c", build("rbp", stored=word(24, 1), **with_rbp))
check(result.status == 0 and "1 calls proved" in result.out, "rbp where the word says", result)
for name, what, text, arguments in (
        ("length", "a word of another length", "not SP + length + 8", dict(stored=word(32))),
        ("slot", "a slot where rbp is not saved", "rbp is not saved where", dict(stored=word(24, 1))),
        ("none", "no slot where rbp is saved", "rbp is not saved where", dict(stored=word(24), **with_rbp)),
        ("place", "another slot", "rbp is not saved where", dict(stored=word(24, 2), **with_rbp)),
        ("record", "a record that is not of the word stored", "another word", dict(record=word(32))),
        ("tag", "a record without the tag", "no tag", dict(record=0x80000003)),
        ("pushed", "a call with more on the stack", "not SP + length + 8",
         dict(body="push $1\n.cfi_adjust_cfa_offset 8\ncall g\npop %rax\n.cfi_adjust_cfa_offset -8"))):
    result = frames("--check", build(name, **arguments))
    check(result.status == 1 and text in result.out and ": 0x" in result.out, f"wrong: {what}", result)

refused(frames("/bin/true"), "a file without records", "no frame records")
refused(frames("good.s"), "no ELF file", "good.s")
must("gcc", "-c", "-o", "good.o", "good.s")
refused(frames("good.o"), "a relocatable file", "link it first")
refused(frames(build("odd", note=11)), "a note that is no multiple of records", "no multiple of 12")
refused(frames(build("long", note=0x10000000)), "a note that is too long", "reaches past")
refused(frames(), "no file", "no FILE")

shutil.rmtree(work)
finish()
