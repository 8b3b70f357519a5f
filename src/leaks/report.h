/* SPDX-License-Identifier: MIT */
/* Taking stock: what is held now goes into a data file, or is only counted. */
#ifndef SPWALK_LEAKS_REPORT_H
#define SPWALK_LEAKS_REPORT_H

#include "leaks/data.h"

#include <spwalk_leaks.h>

#include <stdbool.h>
#include <stdint.h>

/* Where the data files go, and who started it: set once at the start. */
void leaks_report_start(const char *folder, char **environment);

/*
 * Makes a report, unless one is being made. Async-signal-safe. sp: from where on the calling thread's stack counts in
 * the search for pointers.
 */
void leaks_report_make(enum leaks_reason reason, uintptr_t sp);

/* The report that leaks_report_make made last is void: the program goes on where it was to end. */
void leaks_report_withdraw(void);

/* Counts what a report would show, without one. */
void leaks_report_count(struct sp_leaks_summary *summary, uintptr_t sp);

/* Marks all blocks that are held now as reported. */
void leaks_report_mark_all(uintptr_t sp);

void leaks_report_set_hook(sp_leaks_hook *hook, void *argument);

/* Whether there is a hook, in a module that is there. */
bool leaks_report_has_hook(void);

/* In the child of a fork: its reports are its own. */
void leaks_report_forked(void);

/* SP, in a function that has saved its caller's registers by __builtin_unwind_init. */
static inline __attribute__((always_inline)) uintptr_t leaks_sp(void)
{
    uintptr_t sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    return sp;
}

#endif
