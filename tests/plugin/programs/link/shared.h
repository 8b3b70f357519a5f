// SPDX-License-Identifier: MIT
//
// Functions that both files have a copy of, in COMDAT groups, some with a cold part.
#include <stdio.h>
#include <stdlib.h>

template <class T> __attribute__((noipa)) T counted(T value)
{
    if (value > 1000) {
        puts("too much");
        abort();
    }
    printf("counted %d\n", (int)value);
    return value + 1;
}

inline __attribute__((noipa)) int named(const char *name)
{
    return puts(name) > 0;
}

struct shape {
    virtual int corners(int n)
    {
        puts("shape");
        return n;
    }
};
