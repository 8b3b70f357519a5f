/* SPDX-License-Identifier: MIT */
/* The functions that walk from their caller. */
#include "walk/entry-macro.S"

    .section .text.hot, "ax", @progbits
    ENTRY sp_backtrace, sp_backtrace_from, %rdx
    ENTRY sp_walk, sp_walk_from, %r8

    .section .note.GNU-stack,"",@progbits
