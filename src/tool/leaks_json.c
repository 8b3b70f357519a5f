/* SPDX-License-Identifier: MIT */
#include "leaks_profile.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json_text.h"

static json_t *address(uint64_t value)
{
    return json_sprintf("0x%llx", (unsigned long long)value);
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *stack_array(const struct leaks_named_stack *stack)
{
    json_t *array = json_array();
    for (size_t i = 0; i < stack->count; i++) {
        const struct leaks_frame *frame = &stack->frames[i];
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "pc", address(frame->pc), "function",
                             sp_json_text(frame->function), "file", sp_json_text(frame->file), "line",
                             frame->line ? number(frame->line) : json_null(), "module", sp_json_text(frame->module),
                             "offset", address(frame->offset), "inlined", frame->is_inlined));
    }
    return array;
}

static json_t *block_object(const struct leaks_block_item *item)
{
    json_t *object = json_pack("{s:o, s:o, s:o, s:o, s:f}", "address", address(item->block.address), "size",
                               number(item->block.size), "serial", number(item->block.serial), "thread",
                               number(item->block.thread), "ms", (double)item->block.time / 1e6);
    if (item->block.dump_size == 0)
        return object;
    char *hex = malloc(2u * item->block.dump_size + 1);
    for (unsigned i = 0; i < item->block.dump_size && hex != NULL; i++)
        sprintf(hex + 2 * i, "%02x", item->dump[i]);
    json_object_set_new(object, "content", sp_json_text(hex));
    free(hex);
    return object;
}

static json_t *group_object(const struct leaks_group *group)
{
    json_t *blocks = json_array();
    for (uint64_t i = 0; i < group->blocks; i++)
        json_array_append_new(blocks, block_object(group->items[i]));
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:o}", "class", leaks_class_name(group->class), "allocated_by",
                     leaks_kind_name(group->kind), "count", number(group->blocks), "bytes", number(group->bytes),
                     "stack", stack_array(&group->stack), "stack_is_cut", group->stack.is_cut, "blocks", blocks);
}

static json_t *error_object(const struct leaks_named_error *named)
{
    const struct leaks_error *error = named->error;
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o}", "type", leaks_error_name(error->type),
                     "count", number(error->count), "address", address(error->address), "size", number(error->size),
                     "serial", number(error->serial), "allocated_by", leaks_kind_name(error->allocated_as), "freed_by",
                     leaks_release_name(error->freed_as, error->is_realloc), "here", stack_array(&named->here),
                     "allocated", stack_array(&named->allocated), "freed_before", stack_array(&named->freed));
}

static json_t *total_object(const struct leaks_total *total)
{
    return json_pack("{s:o, s:o}", "count", number(total->blocks), "bytes", number(total->bytes));
}

/* What there is of a report but its leaks. */
static json_t *report_object(const struct leaks_profile *profile)
{
    const struct leaks_process *process = &profile->data->process;
    json_t *errors = json_array(), *totals = json_object();
    for (size_t i = 0; i < profile->error_count; i++)
        if (profile->errors[i].suppression == NULL)
            json_array_append_new(errors, error_object(&profile->errors[i]));
    for (int class = 0; class <= LEAKS_REACHABLE; class ++)
        json_object_set_new(totals, leaks_class_name((enum leaks_class) class), total_object(&profile->totals[class]));
    json_object_set_new(totals, "suppressed", total_object(&profile->suppressed));
    struct leaks_total inherited = {process->inherited_blocks, process->inherited_bytes};
    json_object_set_new(totals, "inherited", total_object(&inherited));
    return json_pack("{s:o, s:i, s:i, s:s, s:f, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "program",
                     sp_json_text(process->program), "process", process->process, "parent", process->parent, "reason",
                     leaks_reason_name(process->reason), "ms", (double)process->time / 1e6, "allocations",
                     number(process->serials), "scanned", (int)process->is_scanned, "held_blocks",
                     number(process->live_blocks), "held_bytes", number(process->live_bytes), "distinct_stacks",
                     number(process->traces), "not_recorded", number(process->lost), "threads_not_stopped",
                     number(process->unanswered), "totals", totals, "own_allocator", (int)process->is_bypassed,
                     "errors", errors);
}

static int dump(FILE *out, json_t *object, size_t flags)
{
    int result = object == NULL ? -1 : json_dumpf(object, out, flags);
    json_decref(object);
    return result;
}

int leaks_show_json(FILE *out, const struct leaks_profile *profile)
{
    bool is_first = true;
    fputs("{\n", out);
    int result = dump(out, report_object(profile), JSON_EMBED | JSON_INDENT(2));
    fputs(",\n\"leaks\": [", out);
    for (size_t i = 0; i < profile->group_count && result == 0; i++) {
        if (profile->groups[i].suppression != NULL)
            continue;
        fputs(is_first ? "\n" : ",\n", out);
        is_first = false;
        result = dump(out, group_object(&profile->groups[i]), JSON_COMPACT);
    }
    fputs("]}", out);
    return result;
}

/* A stack as text: what makes two of different runs the same. */
static char *stack_key(const json_t *leak)
{
    json_t *frame, *stack = json_object_get(leak, "stack");
    char *key = NULL;
    size_t size = 0, i;
    FILE *out = open_memstream(&key, &size);
    if (out == NULL)
        return NULL;
    fprintf(out, "%s", json_string_value(json_object_get(leak, "class")));
    json_array_foreach(stack, i, frame)
    {
        const char *function = json_string_value(json_object_get(frame, "function"));
        const char *module = json_string_value(json_object_get(frame, "module"));
        const char *offset = json_string_value(json_object_get(frame, "offset"));
        fprintf(out, "\n    %s  (%s+%s)", function ? function : "?", module ? module : "", offset ? offset : "");
    }
    fclose(out);
    return key;
}

/* The document in a file, or NULL with a line on stderr. */
static json_t *document_of(const char *path)
{
    json_error_t error;
    errno = 0;
    FILE *file = fopen(path, "re");
    json_t *document = file == NULL ? NULL : json_loadf(file, 0, &error);
    if (document == NULL && (file == NULL || ferror(file)))
        sp_complain("%s: %s", path, strerror(errno));
    else if (document == NULL)
        sp_complain("%s: not a JSON report of spwalk leaks: line %d: %s", path, error.line, error.text);
    else if (!json_is_array(json_object_get(document, "reports"))) {
        sp_complain("%s: not a JSON report of spwalk leaks: it has no reports", path);
        json_decref(document);
        document = NULL;
    }
    if (file != NULL)
        fclose(file);
    return document;
}

/* Adds up the leaks of all reports of a document by their stacks: key -> [count, bytes]. The last report of each
 * process counts. */
static json_t *sums_of(const char *path)
{
    json_t *document = document_of(path);
    if (document == NULL)
        return NULL;
    json_t *sums = json_object(), *latest = json_object();
    json_t *reports = json_object_get(document, "reports"), *report, *leak;
    size_t i, j;
    const char *process;
    json_array_foreach(reports, i, report)
    {
        char name[32];
        snprintf(name, sizeof name, "%lld", (long long)json_integer_value(json_object_get(report, "process")));
        json_object_set(latest, name, report);
    }
    json_object_foreach(latest, process, report)
    {
        json_array_foreach(json_object_get(report, "leaks"), j, leak)
        {
            char *key = stack_key(leak);
            json_t *before = key ? json_object_get(sums, key) : NULL;
            long long count = json_integer_value(json_object_get(leak, "count"));
            long long bytes = json_integer_value(json_object_get(leak, "bytes"));
            count += json_integer_value(json_array_get(before, 0));
            bytes += json_integer_value(json_array_get(before, 1));
            if (key)
                json_object_set_new(sums, key, json_pack("[I, I]", (json_int_t)count, (json_int_t)bytes));
            free(key);
        }
    }
    json_decref(latest);
    json_decref(document);
    return sums;
}

int leaks_compare(FILE *out, const char *before_path, const char *after_path)
{
    json_t *before = sums_of(before_path), *after = before ? sums_of(after_path) : NULL, *value;
    const char *key;
    bool is_more = false;
    if (before == NULL || after == NULL) {
        json_decref(before);
        return SP_EXIT_BAD_INPUT;
    }
    json_object_foreach(before, key, value) if (json_object_get(after, key) == NULL)
        json_object_set_new(after, key, json_pack("[I, I]", (json_int_t)0, (json_int_t)0));
    json_object_foreach(after, key, value)
    {
        json_t *old = json_object_get(before, key);
        long long count = json_integer_value(json_array_get(value, 0)) - json_integer_value(json_array_get(old, 0));
        long long bytes = json_integer_value(json_array_get(value, 1)) - json_integer_value(json_array_get(old, 1));
        if (count == 0 && bytes == 0)
            continue;
        is_more = is_more || count > 0 || bytes > 0;
        fprintf(out, "%+lld bytes in %+lld blocks %s\n\n", bytes, count, key);
    }
    json_decref(before);
    json_decref(after);
    return is_more ? SP_EXIT_WRONG : 0;
}
