/* SPDX-License-Identifier: MIT */
/*
 * The file in which a counted program leaves its counts.
 *
 * The preloaded part creates one such file for each program image (an exec makes a new one, a fork does not), maps it
 * shared and counts in it, so that nothing need run when the program ends: not at _exit, not at exec, not at SIGKILL.
 * The tool reads it after the end. It is sparse; a table's room that nothing used takes no memory.
 *
 *     imports_report | objects | imports | strings | a byte per block: is it some thread's? | counter blocks
 *
 * A counter block is an array of 64-bit counters, one an import, that only one thread writes at a time. The count of
 * an import is the sum over all blocks. Tables are append-only and counted by an atomic in the header; an entry is
 * complete once `ready` is set in it.
 */
#ifndef SPWALK_IMPORTS_REPORT_H
#define SPWALK_IMPORTS_REPORT_H

#include <stdatomic.h>
#include <stdint.h>

#define IMPORTS_MAGIC 0x0001504d49577053u /* "SpWIMP", version 1 */
#define IMPORTS_STACK_MAX 128
#define IMPORTS_CONSTRUCTORS_MAX 16
#define IMPORTS_PATTERNS_MAX 2000
#define IMPORTS_FILE_SIZE_MAX (1ull << 30) /* no report file is larger, its holes counted */

/* The environment variable that names the folder of the report files and of the file "options", an imports_options. */
#define IMPORTS_ENVIRONMENT "SPWALK_IMPORTS"
/* Removing two variables from the environment leaves room for exactly one empty auxiliary vector entry, so where
   LD_PRELOAD itself must stay, the tool adds this one to be removed. */
#define IMPORTS_ENVIRONMENT_FILLER "SPWALK_IMPORTS_FILLER"

struct imports_options {
    uint64_t magic;
    uint32_t all;    /* every object's imports, not the main program's alone */
    uint32_t follow; /* programs started by exec are counted too */
    /* Patterns for fnmatch(3), each ended by '\n', of importing and of imported-from objects; empty: any. */
    char from[IMPORTS_PATTERNS_MAX];
    char to[IMPORTS_PATTERNS_MAX];
};

/* What is known of an object (the program or a shared library). */
enum imports_object_flag {
    IMPORTS_OBJECT_MAIN = 1,
    IMPORTS_OBJECT_OPENED = 2,   /* loaded after the start, by dlopen */
    IMPORTS_OBJECT_CLOSED = 4,   /* unloaded since */
    IMPORTS_OBJECT_SELECTED = 8, /* its imports are counted */
    IMPORTS_OBJECT_LINKER = 16,  /* the dynamic linker */
    IMPORTS_OBJECT_OWN = 32,     /* the preloaded part */
    IMPORTS_OBJECT_VDSO = 64,
    IMPORTS_OBJECT_WANTED = 128, /* calls into it are counted: --to does not leave it out */
};

/* What an object uses an import for, and what was done about it. One import is one symbol of one object. */
enum imports_flag {
    IMPORTS_PLT = 1,             /* called through a JUMP_SLOT, which counts */
    IMPORTS_GOT = 2,             /* called through its GLOB_DAT slot, and these calls are counted */
    IMPORTS_ADDRESS_CODE = 4,    /* its address is loaded by code; calls through that pointer are not counted */
    IMPORTS_ADDRESS_DATA = 8,    /* its address is stored in data; calls through that pointer are not counted */
    IMPORTS_CANONICAL = 16,      /* its address is the program's own PLT entry; calls through that pointer count */
    IMPORTS_DATA = 32,           /* a variable, by its symbol's type */
    IMPORTS_COPY = 64,           /* a variable copied into the program by a copy relocation */
    IMPORTS_TLS = 128,           /* a thread-local variable */
    IMPORTS_WEAK = 256,          /* a weak reference */
    IMPORTS_LAZY = 512,          /* it was not bound yet when it was redirected */
    IMPORTS_IFUNC = 1024,        /* an indirect function: its library chose one of several */
    IMPORTS_COUNTED = 2048,      /* every call that is not through a pointer is counted */
    IMPORTS_POINTER_CALL = 4096, /* its address is loaded by code that does nothing but call it: counted */
    IMPORTS_SETTLED = 8192       /* it was lazy, is bound, and its provider is what it was bound to */
};

/* Why calls of a function are not counted. */
enum imports_reason {
    IMPORTS_REASON_NONE,
    IMPORTS_REASON_POINTER,   /* its address is taken and nothing else refers to it */
    IMPORTS_REASON_UNDEFINED, /* a weak reference that nothing defines */
    IMPORTS_REASON_NO_CODE,   /* no instruction that was found uses its slot */
    IMPORTS_REASON_FILTERED,  /* --to or --from leaves it out */
    IMPORTS_REASON_FULL,      /* more imports than the report file has room for */
    IMPORTS_REASON_MEMORY,    /* no memory in reach of the object */
    IMPORTS_REASON_PROTECTED, /* its slot's page or the calling code's cannot be made writable */
    IMPORTS_REASON_AUDITED,   /* LD_AUDIT or LD_PROFILE has its own stubs there */
    IMPORTS_REASON_UNREADY,   /* a library opened at run time that has no initialiser to count from */
};

struct imports_object {
    _Atomic uint32_t ready;
    uint32_t path;              /* a string: the path it was loaded from */
    uint32_t soname;            /* a string: its DT_SONAME, or "" */
    _Atomic uint32_t flags;     /* of enum imports_object_flag */
    uint32_t constructor_count; /* of all; the table below may hold fewer */
    uint64_t bias, start, end;
    uint64_t constructors[IMPORTS_CONSTRUCTORS_MAX]; /* addresses; init first, then init_array in its order */
    /* The first counted call into it. */
    _Atomic uint32_t called; /* 0: none; 1: the fields below are being written; 2: they are complete */
    uint32_t first_import;
    uint64_t first_time; /* nanoseconds since the start */
    int32_t first_process, first_depth;
    uint32_t first_is_cut, padding;          /* 1: the stack was deeper than there is room for */
    uint64_t first_stack[IMPORTS_STACK_MAX]; /* return addresses, innermost first */
};

struct imports_import {
    _Atomic uint32_t ready;
    uint32_t object;           /* index of the importing object */
    uint32_t name, version;    /* strings; version "" where there is none */
    _Atomic uint32_t provider; /* index + 1 of the object that defines it; 0: not known (yet) */
    _Atomic uint32_t flags;    /* of enum imports_flag */
    uint32_t reason;           /* an enum imports_reason */
    uint32_t padding;
    uint64_t slot; /* address of a slot of it */
};

struct imports_report {
    uint64_t magic;
    uint64_t size;
    uint64_t objects_at, imports_at, strings_at, taken_at, blocks_at; /* offsets in the file */
    uint32_t object_capacity, import_capacity, string_capacity, block_count;
    int32_t process;
    uint32_t padding;
    uint64_t start_time;         /* CLOCK_MONOTONIC in nanoseconds, when the first constructor ran */
    _Atomic uint64_t main_time;  /* since the start, when main was entered; 0: it was not */
    _Atomic uint64_t setup_time; /* nanoseconds that redirecting took at the start */
    _Atomic uint32_t object_count, import_count, string_size;
    _Atomic uint32_t processes; /* the program and its forks */
    _Atomic uint32_t lost;      /* objects or strings that found no room */
};

#endif
