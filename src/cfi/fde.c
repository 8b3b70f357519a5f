/* SPDX-License-Identifier: MIT */
#include "fde.h"

#include "bytes.h"
#include "encoding.h"

/* There are seven letters. The bound keeps the time that a CIE takes constant. */
#define AUGMENTATION_LONGEST 16

enum sp_cfi_status sp_entry_read(const struct sp_cfi_tables *tables, uintptr_t address, struct sp_entry *entry)
{
    if (address < tables->segment_lo)
        return SP_CFI_BAD;
    struct sp_bytes bytes = sp_bytes_make(address, tables->segment_hi);
    if (bytes.bad)
        return SP_CFI_BAD;
    uint64_t length = sp_bytes_u32(&bytes);
    if (length == 0xffffffff)
        length = sp_bytes_u64(&bytes);
    if (bytes.bad || length > bytes.end - bytes.at)
        return SP_CFI_BAD;
    if (length == 0)
        return SP_CFI_NONE;
    *entry = (struct sp_entry){bytes.at, bytes.at + length};
    return SP_CFI_OK;
}

/* Reads what an augmentation string calls for; `bytes` is at the first such datum. */
static void read_augmentation(struct sp_bytes *bytes, uintptr_t string, const struct sp_cfi_tables *tables,
                              struct sp_cie *cie)
{
    const char *letter = (const char *)string;
    uintptr_t data_end = 0;
    if (*letter == 'z') {
        cie->augmentation_has_size = true;
        uint64_t size = sp_bytes_uleb(bytes);
        if (size > bytes->end - bytes->at) {
            sp_bytes_fail(bytes);
            return;
        }
        data_end = bytes->at + size;
        letter++;
    }
    const struct sp_encoding_bases no_bases = {0, 0};
    for (; *letter != '\0' && !bytes->bad; letter++) {
        if (*letter == 'R') {
            cie->pointer_encoding = sp_bytes_u8(bytes);
        } else if (*letter == 'L') {
            sp_bytes_u8(bytes);
        } else if (*letter == 'P') {
            uint8_t encoding = sp_bytes_u8(bytes);
            if (encoding == SP_PE_ALIGNED)
                sp_encoding_pointer(bytes, encoding, &no_bases, tables);
            else
                sp_encoding_value(bytes, encoding);
        } else if (*letter == 'S') {
            cie->signal_frame = true;
        } else if (*letter != 'B') {
            /* Unknown. The size tells where its data end, but not whether what follows changes the rows' meaning. */
            if (data_end == 0)
                sp_bytes_fail(bytes);
            break;
        }
    }
    if (data_end != 0) {
        if (bytes->at > data_end)
            sp_bytes_fail(bytes);
        else
            bytes->at = data_end;
    }
}

static bool read_cie(const struct sp_cfi_tables *tables, uintptr_t address, struct sp_cie *cie)
{
    struct sp_entry entry;
    if (sp_entry_read(tables, address, &entry) != SP_CFI_OK)
        return false;
    *cie = (struct sp_cie){.pointer_encoding = SP_PE_ABSPTR};
    struct sp_bytes bytes = sp_bytes_make(entry.body, entry.end);
    uint32_t id = sp_bytes_u32(&bytes);
    uint8_t version = sp_bytes_u8(&bytes);
    if (bytes.bad || id != 0 || (version != 1 && version != 3 && version != 4))
        return false;

    uintptr_t augmentation = bytes.at;
    while (sp_bytes_u8(&bytes) != 0)
        if (bytes.at - augmentation > AUGMENTATION_LONGEST)
            return false;
    if (bytes.bad)
        return false;
    const char *letters = (const char *)augmentation;
    if (letters[0] == 'e' && letters[1] == 'h') { /* GCC 2: a pointer to exception data */
        sp_bytes_u64(&bytes);
        augmentation += 2;
    }
    if (version == 4) {
        uint8_t address_size = sp_bytes_u8(&bytes);
        uint8_t segment_selector_size = sp_bytes_u8(&bytes);
        if (address_size != 8 || segment_selector_size != 0)
            return false;
    }
    cie->code_alignment = sp_bytes_uleb(&bytes);
    cie->data_alignment = sp_bytes_sleb(&bytes);
    uint64_t return_register = version == 1 ? sp_bytes_u8(&bytes) : sp_bytes_uleb(&bytes);
    if (bytes.bad || return_register >= SP_CFI_REGISTERS)
        return false;
    cie->return_register = (uint8_t)return_register;
    read_augmentation(&bytes, augmentation, tables, cie);
    if (bytes.bad)
        return false;
    cie->instructions = bytes.at;
    cie->instructions_end = bytes.end;
    cie->address = address;
    return true;
}

enum sp_cfi_status sp_fde_read(const struct sp_cfi_tables *tables, const struct sp_entry *entry, struct sp_fde *fde)
{
    struct sp_bytes bytes = sp_bytes_make(entry->body, entry->end);
    /* Four bytes also after a 64-bit length, as the Linux Standard Base has it. */
    uint32_t cie_offset = sp_bytes_u32(&bytes);
    if (bytes.bad)
        return SP_CFI_BAD;
    if (cie_offset == 0)
        return SP_CFI_NONE;
    uintptr_t cie_address = entry->body - cie_offset;
    if (cie_address != fde->cie.address) {
        if (!read_cie(tables, cie_address, &fde->cie)) {
            fde->cie.address = 0;
            return SP_CFI_BAD;
        }
    }

    const struct sp_cie *cie = &fde->cie;
    const struct sp_encoding_bases bases = {tables->got, 0};
    fde->lo = sp_encoding_pointer(&bytes, cie->pointer_encoding, &bases, tables);
    uint64_t size = sp_encoding_value(&bytes, cie->pointer_encoding & SP_PE_FORMAT);
    if (cie->augmentation_has_size)
        sp_bytes_skip(&bytes, sp_bytes_uleb(&bytes));
    if (bytes.bad)
        return SP_CFI_BAD;
    if (fde->lo == 0)
        return SP_CFI_NONE;
    if (__builtin_add_overflow(fde->lo, size, &fde->hi))
        return SP_CFI_BAD;
    fde->instructions = bytes.at;
    fde->instructions_end = bytes.end;
    return SP_CFI_OK;
}
