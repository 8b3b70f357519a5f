/* SPDX-License-Identifier: MIT */
#include "map_tokens.h"

#include <stdlib.h>
#include <string.h>

/* More finds hardly better tokens, and takes longer. */
#define SAMPLE_SIZE ((size_t)256 << 10)

/* A pair that is rarer costs more in the table than it saves. */
#define RARE 4

struct sample {
    uint8_t *tokens; /* names, each followed by 0, which no name has */
    size_t size;
};

static int take_sample(struct sample *sample, const struct sp_function_table *functions)
{
    size_t total = 0;
    for (size_t i = 0; i < functions->count; i++)
        total += functions->functions[i].name_length + 1;
    size_t step = 1 + total / SAMPLE_SIZE;
    sample->tokens = malloc(total + 1);
    if (sample->tokens == NULL)
        return -1;
    for (size_t i = 0; i < functions->count; i += step) {
        size_t length = functions->functions[i].name_length;
        memcpy(sample->tokens + sample->size, functions->functions[i].name, length);
        sample->size += length;
        sample->tokens[sample->size++] = 0;
    }
    return 0;
}

/* Of two that are as frequent the one of lower value, so that the answer does not depend on anything else. */
static unsigned most_frequent(const struct sample *sample, const struct sp_tokens *tokens, uint32_t *counts)
{
    memset(counts, 0, 65536 * sizeof *counts);
    for (size_t i = 0; i + 1 < sample->size; i++)
        if (sample->tokens[i] != 0 && sample->tokens[i + 1] != 0)
            counts[sample->tokens[i] * 256 + sample->tokens[i + 1]]++;
    unsigned best = 0;
    for (unsigned pair = 1; pair < 65536; pair++)
        if (counts[pair] > counts[best] &&
            tokens->lengths[pair / 256] + tokens->lengths[pair % 256] <= SP_TOKEN_LENGTH_MAX)
            best = pair;
    return counts[best] < RARE ? 0 : best;
}

static size_t merge(uint8_t *tokens, size_t size, unsigned pair, uint8_t made)
{
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) {
        bool both = i + 1 < size && tokens[i] * 256u + tokens[i + 1] == pair;
        tokens[kept++] = both ? made : tokens[i];
        i += both;
    }
    return kept;
}

int sp_tokens_train(struct sp_tokens *tokens, const struct sp_function_table *functions)
{
    struct sample sample = {0};
    uint32_t *counts = malloc(65536 * sizeof *counts);
    memset(tokens, 0, sizeof *tokens);
    if (counts == NULL || take_sample(&sample, functions) != 0) {
        free(counts);
        return -1;
    }
    for (size_t i = 0; i < functions->count; i++)
        for (uint32_t k = 0; k < functions->functions[i].name_length; k++) {
            uint8_t byte = (uint8_t)functions->functions[i].name[k];
            tokens->lengths[byte] = 1;
            tokens->strings[byte][0] = (char)byte;
        }
    unsigned merges = 0;
    for (unsigned code = 1; code < 256; code++) {
        if (tokens->lengths[code] != 0)
            continue;
        unsigned pair = most_frequent(&sample, tokens, counts);
        if (pair == 0)
            break;
        unsigned first = pair / 256, second = pair % 256;
        memcpy(tokens->strings[code], tokens->strings[first], tokens->lengths[first]);
        memcpy(tokens->strings[code] + tokens->lengths[first], tokens->strings[second], tokens->lengths[second]);
        tokens->lengths[code] = tokens->lengths[first] + tokens->lengths[second];
        tokens->made[merges] = (uint8_t)code;
        tokens->merged[pair] = (uint16_t)++merges;
        sample.size = merge(sample.tokens, sample.size, pair, (uint8_t)code);
    }
    free(sample.tokens);
    free(counts);
    return 0;
}

size_t sp_tokens_encode(const struct sp_tokens *tokens, uint8_t *name, size_t length)
{
    for (;;) {
        unsigned first = UINT16_MAX, pair = 0;
        for (size_t i = 0; i + 1 < length; i++) {
            unsigned candidate = name[i] * 256u + name[i + 1];
            unsigned order = tokens->merged[candidate];
            if (order != 0 && order < first) {
                first = order;
                pair = candidate;
            }
        }
        if (first == UINT16_MAX)
            return length;
        length = merge(name, length, pair, tokens->made[first - 1]);
    }
}
