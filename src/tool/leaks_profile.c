/* SPDX-License-Identifier: MIT */
#include "leaks_profile.h"

#include <spwalk_symbols.h>

#include <stdlib.h>
#include <string.h>

const char *leaks_class_name(enum leaks_class class)
{
    static const char *const names[] = {"held", "definitely lost", "indirectly lost", "still reachable"};
    return names[class];
}

const char *leaks_kind_name(enum leaks_kind kind)
{
    static const char *const names[] = {"malloc", "new", "new[]"};
    return names[kind];
}

const char *leaks_release_name(enum leaks_kind kind, bool is_realloc)
{
    static const char *const names[] = {"free", "delete", "delete[]"};
    return is_realloc ? "realloc" : names[kind];
}

const char *leaks_error_name(uint32_t type)
{
    static const char *const names[] = {"", "double free", "invalid free", "mismatch", "overrun"};
    return names[type];
}

const char *leaks_reason_name(uint32_t reason)
{
    static const char *const names[] = {"", "exit", "exec", "signal", "call"};
    return reason < sizeof names / sizeof *names ? names[reason] : "";
}

struct naming {
    const struct leaks_data *data;
    struct sp_symbolizer *symbolizer;
    struct sp_modules *modules; /* those of a number of closes */
    uint32_t closes;
};

static struct sp_modules *modules_at(struct naming *naming, uint32_t closes)
{
    if (naming->modules != NULL && naming->closes == closes)
        return naming->modules;
    sp_modules_free(naming->modules);
    naming->modules = sp_modules_new();
    naming->closes = closes;
    for (size_t i = 0; i < naming->data->module_count && naming->modules != NULL; i++) {
        const struct leaks_module_item *item = &naming->data->modules[i];
        const struct leaks_module *module = &item->module;
        struct sp_loaded_module loaded = {item->path,
                                          module->start,
                                          module->end,
                                          module->bias,
                                          module->build_id_size ? module->build_id : NULL,
                                          module->build_id_size};
        if (closes >= module->first_closes && closes <= module->last_closes)
            sp_modules_add(naming->modules, &loaded);
    }
    return naming->modules;
}

static char *copy(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* The path as the data has it, which outlives the list of modules. */
static const char *module_path(const struct naming *naming, const char *path)
{
    for (size_t i = 0; i < naming->data->module_count && path != NULL; i++)
        if (strcmp(naming->data->modules[i].path, path) == 0)
            return naming->data->modules[i].path;
    return "";
}

static bool append(struct leaks_named_stack *stack, struct leaks_frame frame)
{
    struct leaks_frame *frames = realloc(stack->frames, (stack->count + 1) * sizeof *frames);
    if (frames == NULL)
        return false;
    stack->frames = frames;
    frames[stack->count++] = frame;
    return true;
}

static int name_stack(struct naming *naming, const struct leaks_stack_item *item, struct leaks_named_stack *stack)
{
    memset(stack, 0, sizeof *stack);
    if (item == NULL)
        return 0;
    struct sp_modules *modules = modules_at(naming, item->stack.closes);
    stack->is_cut = item->stack.is_cut != 0;
    for (uint32_t i = 0; i < item->stack.depth && modules != NULL; i++) {
        struct sp_symbol symbol;
        if (sp_symbolize(naming->symbolizer, modules, item->pcs[i], 0, &symbol) < 0)
            return -1;
        struct leaks_frame frame = {.pc = item->pcs[i],
                                    .module = module_path(naming, symbol.module),
                                    .offset = symbol.module == NULL ? 0 : symbol.module_offset};
        bool is_good = true;
        for (size_t j = 0; j < symbol.location_count && is_good; j++) {
            const struct sp_location *location = &symbol.locations[j];
            bool is_last = j + 1 == symbol.location_count;
            frame.function = copy(is_last && symbol.function != NULL ? symbol.function : location->function);
            frame.file = copy(location->file);
            frame.line = location->line;
            frame.is_inlined = !is_last;
            is_good = append(stack, frame);
        }
        if (symbol.location_count == 0) {
            frame.function = copy(symbol.function);
            is_good = append(stack, frame);
        }
        if (!is_good)
            return -1;
    }
    return modules == NULL ? -1 : 0;
}

static void free_stack(struct leaks_named_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++) {
        free(stack->frames[i].function);
        free(stack->frames[i].file);
    }
    free(stack->frames);
}

/* A pc by its module's path and its place there: the same for a library that was loaded twice. */
static uint64_t place_of(const struct leaks_data *data, uint32_t closes, uint64_t pc)
{
    for (size_t i = 0; i < data->module_count; i++) {
        const struct leaks_module *module = &data->modules[i].module;
        if (pc - module->start >= module->end - module->start || closes < module->first_closes ||
            closes > module->last_closes)
            continue;
        size_t first = i;
        for (size_t j = 0; j < i; j++)
            if (strcmp(data->modules[j].path, data->modules[i].path) == 0 &&
                memcmp(data->modules[j].module.build_id, module->build_id, sizeof module->build_id) == 0) {
                first = j;
                break;
            }
        return (uint64_t)(first + 1) << 48 ^ (pc - module->bias);
    }
    return pc;
}

struct keyed {
    uint64_t key[2]; /* a hash of the stack's places, wide enough never to meet another's */
    const struct leaks_block_item *item;
};

static void key_of(const struct leaks_data *data, const struct leaks_block *block, uint64_t key[2])
{
    static uint32_t last_stack;
    static const struct leaks_data *last_data;
    static uint64_t last_key[2];
    const struct leaks_stack_item *item = leaks_data_stack(data, block->stack);
    if (last_data != data || last_stack != block->stack) {
        uint64_t a = 0x9e3779b97f4a7c15, b = 0xd6e8feb86659fd93;
        for (uint32_t i = 0; item != NULL && i < item->stack.depth; i++) {
            uint64_t place = place_of(data, item->stack.closes, item->pcs[i]);
            a = (a ^ place) * 0xff51afd7ed558ccd;
            a ^= a >> 32;
            b = (b + place) * 0xc4ceb9fe1a85ec53;
            b ^= b >> 29;
        }
        last_data = data;
        last_stack = block->stack;
        last_key[0] = a;
        last_key[1] = b;
    }
    key[0] = last_key[0] + (uint64_t)block->class * 0x589965cc75374cc3 + block->kind;
    key[1] = last_key[1];
}

static int by_key(const void *left, const void *right)
{
    const struct keyed *a = left, *b = right;
    for (int i = 0; i < 2; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    uint64_t x = a->item->block.serial, y = b->item->block.serial;
    return x < y ? -1 : x > y;
}

static int by_size(const void *left, const void *right)
{
    const struct leaks_group *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    uint64_t x = a->items[0]->block.serial, y = b->items[0]->block.serial;
    return x < y ? -1 : x > y;
}

static int group_blocks(struct leaks_profile *profile, const struct leaks_data *data)
{
    struct keyed *keyed = calloc(data->block_count + 1, sizeof *keyed);
    size_t count = 0;
    for (size_t i = 0; i < data->block_count && keyed != NULL; i++) {
        const struct leaks_block_item *item = &data->blocks[i];
        profile->totals[item->block.class].blocks++;
        profile->totals[item->block.class].bytes += item->block.size;
        if (!(profile->shown >> item->block.class & 1))
            continue;
        key_of(data, &item->block, keyed[count].key);
        keyed[count++].item = item;
    }
    if (keyed != NULL)
        qsort(keyed, count, sizeof *keyed, by_key);
    profile->groups = calloc(count + 1, sizeof *profile->groups);
    bool is_good = keyed != NULL && profile->groups != NULL;
    for (size_t i = 0, next; i < count && is_good; i = next) {
        struct leaks_group *group = &profile->groups[profile->group_count++];
        for (next = i; next < count && memcmp(keyed[next].key, keyed[i].key, sizeof keyed[i].key) == 0; next++)
            group->bytes += keyed[next].item->block.size;
        group->blocks = next - i;
        group->class = keyed[i].item->block.class;
        group->kind = keyed[i].item->block.kind;
        group->items = calloc(group->blocks, sizeof *group->items);
        is_good = group->items != NULL;
        for (size_t j = i; j < next && is_good; j++)
            group->items[j - i] = keyed[j].item;
    }
    if (is_good)
        qsort(profile->groups, profile->group_count, sizeof *profile->groups, by_size);
    free(keyed);
    return is_good ? 0 : -1;
}

static int name_all(struct leaks_profile *profile, struct naming *naming, struct leaks_suppressions *suppressions)
{
    const struct leaks_data *data = naming->data;
    for (size_t i = 0; i < profile->group_count; i++) {
        struct leaks_group *group = &profile->groups[i];
        if (name_stack(naming, leaks_data_stack(data, group->items[0]->block.stack), &group->stack) != 0)
            return -1;
        struct leaks_suppression *suppression = leaks_suppressions_find(suppressions, &group->stack);
        if (suppression == NULL) {
            profile->wrong += group->class != LEAKS_REACHABLE;
            continue;
        }
        group->suppression = suppression->pattern;
        suppression->groups++;
        suppression->blocks += group->blocks;
        suppression->bytes += group->bytes;
        profile->totals[group->class].blocks -= group->blocks;
        profile->totals[group->class].bytes -= group->bytes;
        profile->suppressed.blocks += group->blocks;
        profile->suppressed.bytes += group->bytes;
    }
    profile->errors = calloc(data->error_count + 1, sizeof *profile->errors);
    for (size_t i = 0; i < data->error_count && profile->errors != NULL; i++) {
        struct leaks_named_error *named = &profile->errors[profile->error_count++];
        named->error = &data->errors[i];
        if (name_stack(naming, leaks_data_stack(data, named->error->here), &named->here) != 0 ||
            name_stack(naming, leaks_data_stack(data, named->error->allocated), &named->allocated) != 0 ||
            name_stack(naming, leaks_data_stack(data, named->error->freed), &named->freed) != 0)
            return -1;
        const struct leaks_named_stack *stack = named->here.count ? &named->here : &named->allocated;
        struct leaks_suppression *suppression = leaks_suppressions_find(suppressions, stack);
        named->suppression = suppression == NULL ? NULL : suppression->pattern;
        profile->wrong += suppression == NULL;
    }
    return profile->errors == NULL ? -1 : 0;
}

int leaks_profile_make(struct leaks_profile *profile, const struct leaks_data *data, uint32_t shown,
                       struct leaks_suppressions *suppressions)
{
    struct naming naming = {.data = data, .symbolizer = sp_symbolizer_new(SP_LINES | SP_DEMANGLE, NULL)};
    memset(profile, 0, sizeof *profile);
    profile->data = data;
    profile->shown = shown;
    int result = naming.symbolizer != NULL && group_blocks(profile, data) == 0 ? 0 : -1;
    if (result == 0)
        result = name_all(profile, &naming, suppressions);
    sp_modules_free(naming.modules);
    sp_symbolizer_free(naming.symbolizer);
    return result;
}

void leaks_profile_free(struct leaks_profile *profile)
{
    for (size_t i = 0; i < profile->group_count; i++) {
        free_stack(&profile->groups[i].stack);
        free(profile->groups[i].items);
    }
    for (size_t i = 0; i < profile->error_count; i++) {
        free_stack(&profile->errors[i].here);
        free_stack(&profile->errors[i].allocated);
        free_stack(&profile->errors[i].freed);
    }
    free(profile->groups);
    free(profile->errors);
    memset(profile, 0, sizeof *profile);
}
