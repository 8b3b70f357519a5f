/* SPDX-License-Identifier: MIT */
/*
 * libspwalk-execinfo.so: the three functions of execinfo.h by this walker, for programs that call them already.
 * Preloaded (LD_PRELOAD) or linked (-lspwalk-execinfo) before libc.
 */
#include <execinfo.h>
#include <spwalk_symbols.h>

#define API __attribute__((visibility("default")))

/* sp_backtrace itself, and not a call of it, as the first address is to be the caller's. */
__asm__(".text\n"
        ".globl backtrace\n"
        ".type backtrace, @function\n"
        "backtrace:\n"
        "    .cfi_startproc\n"
        "    jmp *sp_backtrace@GOTPCREL(%rip)\n"
        "    .cfi_endproc\n"
        ".size backtrace, . - backtrace\n");

API char **backtrace_symbols(void *const *pcs, int size)
{
    return sp_backtrace_symbols(pcs, size);
}

API void backtrace_symbols_fd(void *const *pcs, int size, int fd)
{
    sp_backtrace_symbols_fd(pcs, size, fd);
}
