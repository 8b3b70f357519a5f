/* SPDX-License-Identifier: MIT */
/*
 * The frame records that the plugin emits beside the words: which addresses are covered, and by what word.
 *
 * Each text section of a translation unit that holds covered functions has one section `.spwalk.frames`, type SHT_NOTE,
 * flags SHF_ALLOC | SHF_LINK_ORDER linked to that text section, holding one ELF note (gABI, "Note Section"):
 *
 *     namesz 7, descsz 12 * records, type SP_NOTE_FRAMES, name "spwalk\0" padded to 8, desc = records
 *
 * The note is 4-byte aligned. A function split into a hot and a cold part has a record for each.
 */
#ifndef SPWALK_RECORD_H
#define SPWALK_RECORD_H

#include <assert.h>
#include <stdint.h>

#define SP_NOTE_OWNER "spwalk"
#define SP_NOTE_FRAMES 1
#define SP_NOTE_SECTION ".spwalk.frames"

struct sp_record {
    int32_t start; /* address of the part's first byte, less the address of this field */
    uint32_t size; /* bytes of the part */
    uint32_t word; /* low 32 bits of the word that its function's prologue stores; bit 31 is always set */
};

static_assert(sizeof(struct sp_record) == 12, "the record is a file format");

#endif
