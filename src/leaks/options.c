/* SPDX-License-Identifier: MIT */
#include "leaks/options.h"

#include "leaks/trace.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

struct leaks_options leaks_options = {
    .frames = 64, .guard = 1, .scan = 1, .dump = 64, .dumps = 1, .signal = SIGUSR2, .release = 1, .sample = 1};

#define SMALL(name, most)                                                                                              \
    {                                                                                                                  \
#name, offsetof(struct leaks_options, name), sizeof(uint32_t), most                                            \
    }
#define LARGE(name)                                                                                                    \
    {                                                                                                                  \
#name, offsetof(struct leaks_options, name), sizeof(uint64_t), UINT64_MAX                                      \
    }

static const struct {
    const char *name;
    size_t offset, size;
    uint64_t most;
} known[] = {
    SMALL(frames, LEAKS_FRAMES_MAX),
    SMALL(disabled, 1),
    SMALL(guard, 1),
    SMALL(free_stacks, 1),
    SMALL(scan, 1),
    SMALL(dump, LEAKS_DUMP_MAX),
    SMALL(dumps, 1000),
    SMALL(signal, 64),
    SMALL(follow, 1),
    SMALL(release, 1),
    LARGE(floor),
    LARGE(sample),
};

static void set(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t name = strlen(known[i].name);
        if (length <= name + 1 || strncmp(word, known[i].name, name) != 0 || word[name] != '=')
            continue;
        uint64_t value = 0;
        for (size_t at = name + 1; at < length; at++) {
            if (word[at] < '0' || word[at] > '9' || value > UINT64_MAX / 10 - 1)
                return;
            value = value * 10 + (uint64_t)(word[at] - '0');
        }
        if (value > known[i].most)
            value = known[i].most;
        /* Both sizes begin with their low bytes. */
        memcpy((char *)&leaks_options + known[i].offset, &value, known[i].size);
    }
}

void leaks_options_read(const char *text)
{
    while (*text != '\0') {
        size_t length = strcspn(text, ":");
        set(text, length);
        text += length + (text[length] == ':');
    }
    if (leaks_options.frames == 0)
        leaks_options.frames = 1;
    if (leaks_options.sample == 0)
        leaks_options.sample = 1;
    leaks_options.is_choosy = leaks_options.floor > 0 || leaks_options.sample > 1;
}

bool leaks_chooses(uint64_t size)
{
    static __thread uint64_t since_sample __attribute__((tls_model("initial-exec")));
    if (size < leaks_options.floor || ++since_sample < leaks_options.sample)
        return false;
    since_sample = 0;
    return true;
}
