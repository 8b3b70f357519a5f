/* SPDX-License-Identifier: MIT */
#include "encoding.h"

unsigned sp_encoding_size(uint8_t encoding)
{
    switch (encoding & SP_PE_FORMAT) {
    case SP_PE_UDATA2:
    case SP_PE_SDATA2:
        return 2;
    case SP_PE_UDATA4:
    case SP_PE_SDATA4:
        return 4;
    case SP_PE_ABSPTR:
    case SP_PE_SIGNED:
    case SP_PE_UDATA8:
    case SP_PE_SDATA8:
        return 8;
    default:
        return 0;
    }
}

uint64_t sp_encoding_value(struct sp_bytes *bytes, uint8_t encoding)
{
    switch (encoding & SP_PE_FORMAT) {
    case SP_PE_ABSPTR:
    case SP_PE_SIGNED:
    case SP_PE_UDATA8:
    case SP_PE_SDATA8:
        return sp_bytes_u64(bytes);
    case SP_PE_ULEB128:
        return sp_bytes_uleb(bytes);
    case SP_PE_SLEB128:
        return (uint64_t)sp_bytes_sleb(bytes);
    case SP_PE_UDATA2:
        return sp_bytes_u16(bytes);
    case SP_PE_SDATA2:
        return (uint64_t)(int64_t)(int16_t)sp_bytes_u16(bytes);
    case SP_PE_UDATA4:
        return sp_bytes_u32(bytes);
    case SP_PE_SDATA4:
        return (uint64_t)(int64_t)(int32_t)sp_bytes_u32(bytes);
    default:
        sp_bytes_fail(bytes);
        return 0;
    }
}

uintptr_t sp_encoding_pointer(struct sp_bytes *bytes, uint8_t encoding, const struct sp_encoding_bases *bases,
                              const struct sp_cfi_tables *tables)
{
    if (encoding == SP_PE_OMIT) {
        sp_bytes_fail(bytes);
        return 0;
    }
    if (encoding == SP_PE_ALIGNED) {
        sp_bytes_skip(bytes, -bytes->at & 7);
        return sp_bytes_u64(bytes);
    }
    uintptr_t field = bytes->at;
    uint64_t value = sp_encoding_value(bytes, encoding);
    if (value == 0)
        return 0;

    uintptr_t base = 0;
    switch (encoding & SP_PE_APPLICATION) {
    case 0:
        break;
    case SP_PE_PCREL:
        base = field;
        break;
    case SP_PE_DATAREL:
        base = bases->data;
        break;
    case SP_PE_FUNCREL:
        base = bases->function;
        break;
    default:
        sp_bytes_fail(bytes);
        return 0;
    }
    if ((encoding & SP_PE_APPLICATION) != 0 && base == 0)
        sp_bytes_fail(bytes);
    value += base;

    if (encoding & SP_PE_INDIRECT && !bytes->bad) {
        struct sp_bytes target = sp_bytes_make(value, tables->segment_hi);
        if (value < tables->segment_lo || target.bad) {
            sp_bytes_fail(bytes);
            return 0;
        }
        value = sp_bytes_u64(&target);
        if (target.bad)
            sp_bytes_fail(bytes);
    }
    return bytes->bad ? 0 : value;
}
