/* SPDX-License-Identifier: MIT */
/*
 * The walks that store pcs. Nearly all are of one of three kinds, each with a short way to the whole stack:
 *
 *     again     the thread's last kept walk once more: its return addresses are read again, and are the same
 *     splice    words, from where the walk starts to a frame of that walk, and that walk's frames from there on
 *     stride    words, to one of the outermost few frames of that walk; nothing is kept
 *
 * They are for walks that start on the thread's own stack. What is another walk is handed on to the general one, with
 * how far it has got.
 *
 * Each line of code that has to be fetched, and each wrong guess at a branch, is a good part of the time of such a
 * walk. So each way is one function, made once for walks from their caller and once for those from a context.
 */
#include "walk/ahead.h"
#include "walk/general.h"
#include "walk/modules.h"
#include "walk/row.h"
#include "walk/run.h"

#include <stddef.h>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#if __has_attribute(no_reorder)
#define HOT                                                                                                            \
    __attribute__((hot, no_reorder)) /* in the order of this file, so that what comes first is next to the stub */
#else
#define HOT __attribute__((hot))
#endif
#define COLD __attribute__((cold, noinline))
#define UNLIKELY(condition) __builtin_expect(condition, 0)

/* Called by the stub of entry.S. */
__attribute__((visibility("hidden"))) int sp_backtrace_from(void **pcs, int max, const struct sp_own_registers *own);

/* Where a walk starts: one of the two. */
#define START const struct sp_own_registers *own, const void *ucontext

struct first {
    uintptr_t pc, sp, rbp;
    sp_rule rule;        /* of the first frame, where that is interrupted */
    uintptr_t caller_sp; /* of the same; 0: it is not left by a rule that is followed without more ado */
};

static INLINE struct first first_of(START)
{
    if (ucontext == NULL)
        return (struct first){.pc = own->pc, .sp = sp_own_sp(own), .rbp = own->rbp};
    uintptr_t at = (uintptr_t)ucontext;
    return (struct first){
        .pc = sp_load(at + SP_UCONTEXT_RIP), .sp = sp_load(at + SP_UCONTEXT_RSP), .rbp = sp_load(at + SP_UCONTEXT_RBP)};
}

static INLINE void leave_first(struct first *first, uintptr_t last)
{
    first->rule = sp_rules_get(sp_lookup_address(first->pc, true));
    first->caller_sp = sp_follow(first->rule, true, first->sp, 0, first->rbp, first->sp, last);
    if (first->caller_sp > last)
        first->caller_sp = 0;
}

static int finish(const struct sp_start *start, const struct sp_sink *sink, struct sp_recording *recording,
                  struct sp_progress *progress)
{
    enum sp_end end;
    int n = recording != NULL ? sp_walk_and_keep_pcs(start, sink, &end, recording, progress)
                              : sp_walk_pcs(start, sink, &end, progress);
    return n >= 0 ? n : sp_walk_full(start, sink, &end);
}

static struct sp_start start_of(START)
{
    return ucontext != NULL ? sp_start_context(ucontext) : sp_start_own(own);
}

static void begin(struct sp_progress *progress, const struct sp_start *start, const struct sp_stopped *stopped)
{
    struct sp_bounds bounds = sp_bounds_of(start->sp, &sp_thread.stacks);
    sp_progress_begin(progress, start, &bounds);
    if (stopped->count == 0)
        return;
    progress->count = stopped->count;
    progress->pc = stopped->pc;
    progress->sp = stopped->sp;
    progress->left_sp = start->sp;
    progress->interrupted = false;
    if (start->interrupted && sp_rule_slot(stopped->rule) != 0)
        progress->rbp_at = stopped->caller_sp - 8 - 8 * (uintptr_t)sp_rule_slot(stopped->rule);
}

/* The general walk from where a stride has stopped. */
static COLD int go_on_from_stride(void **pcs, int max, START, const struct sp_stopped *stopped)
{
    struct sp_start start = start_of(own, ucontext);
    struct sp_sink sink = {pcs, NULL, max};
    struct sp_progress progress;
    sp_thread.unkept--;
    begin(&progress, &start, stopped);
    if (stopped->count != 0) {
        struct sp_run run = {.last_sp = progress.bounds.last};
        sp_run_look_back(&run, start.interrupted ? stopped->caller_sp : start.sp, stopped->run_count, &progress.rbp_at,
                         &progress.left_sp);
    }
    return finish(&start, &sink, NULL, &progress);
}

/*
 * The general walk from where a splice has stopped, as memory->stopped says: it is no part of the splice's frame, which
 * is left. The frames put are in the new row, as if plainly come to.
 */
static COLD int go_on_from_splice(void **pcs, int max, START, struct sp_memory *memory)
{
    const struct sp_stopped *stopped = &memory->stopped;
    struct sp_start start = start_of(own, ucontext);
    struct sp_sink sink = {pcs, NULL, max};
    struct sp_progress progress;
    struct sp_recording recording;
    sp_recording_begin(&recording, memory);
    begin(&progress, &start, stopped);
    if (stopped->has_looked)
        progress.ahead =
            (struct sp_ahead){stopped->ahead_sp, stopped->next, stopped->to, SP_AHEAD_FIRST_STRIDE, stopped->rbp_at};
    else
        sp_ahead_look(&progress.ahead, recording.old_row, recording.old_row->first, max - 1, start.sp,
                      &progress.bounds);
    if (stopped->count != 0) {
        struct sp_kept_row *row = recording.new_row;
        progress.unasked = (unsigned)stopped->count - (progress.rbp_at != 0);
        if (start.interrupted) {
            progress.way = sp_way_of(stopped->rule, 0, start.sp);
            if (stopped->run_count != 0)
                sp_kept_put(row, recording.at + 1, (uintptr_t)pcs[1], stopped->caller_sp, progress.way);
        }
        sp_kept_put(row, recording.at, start.pc, start.sp, (struct sp_way){false, 0});
        recording.at += (unsigned)stopped->count;
        if (stopped->run_count != 0) {
            progress.way.is_plain = true;
            progress.left_sp = sp_kept_sp(row, recording.at - 1);
        }
    }
    return finish(&start, &sink, &recording, &progress);
}

/* Puts the outermost frames, if the walk is at the first of them, at (pc, sp). Returns how many; 0: it isn't. */
static INLINE int put_outermost(const struct sp_memory *memory, uintptr_t pc, uintptr_t sp, void **pcs, int room,
                                uintptr_t last)
{
    const int count = (int)memory->outermost;
    if (UNLIKELY(count == 0 || count > room || memory->outermost_slot[0] != sp - 8 || memory->outermost_pc[0] != pc ||
                 memory->outermost_slot[count - 1] > last))
        return 0;
    int i = 0;
    do {
        if (UNLIKELY(sp_load(memory->outermost_slot[i]) != memory->outermost_pc[i]))
            return 0;
        pcs[i] = (void *)memory->outermost_pc[i];
    } while (++i != count);
    return count;
}

static INLINE int stride(void **pcs, int max, START, uintptr_t last, uintptr_t here)
{
    struct first first = first_of(own, ucontext);
    struct sp_run run = {first.pc, first.sp, &sp_program_coverage, last};
    int n = 0, count = 0;
    if (ucontext != NULL) {
        leave_first(&first, last);
        if (UNLIKELY(first.caller_sp == 0))
            goto stop;
        pcs[n++] = (void *)first.pc;
        run.pc = sp_load(first.caller_sp - 8);
        run.sp = first.caller_sp;
        if (UNLIKELY(n == max))
            goto stop;
    }
    count = sp_run_put(&run, pcs + n, NULL, max - n, NULL, 0);
    n += count;
    struct sp_memory *memory = sp_thread.memory;
    if (UNLIKELY(memory == NULL || memory->walk_sp != 0))
        goto stop;
    sp_memory_hold(memory, here);
    int outermost = put_outermost(memory, run.pc, run.sp, pcs + n, max - n, last);
    sp_memory_give_back(memory);
    if (UNLIKELY(outermost == 0))
        goto stop;
    sp_thread.unkept--;
    return n + outermost;

stop:;
    struct sp_stopped stopped = {
        .count = n, .run_count = count, .pc = run.pc, .sp = run.sp, .rule = first.rule, .caller_sp = first.caller_sp};
    return go_on_from_stride(pcs, max, own, ucontext, &stopped);
}

/* The other ways: functions of their own, so that each has all registers to itself. */
static HOT NOINLINE int splice_from(void **pcs, int max, const struct sp_own_registers *own, struct sp_memory *memory,
                                    uintptr_t last);
static HOT NOINLINE int splice_context(void **pcs, int max, const void *ucontext, struct sp_memory *memory,
                                       uintptr_t last);
static HOT NOINLINE int again(void **pcs, int max, START, struct sp_memory *memory, uintptr_t last);
static COLD int by_no_short_way(void **pcs, int max, START);

static INLINE int backtrace(void **pcs, int max, START, uintptr_t here)
{
    struct first first = first_of(own, ucontext);
    /* Once for all of the walk: a handler can find out another stack's extents. */
    const uintptr_t hi = __atomic_load_n(&sp_thread.stacks.own_hi, __ATOMIC_ACQUIRE), last = hi - 8;
    /* The word at a context's SP may not be all there. */
    if (UNLIKELY(first.sp < sp_thread.stacks.own_lo || first.sp >= hi || (ucontext != NULL && first.sp > last)))
        return by_no_short_way(pcs, max, own, ucontext);
    if (sp_thread.unkept != 0)
        return stride(pcs, max, own, ucontext, last, here);
    struct sp_memory *memory = sp_thread.memory;
    if (UNLIKELY(memory == NULL || memory->walk_sp != 0))
        return by_no_short_way(pcs, max, own, ucontext);
    sp_memory_hold(memory, here);
    if (memory->start_sp == first.sp && memory->start_pc == first.pc)
        return again(pcs, max, own, ucontext, memory, last);
    return own != NULL ? splice_from(pcs, max, own, memory, last) : splice_context(pcs, max, ucontext, memory, last);
}

HOT int sp_backtrace_from(void **pcs, int max, const struct sp_own_registers *own)
{
    if (pcs == NULL || max <= 0)
        return 0;
    return backtrace(pcs, max, own, NULL, (uintptr_t)own);
}

HOT __attribute__((visibility("default"))) int sp_backtrace_context(const void *ucontext, void **pcs, int max)
{
    if (ucontext == NULL || pcs == NULL || max <= 0)
        return 0;
    return backtrace(pcs, max, NULL, ucontext, (uintptr_t)__builtin_frame_address(0));
}

/* New frames are put in front of the row's so many at a time: most often once, and where they end is clear. */
enum { COPIED = 16 };

static INLINE void put_before(struct sp_kept_row *row, unsigned next, const struct sp_kept_row *new_row, unsigned end)
{
    for (unsigned i = 1; i <= COPIED; i++) {
        row->slot[next - i] = new_row->slot[end - i];
        row->pc[next - i] = new_row->pc[end - i];
    }
    __m128i how = _mm_loadu_si128((const __m128i *)(new_row->how + end - COPIED));
    _mm_storeu_si128((__m128i *)(row->how + next - COPIED), how);
}

static INLINE int splice(void **pcs, int max, START, struct sp_memory *memory, uintptr_t last)
{
    const struct sp_way plain = {true, 0};
    struct first first = first_of(own, ucontext);
    struct sp_run run = {first.pc, first.sp, &sp_program_coverage, last};
    struct sp_kept_row *row = memory->row, *new_row = sp_memory_other_row(memory);
    SP_APART(new_row);
    struct sp_ahead ahead = {UINTPTR_MAX, 0, 0, SP_AHEAD_FIRST_STRIDE, UINTPTR_MAX};
    int n = 0, count = 0;
    bool has_looked = false;
    const int from = (int)row->first, to = (int)row->end - 1;
    if (UNLIKELY(to < from || to - from >= max || !memory->is_whole || row->slot[to] < first.sp ||
                 row->slot[to] > last))
        goto stop;
    has_looked = true;
    ahead.to = (unsigned)to;
    ahead.next = (unsigned)sp_ahead_find(row, from, to, first.sp, &ahead.rbp_at);
    if (UNLIKELY(ahead.next > ahead.to))
        goto stop;
    ahead.sp = sp_kept_sp(row, ahead.next);
    struct sp_way way = plain;
    uintptr_t nearest = first.sp + 1; /* the first frame itself is put, whether it is in the row or not */
    if (ucontext != NULL) {
        leave_first(&first, last);
        if (UNLIKELY(first.caller_sp == 0))
            goto stop;
        way = sp_way_of(first.rule, 0, first.sp);
        new_row->how[SP_KEPT_ROOM] = sp_how(SP_RULE_CFI, sp_rule_slot(first.rule), SP_KEPT_INTERRUPTED);
        pcs[n++] = (void *)first.pc;
        run.pc = sp_load(first.caller_sp - 8);
        run.sp = nearest = first.caller_sp;
    }
    while (ahead.sp < nearest && ahead.next != ahead.to)
        ahead.sp = sp_kept_sp(row, ++ahead.next);
    if (run.last_sp > ahead.sp)
        run.last_sp = ahead.sp;
    if (run.sp < ahead.sp && n != max) {
        int room = max - n < SP_KEPT_FRAMES - 1 ? max - n : SP_KEPT_FRAMES - 1;
        count = sp_run_put(&run, pcs + n, NULL, room, new_row, SP_KEPT_ROOM + (unsigned)n);
        n += count;
    }
    const int further = to - (int)ahead.next;
    const unsigned copied = ((unsigned)n + COPIED - 1) & -(unsigned)COPIED;
    if (UNLIKELY(run.sp != ahead.sp || run.pc != sp_kept_pc(row, ahead.next) || n == 0 || further >= max - n ||
                 sp_how_flags(row->how[ahead.next]) & SP_KEPT_INTERRUPTED || ahead.rbp_at != UINTPTR_MAX ||
                 copied > ahead.next || copied > SP_KEPT_ROOM))
        goto stop;

    row->first = ahead.next - (unsigned)n;
    memory->start_pc = first.pc;
    memory->start_sp = first.sp;
    memory->is_interrupted = ucontext != NULL;
    for (unsigned i = 0; i != copied; i += COPIED)
        put_before(row, ahead.next - i, new_row, SP_KEPT_ROOM + (unsigned)n - i);
    sp_kept_put(row, row->first, first.pc, first.sp, (struct sp_way){false, 0});
    if (ucontext != NULL && count != 0 && !way.is_plain)
        sp_kept_put(row, row->first + 1, (uintptr_t)pcs[1], first.caller_sp, way);
    sp_kept_put(row, ahead.next, run.pc, run.sp, count != 0 ? plain : way);
    pcs[n] = (void *)run.pc;
    sp_kept_put_pcs(pcs + n + 1, row, ahead.next + 1, further, true);
    sp_memory_note(memory, (unsigned)further + 1, (unsigned)(n + further + 1));
    sp_memory_give_back(memory);
    return n + further + 1;

stop:;
    memory->stopped = (struct sp_stopped){n,          count,    run.pc,     run.sp,   first.rule,  first.caller_sp,
                                          has_looked, ahead.sp, ahead.next, ahead.to, ahead.rbp_at};
    return go_on_from_splice(pcs, max, own, ucontext, memory);
}

static int splice_from(void **pcs, int max, const struct sp_own_registers *own, struct sp_memory *memory,
                       uintptr_t last)
{
    return splice(pcs, max, own, NULL, memory, last);
}

static int splice_context(void **pcs, int max, const void *ucontext, struct sp_memory *memory, uintptr_t last)
{
    return splice(pcs, max, NULL, ucontext, memory, last);
}

/* Where the last walk started here. */
static int again(void **pcs, int max, START, struct sp_memory *memory, uintptr_t last)
{
    struct first first = first_of(own, ucontext);
    int n = sp_ahead_repeat(memory, ucontext != NULL, first.rbp, pcs, max, last);
    if (n != 0) {
        sp_memory_give_back(memory);
        return n;
    }
    return own != NULL ? splice_from(pcs, max, own, memory, last) : splice_context(pcs, max, ucontext, memory, last);
}

/* The thread has no memory yet, or another walk has it; or the stack is another than its own. */
static int by_no_short_way(void **pcs, int max, START)
{
    struct sp_start start = start_of(own, ucontext);
    struct sp_sink sink = {pcs, NULL, max};
    enum sp_end end;
    return sp_walk_fast(&start, &sink, &end);
}
