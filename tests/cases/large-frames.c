/* SPDX-License-Identifier: MIT */
/*
 * Case 9: frames of 320 KiB, and above 1 MiB, do not end a walk; a hundred thousand frames are walked, and a buffer
 * that is too short is told. Built with -fstack-clash-protection too, whose loop of probes precedes the word.
 */
#include "tap.h"
#include "walks.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

static struct walk walked;
static volatile int sink;

static NOINLINE int walk_here(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    return 1;
}

static NOINLINE int large(int n)
{
    volatile char block[0x50000];
    block[n] = 1;
    return n != 0 ? large(n - 1) + block[0] : walk_here();
}

static NOINLINE int huge(int n)
{
    volatile char block[0x190000];
    block[n] = 1;
    return n != 0 ? huge(n - 1) + block[0] : walk_here();
}

static void expect_frames(const struct walk *here, int frames, uint32_t size)
{
    EXPECT(walked.end == SP_END_OUTERMOST, "end: %s", sp_end_name(walked.end));
    EXPECT(walked.n == here->n + frames + 1 && walk_ends_with(&walked, here, 1), "%d frames", walked.n);
    for (int i = 1; i <= frames; i++)
        EXPECT(walked.frames[i].size >= size && walked.frames[i].size < size + 8192, "frame %d has %u bytes", i,
               walked.frames[i].size);
}

static NOINLINE void go(void)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < 4; i++) {
        sink = large(12);
        expect_frames(&here, 13, 0x50000);
        sink = huge(3);
        expect_frames(&here, 4, 0x190000);
    }
}

static void *go_in_thread(void *data)
{
    go();
    return data;
}

static void in_a_thread(void *(*f)(void *), size_t size)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    EXPECT(pthread_create(&thread, &attributes, f, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
}

static void frames_of_every_size(void)
{
    /* The first thread has 8 MiB. */
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < 4; i++) {
        sink = large(12);
        expect_frames(&here, 13, 0x50000);
    }
    in_a_thread(go_in_thread, (size_t)32 << 20);
}

enum { DEEP = 100000, SLOTS = 64 };

static struct sp_frame *frames;
static void **pcs;

static NOINLINE int recurse(int n)
{
    if (n > 0)
        return recurse(n - 1) + 1;
    for (int i = 0; i < 3; i++) {
        enum sp_end end;
        int count = sp_walk(NULL, frames, DEEP + 100, &end);
        EXPECT(end == SP_END_OUTERMOST && count > DEEP && count < DEEP + 20, "%d frames, end: %s", count,
               sp_end_name(end));
        for (int k = 1; k < DEEP; k++)
            EXPECT(frames[k].pc == frames[1].pc && frames[k].size == frames[1].size &&
                       frames[k].sp + frames[k].size == frames[k + 1].sp,
                   "frame %d is another", k);
        EXPECT(sp_backtrace(pcs, DEEP + 100) == count, "sp_backtrace finds another number");
        for (int k = 1; k < count; k++)
            EXPECT((uintptr_t)pcs[k] == frames[k].pc, "sp_backtrace finds another frame %d", k);
        EXPECT(sp_walk(NULL, frames, SLOTS, &end) == SLOTS && end == SP_END_FULL, "not told to be cut: %s",
               sp_end_name(end));
        EXPECT(sp_walk(NULL, frames, count, &end) == count && end == SP_END_OUTERMOST,
               "a buffer that just suffices: %s", sp_end_name(end));
        EXPECT(sp_walk(NULL, frames, count - 1, &end) == count - 1 && end == SP_END_FULL,
               "a buffer with one place too few: %s", sp_end_name(end));
    }
    return 0;
}

static void *recurse_in_thread(void *data)
{
    sink = recurse(DEEP);
    return data;
}

static void deep(void)
{
    frames = malloc((DEEP + 100) * sizeof *frames);
    pcs = malloc((DEEP + 100) * sizeof *pcs);
    in_a_thread(recurse_in_thread, (size_t)64 << 20);
}

static NOINLINE int probed(int n)
{
    volatile char block[40000];
    block[n] = 1;
    return block[0] + (n > 0 ? probed(n - 1) : 0);
}

static void call_probed(void *unused)
{
    (void)unused;
    sink = probed(2);
}

static void step_probes(void)
{
    struct tally tally = walk_each_step(call_probed, NULL);
    EXPECT(tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks,
           tally.marked);
}

int main(void)
{
    tap_case("frames of 320 KiB and of 1.6 MiB", frames_of_every_size);
    tap_case("a hundred thousand frames", deep);
    tap_case("each step of probes of the stack", step_probes);
    return tap_end();
}
