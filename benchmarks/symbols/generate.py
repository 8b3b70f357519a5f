#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generate.py c|c++ NUMBER SEED: assembly of NUMBER functions, of 8 to 200 bytes, with names as people give them."""
import random
import sys

MODULES = "net fs mm block crypto sched irq tty usb pci acpi audit sound video input serial route bridge tcp udp".split()
VERBS = "get set init free alloc register unregister read write open close start stop flush find insert remove update".split()
NOUNS = """queue buffer page inode request packet device driver table entry cache list tree node lock timer worker session
state header payload config option channel stream window frame region zone group""".split()

language, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chooser = random.Random(seed)
names = set()
while len(names) < number:
    words = [chooser.choice(MODULES), chooser.choice(VERBS), chooser.choice(NOUNS)]
    if chooser.random() < 0.5:
        words.insert(1, chooser.choice(NOUNS))
    if chooser.random() < 0.4:
        words.append(chooser.choice(NOUNS))
    if language == "c":
        name = "_".join(words)
        if name in names or chooser.random() < 0.02:
            name += f".part.{chooser.randrange(100)}" if chooser.random() < 0.3 else f"_{chooser.randrange(1000)}"
    else:
        inner = "".join(f"{len(word)}{word}" for word in words)
        arguments = "".join(chooser.choice(("i", "Pv", "RKSt6vectorIiSaIiEE", "PKc", "m")) for _ in range(chooser.randrange(4)))
        name = f"_ZN{inner}E{arguments or 'v'}"
    names.add(name)
out = [".text"]
order = sorted(names)
chooser.shuffle(order)
for name in order:
    local = "" if chooser.random() < 0.4 else f'.globl "{name}"\n'
    out.append(f'.balign 16\n{local}.type "{name}", @function\n"{name}": .skip {chooser.randrange(8, 200)}, 0x90\n'
               f'.size "{name}", . - "{name}"')
out.append('.section .note.GNU-stack,"",@progbits')
print("\n".join(out))
