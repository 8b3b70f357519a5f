/* SPDX-License-Identifier: MIT */
/*
 * lookups MAP ADDRESSES: microseconds to open a name map and nanoseconds for a look-up in it with the name, cold the
 * first time and warm: the median of 15 passes over all addresses, in the order of the file. All is this thread's CPU
 * time, which others on the machine disturb the least.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "symbols/map_load.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    struct sp_map_view view;
    const void *bytes;
    size_t size, count = 0, found = 0;
    static uint64_t addresses[1000000];
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (file == NULL)
        return 2;
    while (count < 1000000 && fscanf(file, "%" SCNx64, &addresses[count]) == 1)
        count++;
    double opens[15], passes[15];
    for (int i = 0; i < 15; i++) {
        double start = now();
        const char *wrong = sp_map_file_open(argv[1], &view, &bytes, &size);
        opens[i] = now() - start;
        if (wrong != NULL)
            return 2;
        if (i < 14)
            munmap((void *)bytes, size);
    }
    for (int i = 0; i < 15; i++) {
        double start = now();
        found = 0;
        for (size_t k = 0; k < count; k++) {
            struct sp_map_function function;
            enum sp_miss miss;
            char name[256];
            if (sp_map_view_find(&view, addresses[k], &function, &miss))
                found += sp_map_view_name(&view, &function, name, sizeof name) > 0;
        }
        passes[i] = (now() - start) / (double)count;
    }
    double cold = passes[0];
    qsort(opens, 15, sizeof opens[0], by_value);
    qsort(passes, 15, sizeof passes[0], by_value);
    printf("%.1f %.1f %.1f %zu\n", opens[7] / 1e3, cold, passes[7], found);
    return 0;
}
