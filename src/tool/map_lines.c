/* SPDX-License-Identifier: MIT */
#include "map_lines.h"

#include <stdlib.h>

#include "symbols/lines.h"
#include "symbols/why.h"

struct collected {
    uint64_t address;
    const char *file; /* NULL: a run of code ends here */
    uint32_t line;
    size_t order; /* of two at one address the later one holds, unless it is an end */
};

struct collection {
    struct collected *rows;
    size_t count;
    size_t capacity;
};

static int collect(void *context, uint64_t address, const char *file, uint32_t line)
{
    struct collection *collection = context;
    if (collection->count == collection->capacity) {
        size_t capacity = collection->capacity == 0 ? 1024 : 2 * collection->capacity;
        struct collected *moved = realloc(collection->rows, capacity * sizeof *moved);
        if (moved == NULL)
            return -1;
        collection->rows = moved;
        collection->capacity = capacity;
    }
    collection->rows[collection->count] = (struct collected){address, file, line, collection->count};
    collection->count++;
    return 0;
}

static int by_address(const void *left, const void *right)
{
    const struct collected *a = left, *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if ((a->file == NULL) != (b->file == NULL))
        return a->file == NULL ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* Pool strings are equal where their pointers are: the number of each is found by its address. */
struct numbered {
    const char *file;
    uint32_t number;
};

static int by_pointer(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return a->file < b->file ? -1 : a->file > b->file;
}

static int by_number(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* Numbers the files in the order of their first rows, so that the answer does not depend on where they are kept. */
static int number_files(const struct collection *collection, struct sp_map_lines *lines, struct numbered **table)
{
    struct numbered *files = calloc(collection->count + 1, sizeof *files);
    if (files == NULL)
        return -1;
    size_t count = 0;
    for (size_t i = 0; i < collection->count; i++)
        if (collection->rows[i].file != NULL && (count == 0 || files[count - 1].file != collection->rows[i].file)) {
            files[count] = (struct numbered){collection->rows[i].file, (uint32_t)count};
            count++;
        }
    qsort(files, count, sizeof *files, by_pointer);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && files[kept - 1].file == files[i].file) {
            if (files[i].number < files[kept - 1].number)
                files[kept - 1].number = files[i].number;
        } else {
            files[kept++] = files[i];
        }
    }
    qsort(files, kept, sizeof *files, by_number);
    lines->files = calloc(kept + 1, sizeof *lines->files);
    if (lines->files == NULL) {
        free(files);
        return -1;
    }
    for (size_t i = 0; i < kept; i++) {
        files[i].number = (uint32_t)i;
        lines->files[i] = files[i].file;
    }
    lines->file_count = kept;
    qsort(files, kept, sizeof *files, by_pointer);
    *table = files;
    return 0;
}

static int make_rows(struct collection *collection, struct sp_map_lines *lines)
{
    struct numbered *files;
    if (collection->count > 0)
        qsort(collection->rows, collection->count, sizeof *collection->rows, by_address);
    if (number_files(collection, lines, &files) != 0)
        return -1;
    lines->rows = calloc(collection->count + 1, sizeof *lines->rows);
    for (size_t i = 0; lines->rows != NULL && i < collection->count; i++) {
        const struct collected *from = &collection->rows[i];
        struct sp_map_row row = {.address = from->address};
        if (from->file != NULL) {
            const struct numbered key = {from->file, 0};
            const struct numbered *found = bsearch(&key, files, lines->file_count, sizeof *files, by_pointer);
            row.file = found->number;
            row.line = from->line;
        }
        struct sp_map_row *last = lines->count == 0 ? NULL : &lines->rows[lines->count - 1];
        if (last != NULL && last->address == row.address)
            lines->count--;
        last = lines->count == 0 ? NULL : &lines->rows[lines->count - 1];
        if (last == NULL || last->file != row.file || last->line != row.line)
            lines->rows[lines->count++] = row;
    }
    free(files);
    return lines->rows == NULL ? -1 : 0;
}

int sp_map_lines_read(const struct sp_elf *file, struct sp_map_lines *lines, char **why)
{
    struct collection collection = {0};
    if (!sp_elf_has_dwarf(file)) {
        sp_why(why, "%s: it has no debugging information to take lines from", file->path);
        return -1;
    }
    struct sp_lines *tables = sp_lines_open(file, why);
    if (tables == NULL)
        return -1;
    int status = sp_lines_each_row(tables, &lines->pool, collect, &collection);
    if (status == 0)
        status = make_rows(&collection, lines);
    if (status != 0) {
        sp_why(why, "%s: out of memory", file->path);
    } else if (lines->count == 0) {
        sp_why(why, "%s: its line tables have no rows, or are damaged", file->path);
        status = -1;
    }
    sp_lines_close(tables);
    free(collection.rows);
    return status;
}

void sp_map_lines_free(struct sp_map_lines *lines)
{
    free(lines->rows);
    free(lines->files);
    sp_string_pool_free(&lines->pool);
    *lines = (struct sp_map_lines){0};
}
