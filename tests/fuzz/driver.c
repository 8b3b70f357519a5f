/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target where there is no libFuzzer: on all files of a corpus, then on N mutations of them, the same ones
 * in each run.
 *
 * Usage: TARGET-short N CORPUS-FOLDER
 *
 * When a mutation crashes, its number is printed; TARGET-short -NUMBER CORPUS-FOLDER runs that one alone.
 */
#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MOST 16384
#define SEEDS_MOST 256

struct input {
    uint8_t bytes[INPUT_MOST];
    size_t size;
};

static struct input seeds[SEEDS_MOST];
static unsigned seed_count;
static uint64_t state;
static volatile uint64_t running; /* the number of the mutation that runs; 0: a file of the corpus */

/* SplitMix64: each number alone gives its mutation, so that one can be repeated without those before it. */
static uint64_t next(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static size_t below(size_t limit)
{
    return limit == 0 ? 0 : next() % limit;
}

static void read_seed(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    struct input *seed = &seeds[seed_count++];
    seed->size = fread(seed->bytes, 1, sizeof seed->bytes, file);
    fclose(file);
}

static void read_seeds(const char *folder)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    if (count < 0) {
        perror(folder);
        exit(2);
    }
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.' && seed_count < SEEDS_MOST)
            read_seed(folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    if (seed_count == 0) {
        fprintf(stderr, "%s: no files\n", folder);
        exit(2);
    }
}

/* Makes room for, or takes away, bytes at a place. */
static void resize(struct input *input, size_t at, size_t removed, size_t added)
{
    if (removed > input->size - at)
        removed = input->size - at;
    if (input->size - removed + added > INPUT_MOST)
        added = 0;
    memmove(input->bytes + at + added, input->bytes + at + removed, input->size - at - removed);
    for (size_t i = 0; i < added; i++)
        input->bytes[at + i] = (uint8_t)next();
    input->size = input->size - removed + added;
}

static void put_number(struct input *input, size_t at)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       UINT64_C(0x7fffffffffffffff),
                                       UINT64_MAX};
    uint64_t number = numbers[below(sizeof numbers / sizeof numbers[0])] + below(5) - 2;
    size_t size = (size_t)1 << below(4);
    if (size <= input->size - at)
        memcpy(input->bytes + at, &number, size);
}

static void splice(struct input *input, size_t at)
{
    const struct input *other = &seeds[below(seed_count)];
    size_t from = below(other->size);
    size_t size = below(other->size - from + 1);
    if (size > INPUT_MOST - at)
        size = INPUT_MOST - at;
    memcpy(input->bytes + at, other->bytes + from, size);
    if (at + size > input->size)
        input->size = at + size;
}

static void mutate(struct input *input)
{
    size_t at = below(input->size);
    switch (below(8)) {
    case 0:
        if (input->size != 0)
            input->bytes[at] ^= (uint8_t)(1 << below(8));
        break;
    case 1:
    case 2:
        if (input->size != 0)
            input->bytes[at] = (uint8_t)next();
        break;
    case 3:
        put_number(input, at);
        break;
    case 4:
        resize(input, at, 0, 1 + below(8));
        break;
    case 5:
        resize(input, at, 1 + below(8), 0);
        break;
    case 6:
        splice(input, at);
        break;
    default:
        if (below(16) == 0) /* cut off */
            input->size = at;
    }
}

static void tell_number(void)
{
    fprintf(stderr, "mutation %lu\n", (unsigned long)running);
}

static void on_abort(int signal_number)
{
    (void)signal_number;
    tell_number();
    signal(SIGABRT, SIG_DFL);
    abort();
}

static void run_mutation(uint64_t number)
{
    static struct input input;
    running = number;
    state = number * UINT64_C(0xd1342543de82ef95);
    const struct input *seed = &seeds[below(seed_count)];
    memcpy(input.bytes, seed->bytes, seed->size);
    input.size = seed->size;
    for (size_t i = below(8) + 1; i > 0; i--)
        mutate(&input);
    LLVMFuzzerTestOneInput(input.bytes, input.size);
}

int main(int argc, char **argv)
{
    char *end;
    long count = argc == 3 ? strtol(argv[1], &end, 10) : 0;
    if (argc != 3 || *end != '\0') {
        fprintf(stderr, "usage: %s N CORPUS-FOLDER\n", argv[0]);
        return 2;
    }
    read_seeds(argv[2]);
    __sanitizer_set_death_callback(tell_number);
    signal(SIGABRT, on_abort);
    if (count < 0) {
        run_mutation((uint64_t)-count);
        return 0;
    }
    for (unsigned i = 0; i < seed_count; i++)
        LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
    for (long number = 1; number <= count; number++)
        run_mutation((uint64_t)number);
    printf("%u files and %ld mutations of them: no crash\n", seed_count, count);
    return 0;
}
