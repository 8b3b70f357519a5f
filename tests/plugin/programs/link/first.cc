// SPDX-License-Identifier: MIT
#include "shared.h"

int second(int);

__attribute__((noipa)) void first_dead()
{
    puts("first_dead");
    puts("first_dead");
}

int main()
{
    shape object;
    int sum = object.corners(counted(3)) + named("first") + second(1);
    printf("%d\n", sum);
    return 0;
}
