/* SPDX-License-Identifier: MIT */
/*
 * The frame records that the plugin emits beside the words: which addresses are covered, and by what word.
 *
 * Each text section of a translation unit that holds covered functions has one section `.spwalk.frames`, type SHT_NOTE,
 * flags SHF_ALLOC | SHF_LINK_ORDER linked to that text section, holding one ELF note (gABI, "Note Section"):
 *
 *     namesz 7, descsz 12 * records, type SP_NOTE_FRAMES, name "spwalk\0" padded to 8, desc = records
 *
 * The note is 4-byte aligned. A record is a promise about calls: at each call whose last byte lies in its range, the
 * return address less 1, [SP] is the word. Calls that can't keep it (arguments on the stack, calls before the prologue)
 * lie between records. So a function has a record for its hot and one for its cold part, and one more for each such
 * call; where nothing prevents it the instruction after the call is left out too, so that looking up the return address
 * itself, unlessened, also finds no record.
 *
 * The records of a note are in the order of their addresses. One of size 0 is a break: between the records before and
 * after it something calls. Between two that follow each other without a break nothing does: there is padding, or a
 * function that calls none.
 */
#ifndef SPWALK_RECORD_H
#define SPWALK_RECORD_H

#include <assert.h>
#include <stdint.h>

#define SP_NOTE_OWNER "spwalk"
#define SP_NOTE_FRAMES 1
#define SP_NOTE_SECTION ".spwalk.frames"

struct sp_record {
    int32_t start; /* address of the range's first byte, less the address of this field */
    uint32_t size; /* bytes of the range; 0: a break */
    uint32_t
        word; /* low 32 bits of the word that its function's prologue stores, bit 31 set; of no meaning in a break */
};

static_assert(sizeof(struct sp_record) == 12, "the record is a file format");

#endif
