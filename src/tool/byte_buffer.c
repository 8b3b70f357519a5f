/* SPDX-License-Identifier: MIT */
#include "byte_buffer.h"

#include <stdlib.h>
#include <string.h>

void sp_bytes_add(struct sp_byte_buffer *buffer, const void *bytes, size_t size)
{
    if (size > buffer->capacity - buffer->size) {
        size_t capacity = 2 * buffer->capacity + size + 64;
        uint8_t *moved = buffer->failed ? NULL : realloc(buffer->bytes, capacity);
        if (moved == NULL) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = moved;
        buffer->capacity = capacity;
    }
    if (size > 0)
        memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void sp_bytes_add_int(struct sp_byte_buffer *buffer, uint64_t value, size_t size)
{
    sp_bytes_add(buffer, &value, size);
}

void sp_bytes_add_number(struct sp_byte_buffer *buffer, uint64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    do {
        bytes[size] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
        size++;
    } while (value != 0);
    sp_bytes_add(buffer, bytes, size);
}

void sp_bytes_add_signed(struct sp_byte_buffer *buffer, int64_t value)
{
    uint8_t bytes[10];
    size_t size = 0;
    bool more = true;
    while (more) {
        uint8_t low = (uint8_t)(value & 0x7f);
        value >>= 7;
        more = !((value == 0 && (low & 0x40) == 0) || (value == -1 && (low & 0x40) != 0));
        bytes[size++] = low | (more ? 0x80 : 0);
    }
    sp_bytes_add(buffer, bytes, size);
}
