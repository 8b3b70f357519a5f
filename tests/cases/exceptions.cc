/* SPDX-License-Identifier: MIT */
/*
 * Case 13: exceptions and longjmp through frames with words and alloca: nothing leaks, and the frame that catches still
 * has a valid word.
 */
extern "C" {
#include "tap.h"
#include <spwalk.h>
}

#include <alloca.h>
#include <csetjmp>
#include <cstdint>
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline, noclone))

enum { MOST = 200 };

struct walk {
    int n;
    enum sp_end end;
    struct sp_frame frames[MOST];
};

static int objects;

struct counted : std::runtime_error {
    explicit counted(const char *text) : std::runtime_error(text)
    {
        objects++;
    }
    counted(const counted &other) : std::runtime_error(other)
    {
        objects++;
    }
    ~counted() override
    {
        objects--;
    }
};

struct cleaner {
    volatile char block[30];
    cleaner()
    {
        objects++;
    }
    ~cleaner()
    {
        objects--;
    }
};

static NOINLINE void walk_to(struct walk *to)
{
    to->n = sp_walk(nullptr, to->frames, MOST, &to->end);
}

static void expect_same_callers(const struct walk &a, const struct walk &b)
{
    EXPECT(a.end == SP_END_OUTERMOST && b.end == SP_END_OUTERMOST && a.n == b.n, "%d and %d frames, ends: %s, %s", a.n,
           b.n, sp_end_name(a.end), sp_end_name(b.end));
    /* walk_to, the function itself, whose calls are at other addresses, its callers. */
    for (int i = 0; i < a.n; i++)
        EXPECT((i < 2 || a.frames[i].pc == b.frames[i].pc) && (i < 1 || a.frames[i].sp == b.frames[i].sp),
               "frame %d: pc %#lx, %#lx", i, (unsigned long)a.frames[i].pc, (unsigned long)b.frames[i].pc);
}

static jmp_buf back;
static struct walk before, after;

static NOINLINE int leave(int n, bool by_jump)
{
    cleaner *held = by_jump ? nullptr : new cleaner;
    volatile char *block = static_cast<volatile char *>(alloca(n * 40 + 16));
    block[0] = 1;
    if (n > 0) {
        try {
            int r = leave(n - 1, by_jump) + block[0];
            delete held;
            return r;
        } catch (const std::logic_error &) {
            return 0;
        } catch (...) {
            walk_to(&after);
            EXPECT(after.end == SP_END_OUTERMOST, "in a catch: %s", sp_end_name(after.end));
            delete held;
            throw;
        }
    }
    delete held;
    if (by_jump)
        longjmp(back, 1);
    throw counted("thrown");
}

static NOINLINE int throw_and_catch(int n)
{
    volatile char *block = static_cast<volatile char *>(alloca(n * 24 + 16));
    block[0] = 2;
    walk_to(&before);
    try {
        leave(n, false);
    } catch (const counted &e) {
        walk_to(&after);
        expect_same_callers(before, after);
    }
    walk_to(&after);
    expect_same_callers(before, after);
    EXPECT(objects == 0, "%d objects are left", objects);
    return block[0];
}

static NOINLINE int jump_back(int n)
{
    volatile char *block = static_cast<volatile char *>(alloca(n * 24 + 16));
    block[0] = 2;
    walk_to(&before);
    if (setjmp(back) == 0)
        leave(n, true);
    walk_to(&after);
    expect_same_callers(before, after);
    return block[0];
}

static void thrown()
{
    for (int i = 0; i < 40; i++)
        throw_and_catch(i % 10);
}

static void jumped()
{
    for (int i = 0; i < 40; i++)
        jump_back(i % 10);
}

int main()
{
    tap_case("thrown through frames with alloca", thrown);
    tap_case("left by longjmp", jumped);
    return tap_end();
}
