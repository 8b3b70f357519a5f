/* SPDX-License-Identifier: MIT */
/* What is known of each block that is allocated now, and what each thread keeps to record it. */
#ifndef SPWALK_LEAKS_RECORD_H
#define SPWALK_LEAKS_RECORD_H

#include "leaks/data.h"
#include "leaks/slot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LEAKS_CHUNK_SHIFT = 12, /* records come in chunks of 4096 */
    LEAKS_CHUNKS = 1 << 18,
    LEAKS_FREED_MAX = 1024, /* what each thread remembers of the blocks it freed last; a power of two */
};

/*
 * A record is in use while its address is not 0, which is stored last and cleared first: a snapshot takes what it reads
 * for true where address and serial are the same before and after.
 */
struct leaks_record {
    uintptr_t address;
    uint64_t serial;
    uint64_t time; /* of the time stamp counter */
    uint64_t size : 48;
    uint64_t kind : 4;   /* enum leaks_kind */
    uint64_t epoch : 8;  /* which process of a line of forks allocated it */
    uint64_t hidden : 4; /* LEAKS_IGNORED, LEAKS_REPORTED */
    uint32_t trace;      /* where not in use: the next free record, 0: none */
    uint32_t thread;     /* the kernel's number of the thread */
};
_Static_assert(sizeof(struct leaks_record) == 40, "what a block costs");

enum { LEAKS_IGNORED = 1, LEAKS_REPORTED = 2 };

struct leaks_freed {
    uintptr_t address;
    uint64_t size;
    uint64_t serial;
    uint32_t trace;      /* where it was allocated */
    uint32_t free_trace; /* where it was freed; 0: not kept */
};

struct leaks_thread {
    struct leaks_thread *next; /* in the list of all; never taken out */
    uint32_t in_use;
    uint32_t free_first, free_count; /* records */
    uint32_t fresh, fresh_end;       /* record numbers never used yet */
    uint32_t thread;
    uint64_t serial, serial_end; /* the next serials */
    uint64_t freed_count;
    struct leaks_freed freed[LEAKS_FREED_MAX]; /* number n at n % LEAKS_FREED_MAX */
};

extern struct leaks_record *leaks_chunks[LEAKS_CHUNKS];

static inline struct leaks_record *leaks_record_get(uint32_t number)
{
    uint32_t index = number - LEAKS_SLOT_RECORDS;
    return &leaks_chunks[index >> LEAKS_CHUNK_SHIFT][index & ((1 << LEAKS_CHUNK_SHIFT) - 1)];
}

/*
 * The calling thread's own, to be given back after each use. NULL where it is in use already (a handler that allocates
 * while the thread does), or memory is short.
 */
struct leaks_thread *leaks_thread_take(void);
void leaks_thread_give_back(struct leaks_thread *thread);

/* A record that is not in use; 0 where memory is short. */
uint32_t leaks_record_take(struct leaks_thread *thread);
void leaks_record_give_back(struct leaks_thread *thread, uint32_t number);

/* Serials are unique; those of one thread go up. A thread takes 256 at a time, so that a program's first thread alone
 * counts without gaps. */
uint64_t leaks_serial_next(struct leaks_thread *thread);

/* One past the highest record number ever in use. */
uint32_t leaks_record_end(void);

/* The list of all threads' states, for a report. */
struct leaks_thread *leaks_thread_first(void);

/* The control block (%fs:0) of a thread that ever recorded, which lies in its stack's mapping; 0 past the last. */
uintptr_t leaks_control_block(size_t index);

/* In the child of a fork: the other threads are gone. */
void leaks_thread_forked(void);

/* Makes the key whose destructor takes a thread's state back; called once at the start. */
void leaks_thread_start(void);

#endif
