/* SPDX-License-Identifier: MIT */
/*
 * spwalk leaks from within a program: every block that is still allocated, with the call stack of its allocation.
 *
 * A program can be run as it is, by "spwalk leaks -- PROGRAM". To have a report without that, include this header in
 * one source file and link with -lspwalk-leaks, before any other library. With NDEBUG defined the header is empty but
 * for macros that do nothing, and the library need not be linked.
 *
 * What is recorded, and where reports go, is told by the environment variable SPWALK_LEAKS; see spwalk-leaks(1).
 *
 * Every function here is thread-safe. Each says whether it is async-signal-safe.
 */
#ifndef SPWALK_LEAKS_H
#define SPWALK_LEAKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a report would show: without blocks that are ignored, marked as reported, or a parent process's. */
struct sp_leaks_summary {
    uint64_t blocks, bytes;           /* all that are held */
    uint64_t lost_blocks, lost_bytes; /* those of them that nothing in the program points to any more */
    uint64_t errors;                  /* double frees, mismatches and the like, each place once */
};

/*
 * A function to be called before each report.
 *
 * summary: what it will show; valid during the call. argument: as given to sp_leaks_set_hook.
 * Returns 0 to have the report, else there is none. It runs in the thread that reports, which may be in a signal
 * handler (of the signal that asks for a report), and what it allocates is not in the report.
 */
typedef int sp_leaks_hook(const struct sp_leaks_summary *summary, void *argument);

#ifndef NDEBUG

#pragma GCC visibility push(default)

/*
 * The calling thread's blocks are recorded from now on (enable), or not (disable), whatever is set for all threads;
 * restore: as is set for all threads again. Blocks keep what they had when they were allocated. Async-signal-safe.
 */
void sp_leaks_enable(void);
void sp_leaks_disable(void);
void sp_leaks_restore(void);

/* The same for all threads that have no setting of their own. Async-signal-safe. */
void sp_leaks_enable_all(void);
void sp_leaks_disable_all(void);

/*
 * Counts what a report would show now, and looks which blocks are lost; other threads are stopped meanwhile, and no
 * handler runs in the calling one.
 *
 * summary: filled in; all 0 where a report is being made just now.
 * Async-signal-safe.
 */
void sp_leaks_count(struct sp_leaks_summary *summary);

/* Reports what is held now. The program goes on afterwards. Async-signal-safe. */
void sp_leaks_report(void);

/* Leaves all blocks that are held now out of later reports. Async-signal-safe. */
void sp_leaks_mark_all_reported(void);

/*
 * Leaves a block out of reports.
 *
 * block: its address, as the allocator returned it.
 * Returns 0; -1 where there is no such block, or it was not recorded.
 * Async-signal-safe. The block must not be freed meanwhile.
 */
int sp_leaks_ignore(const void *block);

/* Sets the function to be called before each report, or none where hook is NULL. It is forgotten where the library that
 * it is in is closed. Async-signal-safe. */
void sp_leaks_set_hook(sp_leaks_hook *hook, void *argument);

#pragma GCC visibility pop

/* A linker that is told to leave out libraries that nothing refers to (--as-needed) finds this reference. */
__attribute__((used)) static void (*const sp_leaks_is_linked)(void) = sp_leaks_report;

#else

#define sp_leaks_enable() ((void)0)
#define sp_leaks_disable() ((void)0)
#define sp_leaks_restore() ((void)0)
#define sp_leaks_enable_all() ((void)0)
#define sp_leaks_disable_all() ((void)0)
#define sp_leaks_count(summary)                                                                                        \
    ((void)((summary)->blocks = (summary)->bytes = (summary)->lost_blocks = (summary)->lost_bytes =                    \
                (summary)->errors = 0))
#define sp_leaks_report() ((void)0)
#define sp_leaks_mark_all_reported() ((void)0)
#define sp_leaks_ignore(block) ((void)(block), 0)
#define sp_leaks_set_hook(hook, argument) ((void)(hook), (void)(argument))

#endif

#ifdef __cplusplus
}
#endif

#endif
