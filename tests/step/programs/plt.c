/* SPDX-License-Identifier: MIT */
/* step: libs=-Wl,-z,lazy */
/* First calls of imported functions, through the PLT and ld.so's resolver. */
#include "program.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static NOINLINE int calls(const char *name, double x)
{
    char buffer[64];
    const char *v = getenv(name);
    snprintf(buffer, sizeof buffer, "%s %f", v != NULL ? v : "", x);
    return (int)strlen(buffer) + toupper(buffer[0]) + (int)strtol("17", NULL, 10);
}

int main(void)
{
    fill_stack();
    int total = calls("PATH", 1.5);
    total += calls("HOME", 2.5);
    struct timespec t;
    total += clock_gettime(CLOCK_MONOTONIC, &t) + (int)getppid();
    CHECK(total != 0);
    return 0;
}
