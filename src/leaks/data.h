/* SPDX-License-Identifier: MIT */
/*
 * What a program leaves for the tool to name and print: a file of items, each a struct leaks_item and its payload,
 * padded to 8 bytes. The first is a LEAKS_ITEM_PROCESS, the last a LEAKS_ITEM_END; a file without the latter is not
 * complete. The preloaded part writes it under another name first, so that a file with the suffix is complete.
 *
 * Addresses are named by the module that lay there when the trace was taken: a trace tells how often modules had been
 * closed by then, a module from which number to which it was there.
 */
#ifndef SPWALK_LEAKS_DATA_H
#define SPWALK_LEAKS_DATA_H

#include <stdint.h>

#define LEAKS_MAGIC 0x0001534b4c577053u /* "SpWLKS", version 1 */
#define LEAKS_SUFFIX ".leaks"

/* The folder of the data files, set by the tool. */
#define LEAKS_ENVIRONMENT_FOLDER "SPWALK_LEAKS_FOLDER"
/* Options: NAME=VALUE, separated by ':'. */
#define LEAKS_ENVIRONMENT "SPWALK_LEAKS"

enum leaks_item_type {
    LEAKS_ITEM_PROCESS = 1,
    LEAKS_ITEM_MODULE,
    LEAKS_ITEM_TRACE,
    LEAKS_ITEM_BLOCK,
    LEAKS_ITEM_ERROR,
    LEAKS_ITEM_END,
};

struct leaks_item {
    uint32_t type;
    uint32_t size; /* of the payload, without the padding */
};

enum leaks_reason {
    LEAKS_REASON_EXIT = 1, /* the program ends */
    LEAKS_REASON_EXEC,     /* another program takes its place */
    LEAKS_REASON_SIGNAL,   /* it was asked by the signal */
    LEAKS_REASON_CALL,     /* it asked itself, by sp_leaks_report */
};

struct leaks_process {
    uint64_t magic;
    int32_t process, parent;
    uint32_t reason;                  /* enum leaks_reason */
    uint32_t is_scanned;              /* whether lost and reachable were told apart */
    uint64_t time;                    /* nanoseconds since the start of recording */
    uint64_t serials;                 /* allocations made so far; an upper bound where there were several threads */
    uint64_t live_blocks, live_bytes; /* all that are held, those of a parent process and those left out too */
    uint64_t inherited_blocks, inherited_bytes;
    uint64_t lost;        /* blocks without a record or without a stack for want of memory */
    uint64_t own_bytes;   /* the detector's own memory: mapped, not all of it touched */
    uint64_t traces;      /* distinct stacks */
    uint32_t unanswered;  /* threads that could not be stopped for the scan */
    uint32_t is_bypassed; /* the program has an allocator of its own that is called before ours */
    uint32_t is_refused;  /* the program's hook wanted no report: nothing follows */
    uint32_t reserved;
    char program[256];
};

struct leaks_module {
    uint64_t start, end, bias;
    uint32_t first_closes, last_closes; /* it was there while the number of closes was from first to last */
    uint32_t build_id_size;
    uint32_t path_size; /* the path follows, without a 0 */
    uint8_t build_id[32];
};

struct leaks_stack {
    uint32_t number; /* what blocks and errors call it */
    uint32_t closes;
    uint32_t depth;
    uint32_t is_cut;
    /* depth return addresses follow */
};

enum leaks_kind { LEAKS_MALLOC, LEAKS_NEW, LEAKS_NEW_ARRAY };

enum leaks_class {
    LEAKS_UNKNOWN,   /* not scanned */
    LEAKS_DEFINITE,  /* nothing points to it */
    LEAKS_INDIRECT,  /* only blocks that are lost themselves point to it */
    LEAKS_REACHABLE, /* something that the program can still get at points to it */
};

struct leaks_block {
    uint64_t address, size, serial, time; /* nanoseconds since the start of recording */
    uint32_t stack, thread;
    uint8_t kind, class;
    uint16_t dump_size; /* as many bytes of its content follow */
    uint32_t reserved;
};

enum leaks_error_type {
    LEAKS_DOUBLE_FREE = 1,
    LEAKS_INVALID_FREE,
    LEAKS_MISMATCH,
    LEAKS_OVERRUN,
    LEAKS_ERROR_TYPES,
};

struct leaks_error {
    uint32_t type, count;
    uint64_t address, size, serial;
    uint32_t here, allocated, freed; /* stacks; 0: none. here is 0 where it was found at the end */
    uint8_t allocated_as, freed_as;  /* enum leaks_kind */
    uint16_t is_realloc;
    uint64_t found; /* LEAKS_OVERRUN: what stands in the place of the guard word, xored with it: not 0 where changed */
};

#endif
