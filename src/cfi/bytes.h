/* SPDX-License-Identifier: MIT */
/*
 * A bounded cursor over memory: no read passes its end.
 *
 * A read that would do so returns 0, sets `bad` and moves the cursor to its end, so that loops over it stop and the
 * caller may check `bad` once after several reads.
 */
#ifndef SPWALK_CFI_BYTES_H
#define SPWALK_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_bytes {
    uintptr_t at; /* at <= end, always */
    uintptr_t end;
    bool bad;
};

static inline struct sp_bytes sp_bytes_make(uintptr_t at, uintptr_t end)
{
    return (struct sp_bytes){at, end, at > end};
}

static inline void sp_bytes_fail(struct sp_bytes *bytes)
{
    bytes->bad = true;
    bytes->at = bytes->end;
}

static inline void sp_bytes_skip(struct sp_bytes *bytes, uint64_t size)
{
    if (size > bytes->end - bytes->at)
        sp_bytes_fail(bytes);
    else
        bytes->at += size;
}

#define SP_BYTES_FIXED(type, name)                                                                                     \
    static inline type name(struct sp_bytes *bytes)                                                                    \
    {                                                                                                                  \
        type value;                                                                                                    \
        if (sizeof value > bytes->end - bytes->at) {                                                                   \
            sp_bytes_fail(bytes);                                                                                      \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(&value, (const void *)bytes->at, sizeof value);                                                         \
        bytes->at += sizeof value;                                                                                     \
        return value;                                                                                                  \
    }

SP_BYTES_FIXED(uint8_t, sp_bytes_u8)
SP_BYTES_FIXED(uint16_t, sp_bytes_u16)
SP_BYTES_FIXED(uint32_t, sp_bytes_u32)
SP_BYTES_FIXED(uint64_t, sp_bytes_u64)

#undef SP_BYTES_FIXED

/*
 * LEB128 (DWARF 5, section 7.6). Padding is taken up to a length that no producer reaches, so that the time is bounded;
 * a value that 64 bits cannot hold is bad.
 */
#define SP_LEB128_LONGEST 16

static inline uint64_t sp_bytes_uleb(struct sp_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < SP_LEB128_LONGEST; i++) {
        uint8_t byte = sp_bytes_u8(bytes);
        uint64_t bits = byte & 0x7f;
        if (i < 9)
            value |= bits << 7 * i;
        else if (i == 9 && bits <= 1)
            value |= bits << 63;
        else if (bits != 0)
            break;
        if (byte < 0x80)
            return value;
    }
    sp_bytes_fail(bytes);
    return 0;
}

static inline int64_t sp_bytes_sleb(struct sp_bytes *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < SP_LEB128_LONGEST; i++) {
        uint8_t byte = sp_bytes_u8(bytes);
        uint64_t bits = byte & 0x7f;
        if (i < 9) {
            value |= bits << 7 * i;
            if (byte < 0x80 && byte & 0x40)
                value |= ~UINT64_C(0) << 7 * (i + 1);
        } else {
            /* The byte that holds bit 63, and those after it, can only repeat the sign. */
            if (i == 9)
                value |= bits << 63;
            if (bits != ((int64_t)value < 0 ? 0x7f : 0))
                break;
        }
        if (byte < 0x80)
            return (int64_t)value;
    }
    sp_bytes_fail(bytes);
    return 0;
}

#endif
