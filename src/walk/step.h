/* SPDX-License-Identifier: MIT */
/*
 * One step of a walk by anything but a word: finds the rule of a frame, keeps it for the next time, follows it.
 */
#ifndef SPWALK_STEP_H
#define SPWALK_STEP_H

#include "walk/bounds.h"
#include "walk/modules.h"
#include "walk/row.h"
#include "walk/rules.h"
#include "walk/start.h"

#include <stdbool.h>
#include <stdint.h>

enum sp_step_result {
    SP_STEP_CALLER,    /* the caller's frame is in the cursor */
    SP_STEP_OUTERMOST, /* there is no caller */
    SP_STEP_NO_CALLER, /* a coroutine's: the return address is 0, so the frame before was the outermost */
    SP_STEP_NO_CODE,   /* the return address is none, so the frame before was the last, and has a caller */
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

/* What a step from a frame that came to `result` is called: SP_STEP_NO_CODE if the frame's pc is no return address. */
enum sp_step_result sp_step_failure(uintptr_t pc, bool interrupted, enum sp_step_result result);

/*
 * The last of the n frames put so far has no caller that is given: the step from its caller, which was not put, came to
 * SP_STEP_NO_CALLER or SP_STEP_NO_CODE.
 */
static inline void sp_end_before(const struct sp_sink *sink, int n, enum sp_step_result result)
{
    if (n == 0 || sink->frames == NULL)
        return;
    sink->frames[n - 1].size = 0;
    if (result == SP_STEP_NO_CODE)
        sink->frames[n - 1].rule = SP_RULE_NONE;
}

/*
 * Whether CFI does not contradict the word at sp of a frame with the return address pc. A return address of 0 ends a
 * coroutine's stack only where nothing shows that a damaged word led to it.
 */
bool sp_step_confirm_word(uintptr_t pc, uintptr_t sp);

#endif
