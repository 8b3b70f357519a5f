// SPDX-License-Identifier: MIT
#include "shared.h"

__attribute__((noipa)) int second_dead(int n)
{
    puts("second_dead");
    return named("second_dead") + n;
}

int second(int n)
{
    shape object;
    return object.corners(counted(4)) + (int)counted(4.5) + named("second") + n;
}
