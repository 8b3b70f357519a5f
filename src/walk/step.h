/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk by anything but a word: finds the rule of a frame, keeps it for the next time, follows it.
 */
#ifndef SPWALK_STEP_H
#define SPWALK_STEP_H

#include "walk/bounds.h"
#include "walk/modules.h"
#include "walk/rules.h"
#include "walk/start.h"

#include <stdbool.h>
#include <stdint.h>

enum sp_step_result {
    SP_STEP_CALLER,    /* the caller's frame is in the cursor */
    SP_STEP_OUTERMOST, /* there is no caller */
    SP_STEP_NO_CALLER, /* a coroutine's: the return address is 0, so the frame before was the outermost */
    SP_STEP_NO_RULE,
    SP_STEP_UNREADABLE,
    SP_STEP_NO_PROGRESS,
    SP_STEP_FULL_WALK, /* the rule needs a register that the fast walk does not follow */
};

/* How many times a walk goes from one stack to another. */
enum { SP_STACK_CHANGES = 16 };

struct sp_cursor {
    uintptr_t pc, sp;
    bool interrupted;
    uintptr_t rbp_at; /* where the frame's rbp is saved; 0: it is what it was at the start, in `rbp` */
    uintptr_t rbp;

    struct sp_bounds bounds;
    struct sp_stacks *stacks;
    unsigned stack_changes;

    struct sp_coverage coverage; /* of the module that was last found to have words */

    /* A volatile module that has been found unchanged in this walk. */
    uintptr_t checked_lo, checked_hi;

    /* Of the last step: */
    uint8_t rule;     /* an enum sp_rule */
    sp_rule followed; /* the rule itself, where one was followed, to the caller or to there being none */
};

/* The step from the cursor's frame to its caller's. */
enum sp_step_result sp_step(struct sp_cursor *cursor);

/*
 * Whether CFI does not contradict the word at sp of a frame with the return address pc. A return address of 0 ends a
 * coroutine's stack only where nothing shows that a damaged word led to it.
 */
bool sp_step_confirm_word(uintptr_t pc, uintptr_t sp);

/* What a row that was read from the code itself holds on; nothing for one of CFI. */
struct sp_row_conditions {
    bool is_from_code;
    bool is_aligned; /* the CFA must be a multiple of 16 */
};

/* The row for a frame's pc: by CFI, or where that has none by the code. Returns false where there is none. */
bool sp_find_row(uintptr_t pc, bool interrupted, const struct sp_known_module *known, struct sp_cfi_row *row,
                 struct sp_row_conditions *conditions);

/* Whether a row's conditions are met where it leads to this CFA and this return address. */
bool sp_row_holds(const struct sp_row_conditions *conditions, uintptr_t cfa, uintptr_t return_address);

/* Whether a row's function has no caller. */
bool sp_row_is_outermost(const struct sp_cfi_row *row, const struct sp_module *module);

/*
 * Whether the code at pc is the signal restorer, `mov $15, %rax; syscall`, which the kernel's signal frame returns to,
 * in glibc and musl alike. [pc, end) can be read.
 */
bool sp_is_restorer(uintptr_t pc, uintptr_t end);

/* Whether an address can be one that a call returns to: in executable code of a module, with a call before it. */
bool sp_follows_call(uintptr_t address);

static inline uintptr_t sp_lookup_address(uintptr_t pc, bool interrupted)
{
    return pc - !interrupted;
}

#endif
