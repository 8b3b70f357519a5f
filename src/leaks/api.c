/* SPDX-License-Identifier: MIT */
/* The functions of spwalk_leaks.h. */
#include "leaks/block.h"
#include "leaks/report.h"
#include "leaks/state.h"

#include <spwalk_leaks.h>

void sp_leaks_enable(void)
{
    leaks_thread_off = -1;
}

void sp_leaks_disable(void)
{
    leaks_thread_off = 1;
}

void sp_leaks_restore(void)
{
    leaks_thread_off = 0;
}

void sp_leaks_enable_all(void)
{
    __atomic_store_n(&leaks_is_off, 0, __ATOMIC_RELAXED);
}

void sp_leaks_disable_all(void)
{
    __atomic_store_n(&leaks_is_off, 1, __ATOMIC_RELAXED);
}

/* All callee-saved registers are put into the frame, where a search for pointers finds them. */
void sp_leaks_count(struct sp_leaks_summary *summary)
{
    __builtin_unwind_init();
    leaks_report_count(summary, leaks_sp());
}

void sp_leaks_report(void)
{
    __builtin_unwind_init();
    leaks_report_make(LEAKS_REASON_CALL, leaks_sp());
}

void sp_leaks_mark_all_reported(void)
{
    __builtin_unwind_init();
    leaks_report_mark_all(leaks_sp());
}

int sp_leaks_ignore(const void *block)
{
    return leaks_block_mark(block, LEAKS_IGNORED) ? 0 : -1;
}

void sp_leaks_set_hook(sp_leaks_hook *hook, void *argument)
{
    leaks_report_set_hook(hook, argument);
}
