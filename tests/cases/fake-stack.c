/* SPDX-License-Identifier: MIT */
/* Case 10: AddressSanitizer's fake stack, whose address may be in rbp, and whose bytes are poisoned. */
#include "tap.h"
#include "walks.h"

#include <stdio.h>

static struct walk walked;
static char *volatile escaped;

__attribute__((no_sanitize_address)) static NOINLINE int walk_here(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    return 1;
}

static NOINLINE int with_array(int n)
{
    char array[100];
    array[n] = 1;
    escaped = array;
    return (n > 0 ? with_array(n - 1) : walk_here()) + array[n];
}

static NOINLINE int with_variable_array(int n)
{
    char array[n * 10 + 1];
    array[n] = 1;
    escaped = array;
    return with_array(n) + array[n];
}

static void go(void *unused)
{
    (void)unused;
    volatile int r = with_variable_array(5);
    (void)r;
}

static void walk_below(void)
{
    struct walk here;
    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (int i = 0; i < 5; i++) {
        volatile int r = with_variable_array(5);
        (void)r;
        EXPECT(walked.end == SP_END_OUTERMOST && walked.n == here.n + 8 && walk_ends_with(&walked, &here, 1),
               "%d frames, end: %s", walked.n, sp_end_name(walked.end));
    }
}

static void sample(void)
{
    struct tally tally = walk_samples(go, NULL, 200);
    EXPECT(tally.wrong == 0 && tally.marked == 0, "%ld of %ld walks wrong, %ld marked", tally.wrong, tally.walks,
           tally.marked);
}

/* Without this it tests nothing. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_stack_use_after_return=1:abort_on_error=1";
}

int main(void)
{
    tap_case("below functions with escaping arrays", walk_below);
    tap_case("the same under a profiler", sample);
    return tap_end();
}
