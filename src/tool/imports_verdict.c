/* SPDX-License-Identifier: MIT */
/* Which library could be loaded when it is first called, and what speaks against it. */
#include "imports_facts.h"
#include "imports_profile.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"

#define NAMED_MAX 3

uint32_t imports_row_reason(const struct imports_row *row)
{
    if (row->reason)
        return row->reason;
    return row->flags & (IMPORTS_ADDRESS_CODE | IMPORTS_ADDRESS_DATA) ? IMPORTS_REASON_POINTER : IMPORTS_REASON_NONE;
}

static __attribute__((format(printf, 2, 3))) void add_reason(struct imports_library *library, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    library->reasons = imports_grow(library->reasons, library->reason_count, sizeof *library->reasons);
    library->reasons[library->reason_count++] = text;
}

static int by_name(const void *left, const void *right)
{
    const struct imports_row *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    if (!order)
        order = strcmp(a->version, b->version);
    return order ? order : strcmp(a->user, b->user);
}

static int by_calls(const void *left, const void *right)
{
    const struct imports_row *a = left, *b = right;
    return a->calls != b->calls ? (a->calls < b->calls ? 1 : -1) : by_name(left, right);
}

/* qsort takes no NULL, which an array without entries is here. */
static void sort(void *items, size_t count, size_t size, int (*order)(const void *, const void *))
{
    if (count)
        qsort(items, count, size, order);
}

static void drop(struct imports_row *row)
{
    free(row->name);
    free(row->version);
    free(row->user);
}

/* One row a user and symbol: a program that ran more than once, and a symbol with two slots, have more. */
static void merge_rows(struct imports_library *library)
{
    size_t kept = 0;
    sort(library->rows, library->row_count, sizeof *library->rows, by_name);
    for (size_t i = 0; i < library->row_count; i++) {
        struct imports_row *row = &library->rows[i], *last = kept ? &library->rows[kept - 1] : NULL;
        if (!last || by_name(last, row) != 0) {
            library->rows[kept++] = *row;
            continue;
        }
        last->calls += row->calls;
        last->flags |= row->flags;
        last->reason = row->reason ? row->reason : last->reason;
        drop(row);
    }
    library->row_count = kept;
}

/* Rows are in the order of their names. */
static void count_rows(struct imports_library *library)
{
    const struct imports_row *last = NULL;
    bool called = false;
    for (size_t i = 0; i < library->row_count; i++) {
        const struct imports_row *row = &library->rows[i];
        library->calls += row->calls;
        if (row->flags & IMPORTS_DATA) {
            library->variables += !(row->flags & (IMPORTS_COPY | IMPORTS_TLS));
            library->copied += (row->flags & IMPORTS_COPY) != 0;
            library->thread_variables += (row->flags & IMPORTS_TLS) != 0;
            continue;
        }
        bool is_pointer = row->flags & (IMPORTS_ADDRESS_CODE | IMPORTS_ADDRESS_DATA);
        library->pointers += is_pointer;
        library->uncounted += !is_pointer && !(row->flags & IMPORTS_COUNTED);
        if (!last || strcmp(last->name, row->name) != 0 || strcmp(last->version, row->version) != 0) {
            library->functions++;
            called = false;
        }
        library->called += !called && row->calls;
        called |= row->calls != 0;
        last = row;
    }
}

/* "a, b, c and 4 more" of the rows with one of the flags (0: any), and none of the others. */
static char *names_of(const struct imports_library *library, uint32_t with, uint32_t without)
{
    char *text = NULL;
    size_t size = 0, count = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < library->row_count; i++) {
        const struct imports_row *row = &library->rows[i];
        if ((with && !(row->flags & with)) || row->flags & without)
            continue;
        if (i && strcmp(row->name, library->rows[i - 1].name) == 0 && row->flags == library->rows[i - 1].flags)
            continue;
        if (count++ < NAMED_MAX)
            fprintf(out, "%s%s", count > 1 ? ", " : "", row->name);
    }
    if (count > NAMED_MAX)
        fprintf(out, " and %zu more", count - NAMED_MAX);
    fclose(out);
    return text;
}

static void add_symbol_reason(struct imports_library *library, size_t count, const char *what, uint32_t with,
                              uint32_t without)
{
    char *names = count ? names_of(library, with, without) : NULL;
    if (names)
        add_reason(library, "%s (%s)", what, names);
    free(names);
}

static void add_constructor_reason(struct imports_library *library)
{
    if (library->constructor_count == 0 && library->more_constructors == 0)
        return;
    const char *more = library->constructor_count + library->more_constructors > 1 ? ", ..." : "";
    const char *first = library->constructor_count ? library->constructors[0] : "not named";
    add_reason(library, "its constructors have effects (%s%s)", first, more);
}

/* The files loaded from the start, and which needs which. */
struct graph {
    const struct imports_profile *profile;
    struct imports_facts **facts;
    bool *called;            /* something calls it */
    const char **because_of; /* a called library that needs it, directly or through others; NULL: none */
};

static size_t file_of(const struct imports_profile *profile, const char *name)
{
    for (size_t i = 0; i < profile->file_count; i++)
        if (strcmp(profile->files[i].name, name) == 0)
            return i;
    return profile->file_count;
}

/* Marks what file number `from` needs as needed because of `root`. */
static void mark_needed(struct graph *graph, size_t from, const char *root)
{
    const char *needed;
    for (size_t i = 0; graph->facts[from] && (needed = imports_facts_needed(graph->facts[from], i)); i++) {
        size_t file = file_of(graph->profile, needed);
        if (file == graph->profile->file_count || graph->because_of[file])
            continue;
        if (strcmp(graph->profile->files[file].name, root) == 0)
            continue;
        graph->because_of[file] = root;
        mark_needed(graph, file, root);
    }
}

/* Marks as needed what the files need of which --to leaves it open whether they are called. */
static void mark_uncounted(struct graph *graph)
{
    const uint32_t others = IMPORTS_OBJECT_WANTED | IMPORTS_OBJECT_MAIN | IMPORTS_OBJECT_LINKER;
    for (size_t i = 0; i < graph->profile->file_count; i++)
        if (!(graph->profile->files[i].flags & others))
            mark_needed(graph, i, graph->profile->files[i].name);
}

/* A library that stays, called or not, keeps what it needs. */
static void find_kept(struct graph *graph, struct imports_profile *profile)
{
    memset(graph->because_of, 0, profile->file_count * sizeof *graph->because_of);
    mark_uncounted(graph);
    for (size_t i = 0; i < profile->library_count; i++) {
        size_t file = file_of(profile, profile->libraries[i].name);
        if (file < profile->file_count && profile->libraries[i].reason_count)
            mark_needed(graph, file, profile->libraries[i].name);
    }
    for (size_t i = 0; i < profile->library_count; i++) {
        size_t file = file_of(profile, profile->libraries[i].name);
        if (file < profile->file_count && !profile->libraries[i].reason_count && graph->because_of[file])
            add_reason(&profile->libraries[i], "it is needed by %s, which stays or may be called",
                       graph->because_of[file]);
    }
}

static struct graph graph_of(const struct imports_profile *profile)
{
    struct graph graph = {profile, calloc(profile->file_count + 1, sizeof *graph.facts),
                          calloc(profile->file_count + 1, sizeof *graph.called),
                          calloc(profile->file_count + 1, sizeof *graph.because_of)};
    if (!graph.facts || !graph.called || !graph.because_of) {
        sp_complain("out of memory");
        exit(SP_EXIT_BAD_INPUT);
    }
    for (size_t i = 0; i < profile->file_count; i++)
        graph.facts[i] = imports_facts_open(profile->files[i].path);
    for (size_t i = 0; i < profile->library_count; i++) {
        size_t file = file_of(profile, profile->libraries[i].name);
        graph.called[file] = file < profile->file_count && profile->libraries[i].calls;
    }
    for (size_t i = 0; i < profile->file_count; i++)
        if (graph.called[i] && !(profile->files[i].flags & IMPORTS_OBJECT_MAIN))
            mark_needed(&graph, i, profile->files[i].name);
    return graph;
}

static void free_graph(struct graph *graph)
{
    for (size_t i = 0; i < graph->profile->file_count; i++)
        imports_facts_close(graph->facts[i]);
    free(graph->facts);
    free(graph->called);
    free(graph->because_of);
}

struct definition {
    const char *name, *version;
    size_t file;
    bool strong;
};

/* All dynamic symbols that are defined, by name; of one name the first in the order of the search is first. */
struct definitions {
    struct definition *items;
    size_t count;
};

static int by_symbol(const void *left, const void *right)
{
    const struct definition *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->file > b->file) - (a->file < b->file);
}

static struct definitions find_definitions(const struct graph *graph)
{
    struct definitions definitions = {0};
    struct imports_fact_symbol symbol;
    for (size_t file = 0; file < graph->profile->file_count; file++)
        for (size_t i = 0; graph->facts[file] && imports_facts_symbol(graph->facts[file], i, &symbol); i++) {
            if (!symbol.defined || !*symbol.name)
                continue;
            definitions.items = imports_grow(definitions.items, definitions.count, sizeof *definitions.items);
            definitions.items[definitions.count++] =
                (struct definition){symbol.name, symbol.version, file, symbol.strong};
        }
    sort(definitions.items, definitions.count, sizeof *definitions.items, by_symbol);
    return definitions;
}

static const struct definition *first_definition(const struct definitions *definitions, const char *name)
{
    size_t low = 0, high = definitions->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(definitions->items[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < definitions->count && strcmp(definitions->items[low].name, name) == 0;
    return found ? &definitions->items[low] : NULL;
}

/* Whether `from` needs `to`, directly or not. seen: one flag a file, all false. */
static bool reaches(const struct graph *graph, size_t from, size_t to, bool *seen)
{
    const char *needed;
    seen[from] = true;
    for (size_t i = 0; graph->facts[from] && (needed = imports_facts_needed(graph->facts[from], i)); i++) {
        size_t file = file_of(graph->profile, needed);
        if (file == to || (file < graph->profile->file_count && !seen[file] && reaches(graph, file, to, seen)))
            return true;
    }
    return false;
}

static struct imports_library *library_of_file(struct imports_profile *profile, size_t file)
{
    for (size_t i = 0; i < profile->library_count; i++)
        if (strcmp(profile->libraries[i].path, profile->files[file].path) == 0)
            return &profile->libraries[i];
    return NULL;
}

/* The C library's own objects cannot be loaded later: the first thing that a program runs is in them. */
static bool is_c_library(const struct imports_library *library)
{
    for (size_t i = 0; i < library->row_count; i++)
        if (strcmp(library->rows[i].name, "__libc_start_main") == 0)
            return true;
    return library->flags & IMPORTS_OBJECT_LINKER;
}

/*
 * The file that a reference of file `user` to the symbol binds to, where that is neither itself nor the program;
 * else the number of files. Two weak definitions of the same name are copies of one another: C++'s, of inline
 * functions.
 */
static size_t binds_to(const struct graph *graph, const struct definitions *definitions, size_t user,
                       const struct imports_fact_symbol *symbol)
{
    size_t none = graph->profile->file_count;
    const struct definition *definition = NULL;
    if (symbol->referenced && *symbol->name)
        definition = first_definition(definitions, symbol->name);
    if (!definition || definition->file == user || graph->profile->files[definition->file].flags & IMPORTS_OBJECT_MAIN)
        return none;
    if (symbol->defined && !(symbol->strong && definition->strong))
        return none;
    bool other_version = *symbol->version && *definition->version && strcmp(symbol->version, definition->version) != 0;
    return other_version ? none : definition->file;
}

/* A library that others bind to without needing it stands in front of one that they do need (as malloc is replaced). */
static void find_interposed(struct graph *graph, struct imports_profile *profile)
{
    struct definitions definitions = find_definitions(graph);
    bool *told = calloc(profile->file_count + 1, sizeof *told), *seen = calloc(profile->file_count + 1, sizeof *seen);
    struct imports_fact_symbol symbol;
    for (size_t user = 1; told && seen && user < profile->file_count; user++)
        for (size_t i = 0; graph->facts[user] && imports_facts_symbol(graph->facts[user], i, &symbol); i++) {
            size_t file = binds_to(graph, &definitions, user, &symbol);
            struct imports_library *library =
                file < profile->file_count && !told[file] ? library_of_file(profile, file) : NULL;
            memset(seen, 0, profile->file_count * sizeof *seen);
            if (!library || is_c_library(library) || reaches(graph, user, file, seen))
                continue;
            told[file] = true;
            add_reason(library, "it provides %s to %s, which does not name it as needed", symbol.name,
                       profile->files[user].name);
        }
    free(definitions.items);
    free(told);
    free(seen);
}

static void find_reasons(const struct graph *graph, struct imports_library *library)
{
    size_t file = file_of(graph->profile, library->name);
    if (library->flags & IMPORTS_OBJECT_LINKER)
        add_reason(library, "it is the dynamic linker");
    else if (is_c_library(library))
        add_reason(library, "it is the C library");
    if (library->flags & IMPORTS_OBJECT_MAIN)
        add_reason(library, "it is the program");
    add_symbol_reason(library, library->variables, "variables of it are bound", IMPORTS_DATA,
                      IMPORTS_COPY | IMPORTS_TLS);
    add_symbol_reason(library, library->copied, "variables of it are copied into the program", IMPORTS_COPY, 0);
    add_symbol_reason(library, library->thread_variables, "thread-local variables of it are bound", IMPORTS_TLS, 0);
    add_symbol_reason(library, library->pointers, "addresses of its functions are taken",
                      IMPORTS_ADDRESS_CODE | IMPORTS_ADDRESS_DATA, IMPORTS_DATA);
    add_symbol_reason(library, library->uncounted, "calls of its functions could not be counted", 0,
                      IMPORTS_COUNTED | IMPORTS_DATA | IMPORTS_ADDRESS_CODE | IMPORTS_ADDRESS_DATA);
    add_constructor_reason(library);
    if (file < graph->profile->file_count && graph->because_of[file])
        add_reason(library, "it is needed by %s, which is called", graph->because_of[file]);
    if (file < graph->profile->file_count && graph->facts[file] && imports_facts_static_tls(graph->facts[file]))
        add_reason(library, "its thread-local variables need room that is reserved at the start (DF_STATIC_TLS)");
}

static void decide(const struct imports_profile *profile, struct imports_library *library, uint64_t start_up)
{
    if (library->flags & IMPORTS_OBJECT_OPENED)
        library->verdict = IMPORTS_VERDICT_OPENED;
    else if (library->reason_count)
        library->verdict = IMPORTS_VERDICT_UNSAFE;
    else if (!profile->is_program_counted)
        library->verdict = IMPORTS_VERDICT_UNKNOWN;
    else if (!library->calls)
        library->verdict = IMPORTS_VERDICT_NEVER;
    else if (!profile->main_time || library->first_time < profile->main_time + start_up)
        library->verdict = IMPORTS_VERDICT_START_UP;
    else
        library->verdict = IMPORTS_VERDICT_LATE;
}

static int by_library_calls(const void *left, const void *right)
{
    const struct imports_library *a = left, *b = right;
    return a->calls != b->calls ? (a->calls < b->calls ? 1 : -1) : strcmp(a->name, b->name);
}

void imports_profile_judge(struct imports_profile *profile, uint64_t start_up)
{
    for (size_t i = 0; i < profile->library_count; i++) {
        struct imports_library *library = &profile->libraries[i];
        merge_rows(library);
        count_rows(library);
        profile->calls += library->calls;
    }
    struct graph graph = graph_of(profile);
    for (size_t i = 0; i < profile->library_count; i++)
        find_reasons(&graph, &profile->libraries[i]);
    find_interposed(&graph, profile);
    find_kept(&graph, profile);
    free_graph(&graph);
    for (size_t i = 0; i < profile->library_count; i++) {
        struct imports_library *library = &profile->libraries[i];
        decide(profile, library, start_up);
        sort(library->rows, library->row_count, sizeof *library->rows, by_calls);
    }
    sort(profile->libraries, profile->library_count, sizeof *profile->libraries, by_library_calls);
}

const char *imports_verdict_word(enum imports_verdict verdict)
{
    static const char *const words[] = {"never-called", "called-late",        "called-at-start-up",
                                        "not-safe",     "opened-at-run-time", "unknown"};
    return words[verdict];
}

const char *imports_verdict_text(enum imports_verdict verdict)
{
    static const char *const texts[] = {
        "never called: safe to load lazily",       "first called after start-up: a candidate for lazy loading",
        "called during start-up: nothing to gain", "not safe to load lazily: ",
        "opened at run time already, by dlopen",   "cannot be told: the program's own calls were not counted"};
    return texts[verdict];
}

const char *imports_reason_text(uint32_t reason)
{
    static const char *const texts[] = {
        [IMPORTS_REASON_NONE] = "counted",
        [IMPORTS_REASON_POINTER] = "its address is taken; calls through the pointer are not counted",
        [IMPORTS_REASON_UNDEFINED] = "a weak reference that nothing defines",
        [IMPORTS_REASON_NO_CODE] = "no instruction was found that uses its slot",
        [IMPORTS_REASON_FILTERED] = "left out by --to or --from",
        [IMPORTS_REASON_FULL] = "more imports than can be counted",
        [IMPORTS_REASON_MEMORY] = "no memory could be mapped in reach of the object",
        [IMPORTS_REASON_PROTECTED] = "its slot, or the code that uses it, cannot be made writable",
        [IMPORTS_REASON_AUDITED] = "LD_AUDIT or LD_PROFILE is in use, which take the place of lazy binding",
        [IMPORTS_REASON_UNREADY] = "the library was opened at run time and has no initialiser to start counting at",
    };
    return reason < sizeof texts / sizeof *texts && texts[reason] ? texts[reason] : "for a reason unknown";
}
