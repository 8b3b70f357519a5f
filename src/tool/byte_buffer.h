/* SPDX-License-Identifier: MIT */
/* Bytes that grow at their end. A failure to grow is kept, so that it need be asked for once. */
#ifndef SPWALK_BYTE_BUFFER_H
#define SPWALK_BYTE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_byte_buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    bool failed; /* memory was short: what is there is not whole */
};

void sp_bytes_add(struct sp_byte_buffer *buffer, const void *bytes, size_t size);

/* An integer of size bytes, little-endian. */
void sp_bytes_add_int(struct sp_byte_buffer *buffer, uint64_t value, size_t size);

/* LEB128 (DWARF 5, section 7.6). */
void sp_bytes_add_number(struct sp_byte_buffer *buffer, uint64_t value);
void sp_bytes_add_signed(struct sp_byte_buffer *buffer, int64_t value);

#endif
