/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: walks over a damaged stack.
 *
 * Sources: tests/fuzz/walk_victims.c tests/fuzz/walk_frames.S
 * Longest: 148
 * Flags: -fno-sanitize-coverage=trace-cmp
 * Sources: src/walk src/cfi src/code src/word src/module/headers.c src/module/listed.c src/module/find_glibc.c
 *
 * Comparisons are not traced, as no part of the input is compared with a number: 2.5 times as many executions.
 *
 * A thread waits deep in a call (walk_victims.h). Its stack, or its registers, are changed as the input says, it is
 * walked from its context, and then put back. Each walk must end inside the stack, with frames that are the stack's own
 * words and with an end that they bear out, and with what the last walk left in memory the same as without.
 *
 * Input: 4 bytes of setting, then 12 bytes a change.
 *
 *     0     which victim
 *     1     how its bounds are known: as a coroutine's, a thread's own, an alternate signal stack
 *     2     the most frames asked for; 0: as many as there may be
 *     3     bit 0: the walk before it is of the sound stack; bit 1: sp_backtrace_context
 *
 *     0     what is changed (enum change); bit 7: a walk follows
 *     1     by what, if it matters: a bit's number, a count, a register
 *     2..3  where: a word of the stack, counted from SP
 *     4..11 a value
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "walk/load.h"
#include "walk/rules.h"
#include "walk/thread.h"
#include "walk_victims.h"

#include <spwalk.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512, KNOWN_MOST = 256, CHANGES_MOST = 64 };

enum change {
    FLIP,        /* a bit of a word */
    OVERWRITE,   /* a word by the value */
    COPY,        /* a word by another word of the stack */
    SET_PC,      /* a word by an address of code, or one near it */
    SET_ADDRESS, /* a word by an address on the stack */
    SET_WORD,    /* a word by a frame word */
    SHIFT,       /* the words from there on, by a count */
    MOVE_SP,
    MOVE_PC,
    SET_REGISTER,
    SET_RBP,
    CHANGES,
};

/* The words in walk_frames.S. */
extern const char frame_word[], frame_word_end[], frame_word_rbp[], frame_word_rbp_end[];
#define FRAME_WORD UINT64_C(0xFFFFFFFFA5C00003)
#define FRAME_WORD_RBP UINT64_C(0xFFFFFFFFA5C10005)

struct setting {
    uint8_t victim, bounds, max, flags;
};

struct step {
    uint8_t change, by;
    uint16_t at;
    uint64_t value;
};

struct trace {
    int n;
    enum sp_end end;
    struct sp_frame frames[MOST + 1];
};

static uintptr_t known[KNOWN_MOST]; /* addresses of code */
static unsigned known_count;
static uintptr_t outermost[2 * VICTIMS + 8]; /* return addresses in functions without a caller */
static unsigned outermost_count;
static uint64_t sound[VICTIMS][65536 / 8]; /* what is on the sound stacks, from SP on */
static struct trace trace, other;
static bool has_met_damage;
static unsigned long walks;
static uintptr_t stack_lo, stack_hi; /* of the stack that is walked */

static void print(const struct trace *t)
{
    fprintf(stderr, "%d frames, end: %s\n", t->n, sp_end_name(t->end));
    for (int i = 0; i < t->n && i < MOST; i++)
        fprintf(stderr, "  %2d pc %#lx sp %#lx size %u rule %u%s\n", i, (unsigned long)t->frames[i].pc,
                (unsigned long)t->frames[i].sp, t->frames[i].size, t->frames[i].rule,
                t->frames[i].interrupted ? " interrupted" : "");
}

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    print(&trace);
    fprintf(stderr, "without memory: ");
    print(&other);
    abort();
}

static void set_bounds(const struct victim *victim, unsigned kind, uintptr_t sp)
{
    struct sp_stacks *stacks = &sp_thread.stacks;
    *stacks = (struct sp_stacks){0};
    if (kind % 3 == 1) {
        stacks->own_lo = sp & ~(uintptr_t)4095;
        stacks->own_hi = victim->control;
    } else if (kind % 3 == 2) {
        stacks->alt_lo = victim->lo;
        stacks->alt_hi = victim->hi;
    }
}

static void walk(const struct victim *victim, unsigned bounds, const ucontext_t *context, int max, struct trace *to)
{
    set_bounds(victim, bounds, (uintptr_t)victim->context.uc_mcontext.gregs[REG_RSP]);
    memset(&to->frames[max], 0xee, sizeof to->frames[max]);
    to->n = sp_walk(context, to->frames, max, &to->end);
    const unsigned char *beyond = (const unsigned char *)&to->frames[max];
    for (size_t i = 0; i < sizeof to->frames[max]; i++)
        if (beyond[i] != 0xee)
            fail("written beyond the buffer");
}

static void walk_without_memory(const struct victim *victim, unsigned bounds, const ucontext_t *context, int max,
                                struct trace *to)
{
    struct sp_memory *memory = sp_thread.memory;
    sp_thread.has_ended = 1;
    sp_thread.memory = NULL;
    walk(victim, bounds, context, max, to);
    sp_thread.memory = memory;
    sp_thread.has_ended = 0;
}

static bool is_on_stack(uintptr_t address)
{
    return address >= stack_lo && address <= stack_hi - 8;
}

static void check_frames(const ucontext_t *context, int max)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    const struct sp_frame *frames = trace.frames;
    if (trace.n < 1 || trace.n > max)
        fail("a count of frames that cannot be");
    if (frames[0].pc != (uintptr_t)registers[REG_RIP] || frames[0].sp != (uintptr_t)registers[REG_RSP] ||
        frames[0].interrupted != 1)
        fail("the first frame is not the context's");
    bool on_stack = is_on_stack(frames[0].sp);
    for (int i = 1; i < trace.n; i++) {
        const struct sp_frame *frame = &frames[i], *callee = &frames[i - 1];
        if (callee->rule == SP_RULE_SIGNAL) {
            if (frame->interrupted != 1)
                fail("not interrupted above a signal frame");
            on_stack = is_on_stack(frame->sp);
            continue;
        }
        if (frame->interrupted != 0 || (callee->rule != SP_RULE_WORD && callee->rule != SP_RULE_CFI))
            fail("a rule that leads to no caller");
        if (frame->sp <= callee->sp)
            fail("SP does not ascend");
        if (on_stack && !is_on_stack(frame->sp - 8))
            fail("a frame outside the stack");
        if (frame->sp - callee->sp <= UINT32_MAX && callee->size != frame->sp - callee->sp)
            fail("a size that is not the distance");
        if (sp_load(frame->sp - 8) != frame->pc)
            fail("a return address that is not on the stack");
    }
}

static bool is_in_outermost_function(uintptr_t pc)
{
    for (unsigned i = 0; i < outermost_count; i++)
        if (pc - outermost[i] + 256 < 512)
            return true;
    return false;
}

static void check_end(int max)
{
    const struct sp_frame *last = &trace.frames[trace.n - 1];
    switch (trace.end) {
    case SP_END_OUTERMOST:
        /* In a function that has no caller, or below a return address of 0. */
        if (last->rule == SP_RULE_NONE)
            fail("an outermost frame without a rule");
        if (!is_in_outermost_function(last->pc)) {
            bool has_zero = false;
            for (uintptr_t at = last->sp; is_on_stack(at) && !has_zero; at += 8)
                has_zero = sp_load(at) == 0;
            if (is_on_stack(last->sp) && !has_zero)
                fail("called outermost, and is not");
        }
        break;
    case SP_END_FULL:
        if (trace.n != max || last->rule == SP_RULE_NONE)
            fail("called full, and is not");
        break;
    case SP_END_NO_RULE:
    case SP_END_UNREADABLE:
    case SP_END_NO_PROGRESS:
        if (last->rule != SP_RULE_NONE || last->size != 0)
            fail("a rule for the frame at which the walk ended");
        break;
    default:
        fail("an end that there is not");
    }
}

/*
 * A frame that is remembered is left as it was the last time if its caller's return address is still there; its word is
 * not read again. So once a walk has met a damaged word, walks with memory and without may be led astray differently.
 */
static bool has_met_damaged_word(const struct trace *t)
{
    for (int i = 0; i < t->n; i++) {
        const struct sp_frame *frame = &t->frames[i];
        uintptr_t call = frame->pc - 1;
        uint64_t true_word = call - (uintptr_t)frame_word < (uintptr_t)(frame_word_end - frame_word) ? FRAME_WORD
                             : call - (uintptr_t)frame_word_rbp < (uintptr_t)(frame_word_rbp_end - frame_word_rbp)
                                 ? FRAME_WORD_RBP
                                 : 0;
        if (true_word == 0 || frame->interrupted)
            continue;
        if (frame->rule == SP_RULE_WORD && frame->size != sp_word_length(true_word) + 8)
            return true;
        if ((i + 1 < t->n || is_on_stack(frame->sp)) && sp_word_is_tagged(sp_load(frame->sp)) &&
            sp_load(frame->sp) != true_word)
            return true;
    }
    return false;
}

static bool is_by_word_or_cfi(const struct sp_frame *frame)
{
    return frame->rule == SP_RULE_WORD || frame->rule == SP_RULE_CFI;
}

static void check_same(void)
{
    for (int i = 0; i < trace.n && i < other.n; i++) {
        const struct sp_frame *a = &trace.frames[i], *b = &other.frames[i];
        if (a->pc != b->pc || a->sp != b->sp || a->interrupted != b->interrupted)
            fail("another frame without memory");
        if (a->size != b->size || (a->rule != b->rule && !(is_by_word_or_cfi(a) && is_by_word_or_cfi(b))))
            fail("another rule without memory");
    }
    if (trace.n != other.n || trace.end != other.end)
        fail("another count or end without memory");
}

/* What has been proven of a pc is not asked again, until another's rule takes its place: all walks start with the same.
 */
static uint64_t rules[1 << SP_RULES_LOG2], rules_further;

static void keep_rules(void)
{
    memcpy(rules, sp_rules, sizeof rules);
    rules_further = sp_rules_further;
}

static void put_rules_back(void)
{
    memcpy(sp_rules, rules, sizeof rules);
    sp_rules_further = rules_further;
}

static void walk_and_check(const struct victim *victim, const struct setting *setting, const ucontext_t *context)
{
    keep_rules();
    int max = setting->max == 0 ? MOST : setting->max;
    walks += 2;
    walk(victim, setting->bounds, context, max, &trace);
    check_frames(context, max);
    check_end(max);
    put_rules_back();
    walk_without_memory(victim, setting->bounds, context, max, &other);
    has_met_damage = has_met_damage || has_met_damaged_word(&trace) || has_met_damaged_word(&other);
    if (!has_met_damage)
        check_same();
    if (setting->flags & 2) {
        static void *pcs[MOST];
        walks++;
        put_rules_back();
        set_bounds(victim, setting->bounds, (uintptr_t)victim->context.uc_mcontext.gregs[REG_RSP]);
        sp_thread.unkept = setting->flags & 4 ? 1 : 0;
        int n = sp_backtrace_context(context, pcs, max);
        /* One of the two may have been from memory, and the other not. */
        if (has_met_damage)
            return;
        if (n != trace.n)
            fail("another count by sp_backtrace_context");
        for (int i = 0; i < trace.n; i++)
            if ((uintptr_t)pcs[i] != trace.frames[i].pc)
                fail("another pc by sp_backtrace_context");
    }
}

static uintptr_t near_known(const struct step *step)
{
    uintptr_t pc = known[step->value % known_count];
    /* Mostly the address itself. */
    return step->by < 160 ? pc : pc + step->by - 208;
}

static void apply(const struct step *step, uint64_t *words, size_t count, ucontext_t *context)
{
    static const int registers[] = {REG_RBX, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX, REG_R10, REG_RDI};
    greg_t *sp = &context->uc_mcontext.gregs[REG_RSP];
    uintptr_t start = (uintptr_t)words;
    size_t at = step->at % count, shift = step->by % 16 + 1;
    switch ((step->change & 0x7f) % CHANGES) {
    case FLIP:
        words[at] ^= UINT64_C(1) << step->by % 64;
        break;
    case OVERWRITE:
        words[at] = step->value;
        break;
    case COPY:
        words[at] = words[step->value % count];
        break;
    case SET_PC:
        words[at] = near_known(step);
        break;
    case SET_ADDRESS:
        words[at] = start + (step->by < 128 ? step->value % count * 8 : step->value % (2 * count * 8) - count * 4);
        break;
    case SET_WORD:
        words[at] = UINT64_C(0xFFFFFFFFA5C00000) | (step->value & 0xfffff);
        break;
    case SHIFT:
        if (at + shift >= count)
            break;
        if (step->value & 1)
            memmove(words + at + shift, words + at, (count - at - shift) * 8);
        else
            memmove(words + at, words + at + shift, (count - at - shift) * 8);
        break;
    case MOVE_SP:
        *sp = step->by < 128   ? (greg_t)((uintptr_t)*sp + (uintptr_t)(int16_t)step->at)
              : step->by < 192 ? (greg_t)((uintptr_t)*sp + (uintptr_t)(int16_t)(step->at * 8))
                               : (greg_t)step->value;
        break;
    case MOVE_PC:
        context->uc_mcontext.gregs[REG_RIP] = step->by < 240 ? (greg_t)near_known(step) : (greg_t)step->value;
        break;
    case SET_REGISTER:
        context->uc_mcontext.gregs[registers[step->by % 8]] =
            step->by < 128 ? (greg_t)step->value : (greg_t)(start + step->value % (count * 8));
        break;
    case SET_RBP:
        context->uc_mcontext.gregs[REG_RBP] =
            step->by < 128 ? (greg_t)step->value : (greg_t)(start + step->value % (count * 8));
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* So that an input alone gives what it gave among others. */
static void forget(void)
{
    if (sp_thread.memory != NULL)
        sp_memory_empty(sp_thread.memory);
    sp_thread.unkept = 0;
}

static void know(uintptr_t pc)
{
    if (known_count < KNOWN_MOST)
        known[known_count++] = pc;
}

static void tell_walks(void)
{
    printf("%lu walks of a damaged stack\n", walks);
}

static void prepare(void)
{
    atexit(tell_walks);
    victims_start();
    for (unsigned i = 0; i < VICTIMS; i++) {
        const struct victim *victim = &victims[i];
        uintptr_t sp = (uintptr_t)victim->context.uc_mcontext.gregs[REG_RSP];
        if (victim->control - sp > sizeof sound[i])
            abort();
        memcpy(sound[i], (const void *)sp, victim->control - sp);
        stack_lo = victim->lo;
        stack_hi = victim->hi;
        walk_without_memory(victim, 1, &victim->context, MOST, &trace);
        if (trace.end != SP_END_OUTERMOST || trace.n < 20)
            fail("the sound stack is not walked whole");
        for (int k = 0; k < trace.n; k++)
            know(trace.frames[k].pc);
        outermost[outermost_count++] = trace.frames[trace.n - 1].pc;
    }
    know((uintptr_t)sp_walk);
    know((uintptr_t)sp_backtrace_context);
    know((uintptr_t)qsort);
    know((uintptr_t)prepare);
    know((uintptr_t)LLVMFuzzerTestOneInput);
    /* This thread's own frames, down to its first. */
    sp_thread.stacks = (struct sp_stacks){0};
    trace.n = sp_walk(NULL, trace.frames, MOST, &trace.end);
    for (int k = 0; k < trace.n; k++)
        know(trace.frames[k].pc);
    if (trace.end == SP_END_OUTERMOST)
        outermost[outermost_count++] = trace.frames[trace.n - 1].pc;
    sp_thread.stacks = (struct sp_stacks){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool prepared;
    if (!prepared) {
        prepare();
        prepared = true;
    }
    struct setting setting;
    if (size < sizeof setting)
        return 0;
    memcpy(&setting, data, sizeof setting);
    data += sizeof setting;
    size -= sizeof setting;
    setting.victim %= VICTIMS;

    const struct sp_stacks own = sp_thread.stacks;
    const struct victim *victim = &victims[setting.victim];
    uintptr_t sp = (uintptr_t)victim->context.uc_mcontext.gregs[REG_RSP];
    uint64_t *words = (uint64_t *)sp;
    size_t count = (victim->control - sp) / 8;
    ucontext_t context = victim->context;
    stack_lo = victim->lo;
    stack_hi = victim->hi;
    forget();
    has_met_damage = false;
    if (setting.flags & 1)
        walk(victim, setting.bounds, &context, MOST, &trace);
    for (unsigned i = 0; i < CHANGES_MOST && size >= sizeof(struct step); i++) {
        struct step step;
        memcpy(&step, data, sizeof step);
        data += sizeof step;
        size -= sizeof step;
        apply(&step, words, count, &context);
        if (step.change & 0x80)
            walk_and_check(victim, &setting, &context);
    }
    walk_and_check(victim, &setting, &context);
    memcpy(words, sound[setting.victim], count * 8);
    sp_thread.stacks = own;
    return 0;
}
