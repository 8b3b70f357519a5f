/* SPDX-License-Identifier: MIT */
/* The frame records of an ELF file, and whether they are true (word/record.h). */
#ifndef SPWALK_FRAMES_H
#define SPWALK_FRAMES_H

#include "image.h"

struct sp_frame_record {
    uint64_t start; /* a virtual address */
    uint64_t size;
    uint64_t word;
};

struct sp_frame_records {
    struct sp_frame_record *records; /* by start */
    size_t count;
    size_t capacity;
};

/* Reads the notes in the file's PT_NOTE segments. Returns 0; -1 with *why set where they are damaged. */
int sp_frame_records_read(const struct sp_elf *file, const struct sp_image *image, struct sp_frame_records *records,
                          char **why);

/* What became of one thing to be proved. */
enum sp_proof {
    SP_PROVED,
    SP_PROVED_BY_CODE, /* the CFA is in rbp, and the depth of the stack was followed through the instructions */
    SP_NOT_PROVABLE,
    SP_WRONG,
};

struct sp_frames_check {
    const struct sp_image *image;
    struct sp_cfi_tables tables;
    size_t proofs[SP_WRONG + 1]; /* how many calls ended so */
    size_t stores;               /* words found stored, with the CFA as they say */
};

/* Told about each thing that is wrong or not provable: where, and a text. */
typedef void sp_finding(void *context, const struct sp_frame_record *record, uint64_t address, enum sp_proof proof,
                        const char *what);

/* Proves one record; count it in check. Returns whether nothing is wrong with it. */
bool sp_frames_check_record(struct sp_frames_check *check, const struct sp_frame_record *record, sp_finding *finding,
                            void *context);

#endif
