/* SPDX-License-Identifier: MIT */
/*
 * The token table of a name map: a byte of a stored name stands for a string. Bytes that occur in names stand for
 * themselves; the others for the pairs of tokens that are most frequent, found by merging them one after the other
 * (byte-pair encoding), so that a name is decoded by looking up each of its bytes.
 */
#ifndef SPWALK_MAP_TOKENS_H
#define SPWALK_MAP_TOKENS_H

#include "symbols/function_table.h"

#define SP_TOKEN_LENGTH_MAX 64

struct sp_tokens {
    uint16_t lengths[256];
    char strings[256][SP_TOKEN_LENGTH_MAX];
    uint16_t merged[65536]; /* for a pair of tokens, first * 256 + second: 1 + which merge makes it one, 0: none */
    uint8_t made[256];      /* the token that a merge makes */
};

/* Finds tokens for the names of a table, by a sample of them. The same table gives the same tokens. Returns 0, or -1:
 * memory is short. */
int sp_tokens_train(struct sp_tokens *tokens, const struct sp_function_table *functions);

/* Rewrites a name in place as tokens; returns their number. */
size_t sp_tokens_encode(const struct sp_tokens *tokens, uint8_t *name, size_t length);

#endif
