/* SPDX-License-Identifier: MIT */
/*
 * The frame-pointer chase: one dependent load a frame. It checks what any chase must that meets code without frame
 * pointers and shall not fault: that the next frame lies above this one, inside the stack, aligned.
 */
#define _GNU_SOURCE
#include "walker.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

extern void *__libc_stack_end;

struct saved {
    struct saved *next;
    void *return_address;
};

static bool is_above(const struct saved *frame, const void *below, const void *end)
{
    return (const void *)frame > below && (const void *)frame < end && !((uintptr_t)frame & 7);
}

__attribute__((noinline)) static int chase(const void *ucontext, void **pcs, int max)
{
    const struct saved *frame = __builtin_frame_address(0);
    const void *end = __libc_stack_end;
    int count = 0;
    if (ucontext) {
        const ucontext_t *context = ucontext;
        pcs[count++] = (void *)context->uc_mcontext.gregs[REG_RIP];
        frame = (const struct saved *)context->uc_mcontext.gregs[REG_RBP];
        if (!is_above(frame, (const void *)context->uc_mcontext.gregs[REG_RSP], end))
            return count;
    }
    while (count < max) {
        pcs[count++] = frame->return_address;
        if (!is_above(frame->next, frame, end))
            break;
        frame = frame->next;
    }
    return count;
}

const struct walker walker_frame_pointers = {.name = "frame pointers", .walk = chase};
