/* SPDX-License-Identifier: MIT */
/* A function that is called, and whose address is also taken: by code, or in data, where ADDRESS_IN_DATA is defined. */
#include "target.h"

#include <stdio.h>

#ifdef ADDRESS_IN_DATA
void (*pointer)(void) = target_plain;
#endif

__attribute__((noinline, noipa)) static int compare(void (*function)(void))
{
    return (long)function == target_address();
}

__attribute__((noinline, noipa)) static void call(void (*function)(void))
{
    function();
}

int main(void)
{
    for (int i = 0; i < 50; i++)
        target_plain();
#ifdef ADDRESS_IN_DATA
    int equal = compare(pointer);
    for (int i = 0; i < 7; i++)
        call(pointer);
#else
    int equal = compare(target_plain);
    for (int i = 0; i < 7; i++)
        call(target_plain);
#endif
    printf("equal %d\nentered %ld\n", equal, target_entered("target_plain"));
    return 0;
}
