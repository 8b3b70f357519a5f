/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of a call stack.
 *
 * Two halves. The symbolizer reads files: ELF symbols, separate debug files, DWARF lines; it allocates and is for
 * ordinary code. sp_print_backtrace, sp_backtrace_symbols_fd and the name maps read only what is mapped already and may
 * be used in a signal handler. Each function says which it is.
 *
 * An address that no function is known to contain is never given its neighbour's name: enum sp_miss says what is there
 * instead.
 */
#ifndef SPWALK_SYMBOLS_H
#define SPWALK_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Where a function's name was found, in the order in which they are asked. */
enum sp_source {
    SP_SOURCE_NONE = 0,
    SP_SOURCE_SYMTAB = 1,     /* the module's own .symtab */
    SP_SOURCE_DEBUG_FILE = 2, /* the .symtab of its separate debug file, by build-id or .gnu_debuglink */
    SP_SOURCE_DEBUGDATA = 3,  /* the .symtab within its .gnu_debugdata (xz) */
    SP_SOURCE_DYNSYM = 4,     /* its .dynsym */
    SP_SOURCE_MAP = 5,        /* an .spmap loaded with sp_map_load */
};

/* Why an address has no function. */
enum sp_miss {
    SP_MISS_NONE = 0,         /* it has one */
    SP_MISS_NO_MODULE = 1,    /* no module of the process, or of the list, contains it */
    SP_MISS_NO_SYMBOLS = 2,   /* its module has no function symbols in any source, or is stripped to its .dynsym, which
                                 has what it exports alone and not the address */
    SP_MISS_BEFORE_FIRST = 3, /* below the module's first function */
    SP_MISS_AFTER_LAST = 4,   /* past the end of the module's last function */
    SP_MISS_GAP = 5,          /* between two functions, in neither */
    SP_MISS_UNREADABLE = 6,   /* its module's file cannot be used; sp_symbol.note says why */
};

/*
 * A module: an ELF file loaded at some address. All addresses are those of the process it was loaded in; start and end
 * bound its segments, and address - bias is the file's own virtual address (p_vaddr, st_value).
 */
struct sp_loaded_module {
    const char *path;
    uintptr_t start;
    uintptr_t end; /* the first address past it */
    uintptr_t bias;
    const uint8_t *build_id; /* NULL where it has none */
    size_t build_id_size;
};

/* One function at an address: the function itself, or one that was inlined into it. */
struct sp_location {
    const char *function; /* NULL: not known */
    const char *file;     /* NULL: not known */
    uint32_t line;        /* 0: not known. For an inlined callee's caller: the line of the call */
    uint32_t column;      /* 0: not known */
};

/* What is known about one address. */
struct sp_symbol {
    uintptr_t pc;            /* as asked */
    const char *module;      /* the module's path; NULL: in no module */
    const uint8_t *build_id; /* NULL: the module has none, or is not known */
    size_t build_id_size;
    uint64_t module_offset;   /* pc - bias: the file's virtual address, as addr2line takes it */
    const char *function;     /* the symbol's name; NULL where miss is not SP_MISS_NONE */
    uint64_t function_offset; /* pc - the function's start */
    uint64_t function_size;   /* 0: the symbol has no size */
    enum sp_source source;    /* where function is from */
    enum sp_miss miss;
    /* With SP_LINES and debug information: the functions inlined at the address, innermost first, and last the function
     * that contains them. Else empty. */
    const struct sp_location *locations;
    size_t location_count;
    /* What was refused on the way, and why (a debug file of another build-id, a wrong CRC, a damaged table); else
     * NULL. */
    const char *note;
    int damaged; /* 1: note tells of damage in the module's file or its debug file, so that the answer may lack what it
                    could not read */
};

/* What a symbolizer is to do; or-ed. */
enum sp_symbolizer_flag {
    SP_LINES = 1,          /* fill sp_symbol.locations from DWARF */
    SP_DEMANGLE = 2,       /* C++ names as in the source; needs libstdc++.so.6, without which they stay as they are */
    SP_NO_DEBUG_FILES = 4, /* read modules alone, follow no build-id and no .gnu_debuglink */
    SP_NEAREST = 8,        /* in a gap and after the last: name the nearest function below. miss is kept, so that the
                              answer can be told from a true one */
};

struct sp_modules;
struct sp_symbolizer;

/*
 * The modules of this process as they are now, in a list that stays as it is: a trace taken while it was true can be
 * named by it after dlclose.
 *
 * Returns a list to be freed with sp_modules_free, or NULL where memory is short.
 * Not async-signal-safe. Thread-safe. See dl_iterate_phdr(3).
 */
struct sp_modules *sp_modules_now(void);

/*
 * An empty list, for modules of another process or of files that run nowhere.
 *
 * Returns a list to be freed with sp_modules_free, or NULL where memory is short.
 * Not async-signal-safe. Thread-safe.
 */
struct sp_modules *sp_modules_new(void);

/*
 * Adds a module.
 *
 * module: copied, with its path and build-id. Where start and end are both 0 they are taken from the file's program
 * headers and bias; where build_id is NULL the file at path is believed to be the right one.
 *
 * Returns 0; -1 with errno set (ENOMEM; EINVAL: modules or module NULL, no path, end below start, a build-id of more
 * than 64 bytes, or overlapping another module; else what reading the file gave, ENOEXEC where it is no ELF file).
 * Not async-signal-safe. One thread at a time may use a list while it is added to.
 */
int sp_modules_add(struct sp_modules *modules, const struct sp_loaded_module *module);

/* How many modules are in the list; 0 where it is NULL. Thread-safe. */
size_t sp_modules_count(const struct sp_modules *modules);

/*
 * The module of an index below sp_modules_count, in the order of their addresses; NULL past it.
 * Valid until the list is added to or freed. Thread-safe.
 */
const struct sp_loaded_module *sp_modules_get(const struct sp_modules *modules, size_t index);

/* Frees a list; NULL is allowed. Not async-signal-safe. */
void sp_modules_free(struct sp_modules *modules);

/*
 * A symbolizer. It opens each module's files at the first address in it and keeps what it read.
 *
 * flags: of enum sp_symbolizer_flag.
 * debug_path: folders of separate debug files, colon-separated; NULL: "/usr/lib/debug". Copied.
 *
 * Returns a symbolizer to be freed with sp_symbolizer_free, or NULL where memory is short.
 * Not async-signal-safe. A symbolizer is for one thread at a time; any number of them may be used at once.
 */
struct sp_symbolizer *sp_symbolizer_new(unsigned flags, const char *debug_path);

/*
 * Names one address.
 *
 * modules: the list that the address belongs to; NULL: this process as it is now. Modules loaded or gone since the last
 * call are noticed.
 * pc: a pc of a walk.
 * interrupted: as in struct sp_frame: 0: pc is a return address, and what is looked up is its call, at pc - 1, which
 * may lie in the function before (a call that does not return may be a function's last instruction); else pc itself.
 * symbol: filled in whole, in any case but -1. Its strings live until sp_symbolizer_free, its locations and build_id
 * until the next call.
 *
 * Returns 1 where a function was found, 0 where not (symbol->miss says why), -1 with errno ENOMEM, or EINVAL where
 * symbolizer or symbol is NULL.
 * Not async-signal-safe.
 */
int sp_symbolize(struct sp_symbolizer *symbolizer, const struct sp_modules *modules, uintptr_t pc, int interrupted,
                 struct sp_symbol *symbol);

/* Frees a symbolizer and all strings it gave; NULL is allowed. Not async-signal-safe. */
void sp_symbolizer_free(struct sp_symbolizer *symbolizer);

/* "symtab", "debug file", "debugdata", "dynsym", "map", "none". Static. Async-signal-safe, thread-safe. */
const char *sp_source_name(enum sp_source source);

/*
 * "in no module", "no symbols", "before the first function", "after the last function", "between functions",
 * "unreadable", "none". Static. Async-signal-safe, thread-safe.
 */
const char *sp_miss_name(enum sp_miss miss);

/*
 * Loads a name map (spmap(5)) for the rest of the process's life: from then on it names addresses of its module in
 * sp_print_backtrace and in every symbolizer.
 *
 * path: a file written by spwalk map. It is mapped as it is: replace it by renaming another one over it, as spwalk map
 * does; one that is cut short while it is mapped ends the process at the next look-up.
 * module: NULL: the map is for the modules of the build-id in it. Else it is for the module whose path or file name
 * this is; one with a build-id must then still match the module's. A map without a build-id needs it. why: where a
 * static text is stored that says what was wrong, or NULL.
 *
 * Returns 0; -1 with *why set where it cannot be read, is not a map, or is damaged, or where there is nothing to match
 * it to a module by, or 64 maps are loaded already.
 * Not async-signal-safe. Thread-safe.
 */
int sp_map_load(const char *path, const char *module, const char **why);

/*
 * Walks the calling thread's stack from its caller and writes it, a line a frame:
 *
 *     #0  0x00005581d2a0119b  /usr/bin/prog+0x119b  parse+0x2b
 *
 * Names are from the module's mapped .dynsym, then from a map loaded for it, as they are (not demangled); where neither
 * has one the line ends after the module. A stack that was not walked to its end closes with a line that says why, and
 * of one deeper than 256 frames the innermost 192 and the outermost 64 are written, with the number left out between.
 *
 * fd: an open descriptor. An error in writing ends it.
 *
 * Returns how many frames were walked, or -1 where fd could not be written to; errno is as before.
 * Async-signal-safe, thread-safe, re-entrant: no malloc, no lock, no stdio. It uses 8 KiB of stack with the
 * walk, and for a stack deeper than 100 frames memory that it maps and unmaps again.
 */
int sp_print_backtrace(int fd);

/*
 * The same from a handler's ucontext, as sp_backtrace_context takes it. NULL is as sp_print_backtrace.
 * Async-signal-safe, thread-safe, re-entrant.
 */
int sp_print_backtrace_context(const void *ucontext, int fd);

/*
 * The addresses of a backtrace as text, in backtrace_symbols(3)'s shape: "module(function+0xoffset) [0xpc]",
 * "module(+0xoffset) [0xpc]" where there is no name, "[0xpc]" where there is no module. The names are a symbolizer's,
 * so static functions and stripped modules with debug files have theirs.
 *
 * pcs: size addresses of sp_backtrace or backtrace(3). All are taken for return addresses, but the one that follows a
 * signal frame. The first of sp_backtrace_context is none: use sp_print_backtrace_context for it, or sp_walk and
 * sp_symbolize.
 *
 * Returns an array of size strings in one block to be freed with free(3); NULL with errno set where memory is short or
 * size < 0.
 * Not async-signal-safe. Thread-safe.
 */
char **sp_backtrace_symbols(void *const *pcs, int size);

/*
 * The same, written to fd, a line an address, with names from what is mapped alone as in sp_print_backtrace.
 * Async-signal-safe, thread-safe, re-entrant; errno is as before.
 */
void sp_backtrace_symbols_fd(void *const *pcs, int size, int fd);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
