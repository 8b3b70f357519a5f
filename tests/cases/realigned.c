/* SPDX-License-Identifier: MIT */
/* Case 5: realigned frames, whose CFA is *(rbp - n), with arrays whose size varies. */
#include "tap.h"
#include "walks.h"

#include <alloca.h>
#include <stddef.h>

static volatile int sink;

static NOINLINE int leaf(volatile char *block)
{
    return block[0] + 1;
}

static NOINLINE int realigned(int n)
{
    _Alignas(64) volatile char aligned[64];
    volatile char variable[n * 3 + 1];
    volatile char *allocated = alloca((size_t)n + 8);
    aligned[0] = variable[0] = allocated[0] = 1;
    return leaf(aligned) + leaf(variable) + leaf(allocated) + (n > 0 ? realigned(n - 1) : 0);
}

static void call_realigned(void *unused)
{
    (void)unused;
    sink = realigned(3);
}

static void step_realigned(void)
{
    struct tally tally = walk_each_step(call_realigned, NULL);
    EXPECT(tally.walks > 200, "only %ld steps", tally.walks);
    EXPECT(tally.wrong == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks, tally.marked);
}

static void sample_realigned(void)
{
    struct tally tally = walk_samples(call_realigned, NULL, 100);
    EXPECT(tally.wrong == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks, tally.marked);
}

int main(void)
{
    tap_case("each step of a realigned frame with a variable-length array and alloca", step_realigned);
    tap_case("the same under a profiler", sample_realigned);
    return tap_end();
}
