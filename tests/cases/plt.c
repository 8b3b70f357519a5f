/* SPDX-License-Identifier: MIT */
/*
 * Case 2: the PLT, whose CFA is an expression on rip & 15, or whose stubs begin with endbr64, and the loader's lazy
 * resolver, whose CFA is in rbx. Linked with -z lazy, with and without -fcf-protection.
 */
#include "tap.h"
#include "walks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile long sink;

/* None of these has been called yet: each step goes through the resolver. */
static void first_calls(void *unused)
{
    (void)unused;
    sink = getenv("SPWALK_NO_SUCH_VARIABLE") != NULL;
    sink = (long)strpbrk("steps", "p");
    sink = labs(-3);
    sink = (long)strtod("2.5", NULL);
    sink = mktime(&(struct tm){.tm_mday = 1});
}

/* Now the stubs jump on by themselves. */
static void later_calls(void *unused)
{
    first_calls(unused);
}

static void step(void)
{
    struct tally first = walk_each_step(first_calls, NULL), later = walk_each_step(later_calls, NULL);
    EXPECT(first.walks > 3000, "only %ld steps: was it bound lazily?", first.walks);
    EXPECT(first.wrong + later.wrong == 0, "%ld of %ld walks wrong", first.wrong + later.wrong,
           first.walks + later.walks);
    EXPECT(first.marked + later.marked == 0, "%ld walks ended early", first.marked + later.marked);
}

int main(void)
{
    tap_case("each step of the first calls through the PLT", step);
    return tap_end();
}
