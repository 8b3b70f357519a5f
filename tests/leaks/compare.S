/* SPDX-License-Identifier: MIT */
#include "walk/entry-macro.S"

    .text
    ENTRY compare_here, compare, %rdi

    .section .note.GNU-stack,"",@progbits
