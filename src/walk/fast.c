/* SPDX-License-Identifier: MIT */
/*
 * The walk.
 *
 *     by word       (sp, pc) = (sp + length + 8, *(sp + length)), where coverage says that [sp] is a word
 *     by step       whatever else: step.c
 *     from memory   from where the walk comes to a frame of the thread's last walk: by re-reading return addresses only
 *
 * The three yield the same frames; each is only faster than the one before where it applies.
 */
#include "walk/load.h"
#include "walk/recording.h"
#include "walk/step.h"
#include "word/word.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))

/* rbp of the old frame `at`, where the walk came onto the old row at `from` with *rbp_at. */
static void find_rbp(const struct sp_kept_frame *from, const struct sp_kept_frame *at, uintptr_t *rbp_at)
{
    while (at != from) {
        at--;
        if (at->rbp_slot != 0) {
            *rbp_at = at[1].sp - 8 - 8 * (uintptr_t)at->rbp_slot;
            return;
        }
    }
}

/* How many of the frames after `frame`, at most `count`, are still come to. Their pcs go to pcs where that is set. */
static INLINE int verify(const struct sp_kept_frame *frame, int count, void **pcs)
{
    int i = 0;
    for (; count - i >= 4; i += 4) {
        const struct sp_kept_frame *f = frame + 1 + i;
        uint64_t a = sp_load((uintptr_t)f[0].slot), b = sp_load((uintptr_t)f[1].slot),
                 c = sp_load((uintptr_t)f[2].slot), d = sp_load((uintptr_t)f[3].slot);
        if (((a ^ f[0].pc) | (b ^ f[1].pc) | (c ^ f[2].pc) | (d ^ f[3].pc)) != 0)
            break;
        if (pcs != NULL) {
            pcs[i] = (void *)a;
            pcs[i + 1] = (void *)b;
            pcs[i + 2] = (void *)c;
            pcs[i + 3] = (void *)d;
        }
    }
    for (; i < count; i++) {
        const struct sp_kept_frame *f = frame + 1 + i;
        if (sp_load((uintptr_t)f->slot) != f->pc)
            break;
        if (pcs != NULL)
            pcs[i] = (void *)f->pc;
    }
    return i;
}

static void put_kept_frames(struct sp_frame *frames, const struct sp_kept_frame *kept, int count)
{
    for (int i = 0; i < count; i++)
        frames[i] = (struct sp_frame){
            .pc = kept[i].pc,
            .sp = kept[i].sp,
            .size = (uint32_t)(kept[i + 1].sp - kept[i].sp),
            .rule = kept[i].rule,
            .interrupted = kept[i].flags & SP_KEPT_INTERRUPTED,
        };
}

static uint32_t size_between(uintptr_t sp, uintptr_t caller_sp)
{
    return caller_sp > sp && caller_sp - sp <= UINT32_MAX ? (uint32_t)(caller_sp - sp) : 0;
}

static enum sp_end end_of(enum sp_step_result result)
{
    switch (result) {
    case SP_STEP_OUTERMOST:
    case SP_STEP_NO_CALLER:
        return SP_END_OUTERMOST;
    case SP_STEP_UNREADABLE:
        return SP_END_UNREADABLE;
    case SP_STEP_NO_PROGRESS:
        return SP_END_NO_PROGRESS;
    default:
        return SP_END_NO_RULE;
    }
}

/* Returns -1 where the walk must be a full one. recording is NULL where nothing is kept. */
static INLINE int walk(const struct sp_start *start, void **pcs, struct sp_frame *frames, int max, enum sp_end *end,
                       struct sp_recording *recording)
{
    struct sp_cursor cursor = {
        .rbp = start->rbp,
        .stacks = &sp_thread.stacks,
        .coverage = sp_modules_program_coverage(),
        .modules = recording != NULL ? recording->modules : NULL,
    };
    cursor.bounds = sp_bounds_of(start->sp, cursor.stacks);
    const uint32_t generation = __atomic_load_n(&sp_modules_generation, __ATOMIC_ACQUIRE);

    /* The frame that the walk has come to, where its rbp is saved, where its pc was read. */
    uintptr_t pc = start->pc, sp = start->sp, rbp_at = 0;
    bool interrupted = start->interrupted;
    const uint64_t *slot = &sp_no_slot;

    uintptr_t last = cursor.bounds.last;
    struct sp_coverage coverage = cursor.coverage;
    struct sp_kept_frame *kept = NULL, *guess = recording != NULL ? recording->guess : NULL;
    int n = 0;

    for (;;) {
        if (recording != NULL) {
            while (guess->sp < sp)
                guess++;
            if (guess->sp == sp && guess->pc == pc && (guess->flags & SP_KEPT_INTERRUPTED) == interrupted &&
                !recording->is_old_checked && !sp_recording_check_old(recording, &cursor))
                guess = recording->guess;
            if (guess->sp == sp && guess->pc == pc && (guess->flags & SP_KEPT_INTERRUPTED) == interrupted) {
                /* From memory. */
                struct sp_kept_frame *from = guess;
                if (recording->reused != NULL && from != kept + 1)
                    sp_recording_leave_old(recording, kept);
                if (recording->reused == NULL)
                    recording->reused = from;
                from->slot = slot;
                int count = (int)(recording->old_row->frames + recording->old_row->end - 1 - from);
                if (count > max - n - 1)
                    count = max - n - 1;
                /* The slots ascend: where the last can be read, all can. */
                if (count > 0 && from[count].sp - 8 > last) {
                    if (!sp_bounds_hold(&cursor.bounds, from[count].sp - 8))
                        count = 0;
                    last = cursor.bounds.last;
                }
                if (frames != NULL) {
                    count = verify(from, count, NULL);
                    put_kept_frames(frames + n, from, count + 1);
                } else {
                    pcs[n] = (void *)pc;
                    count = verify(from, count, pcs + n + 1);
                }
                n += count + 1;
                kept = from + count;
                guess = kept + 1;
                if (kept->flags & SP_KEPT_OUTERMOST) {
                    if (frames != NULL)
                        frames[n - 1].size = 0;
                    *end = SP_END_OUTERMOST;
                    break;
                }
                find_rbp(from, kept, &rbp_at);
                pc = kept->pc;
                sp = kept->sp;
                interrupted = kept->flags & SP_KEPT_INTERRUPTED;
                goto leave;
            }
            if (recording->reused != NULL)
                sp_recording_leave_old(recording, kept);
            kept = recording->at != recording->limit ? recording->at++ : &recording->spare;
            kept->slot = slot;
            kept->pc = pc;
            kept->sp = sp;
        }
        if (frames != NULL)
            frames[n] = (struct sp_frame){.pc = pc, .sp = sp, .interrupted = interrupted};
        else
            pcs[n] = (void *)pc;
        n++;

    leave:
        if (!interrupted && sp_covered(&coverage, pc - 1) && sp <= last) {
            uint64_t word = sp_load(sp);
            uintptr_t pc_at = sp + sp_word_length(word);
            if (sp_word_is_tagged(word) && pc_at != sp && pc_at <= last) {
                uint32_t rbp_slot = sp_word_rbp_slot(word);
                rbp_at = rbp_slot != 0 ? pc_at - 8 * rbp_slot : rbp_at;
                if (frames != NULL) {
                    frames[n - 1].rule = SP_RULE_WORD;
                    frames[n - 1].size = (uint32_t)(pc_at + 8 - sp);
                }
                if (recording != NULL) {
                    kept->rule = SP_RULE_WORD;
                    kept->rbp_slot = (uint8_t)rbp_slot;
                    kept->flags = 0;
                    slot = (const uint64_t *)pc_at;
                }
                pc = sp_load(pc_at);
                sp = pc_at + 8;
                interrupted = false;
                if (n != max)
                    continue;
                *end = pc == 0 && cursor.bounds.can_extend ? SP_END_OUTERMOST : SP_END_FULL;
                break;
            }
        }

        cursor.pc = pc;
        cursor.sp = sp;
        cursor.interrupted = interrupted;
        cursor.rbp_at = rbp_at;
        unsigned stack_changes = cursor.stack_changes;
        enum sp_step_result result = sp_step(&cursor);
        if (frames != NULL) {
            frames[n - 1].rule = cursor.rule;
            frames[n - 1].size = result == SP_STEP_CALLER ? size_between(sp, cursor.sp) : 0;
        }
        if (recording != NULL) {
            kept->rule = cursor.rule;
            kept->rbp_slot = cursor.rbp_slot;
            kept->flags =
                (interrupted ? SP_KEPT_INTERRUPTED : 0) | (result == SP_STEP_OUTERMOST ? SP_KEPT_OUTERMOST : 0);
        }
        if (result != SP_STEP_CALLER) {
            if (result == SP_STEP_FULL_WALK)
                n = -1;
            if (result == SP_STEP_NO_CALLER && --n > 0 && frames != NULL)
                frames[n - 1].size = 0;
            *end = end_of(result);
            break;
        }
        if (recording != NULL) {
            slot = cursor.depends_on_sp_alone ? (const uint64_t *)(cursor.sp - 8) : &sp_no_slot;
            if (cursor.stack_changes != stack_changes) {
                sp_recording_restart(recording);
                guess = recording->guess;
            }
        }
        pc = cursor.pc;
        sp = cursor.sp;
        interrupted = cursor.interrupted;
        rbp_at = cursor.rbp_at;
        last = cursor.bounds.last;
        coverage = cursor.coverage;
        if (n == max) {
            *end = pc == 0 && !interrupted && cursor.bounds.can_extend ? SP_END_OUTERMOST : SP_END_FULL;
            break;
        }
    }

    if (recording != NULL) {
        if (n < 0)
            sp_recording_drop(recording);
        else
            sp_recording_end(recording, &cursor, generation);
    }
    return n;
}

int sp_walk_fast(const struct sp_start *start, const struct sp_sink *sink, enum sp_end *end)
{
    struct sp_recording recording;
    sp_recording_begin(&recording, (uintptr_t)__builtin_frame_address(0));
    int n;
    if (sink->pcs != NULL)
        n = recording.memory != NULL ? walk(start, sink->pcs, NULL, sink->max, end, &recording)
                                     : walk(start, sink->pcs, NULL, sink->max, end, NULL);
    else
        n = recording.memory != NULL ? walk(start, NULL, sink->frames, sink->max, end, &recording)
                                     : walk(start, NULL, sink->frames, sink->max, end, NULL);
    return n >= 0 ? n : sp_walk_full(start, sink, end);
}
