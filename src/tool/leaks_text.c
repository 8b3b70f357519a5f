/* SPDX-License-Identifier: MIT */
#include "leaks_profile.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { SERIALS_SHOWN = 8, DUMP_ROW = 16 };

struct style {
    const char *wrong, *name, *place, *plain;
};

static const struct style coloured = {"\033[1;31m", "\033[1m", "\033[36m", "\033[0m"}, uncoloured = {"", "", "", ""};

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void show_stack(FILE *out, const struct leaks_named_stack *stack, const struct style *style)
{
    if (stack->count == 0)
        fputs("    (no stack was kept)\n", out);
    for (size_t i = 0, number = 0; i < stack->count; i++) {
        const struct leaks_frame *frame = &stack->frames[i];
        fprintf(out, "    #%-2zu ", number);
        number += !frame->is_inlined;
        if (frame->function != NULL)
            fprintf(out, "%s%s%s", style->name, frame->function, style->plain);
        else
            fprintf(out, "0x%" PRIx64, frame->pc);
        if (frame->file != NULL)
            fprintf(out, "  %s%s:%" PRIu32 "%s", style->place, frame->file, frame->line, style->plain);
        if (frame->is_inlined)
            fputs("  (inlined)", out);
        else if (*frame->module != '\0')
            fprintf(out, "  (%s+0x%" PRIx64 ")", frame->module, frame->offset);
        fputc('\n', out);
    }
    if (stack->is_cut)
        fputs("    ... (--frames cuts it here)\n", out);
}

static void show_dump(FILE *out, const struct leaks_block_item *item)
{
    const struct leaks_block *block = &item->block;
    fprintf(out, "    block %" PRIu64 " at 0x%" PRIx64 ", %" PRIu64 " byte%s, thread %" PRIu32 ", after %.3f ms\n",
            block->serial, block->address, block->size, plural(block->size), block->thread, (double)block->time / 1e6);
    for (unsigned at = 0; at < block->dump_size; at += DUMP_ROW) {
        unsigned count = block->dump_size - at < DUMP_ROW ? block->dump_size - at : DUMP_ROW;
        fprintf(out, "    %04x ", at);
        for (unsigned i = 0; i < DUMP_ROW; i++)
            if (i < count)
                fprintf(out, " %02x", item->dump[at + i]);
            else
                fputs("   ", out);
        fputs("  ", out);
        for (unsigned i = 0; i < count; i++)
            fputc(isascii(item->dump[at + i]) && isprint(item->dump[at + i]) ? item->dump[at + i] : '.', out);
        fputc('\n', out);
    }
}

static void show_group(FILE *out, const struct leaks_group *group, const struct style *style)
{
    fprintf(out, "\n%s%" PRIu64 " byte%s in %" PRIu64 " block%s %s%s, by %s; serial%s", style->wrong, group->bytes,
            plural(group->bytes), group->blocks, plural(group->blocks), leaks_class_name(group->class), style->plain,
            leaks_kind_name(group->kind), plural(group->blocks));
    for (uint64_t i = 0; i < group->blocks && i < SERIALS_SHOWN; i++)
        fprintf(out, "%s %" PRIu64, i ? "," : "", group->items[i]->block.serial);
    fputs(group->blocks > SERIALS_SHOWN ? ", ...\n" : "\n", out);
    show_stack(out, &group->stack, style);
    for (uint64_t i = 0; i < group->blocks; i++)
        if (group->items[i]->block.dump_size > 0)
            show_dump(out, group->items[i]);
}

static void show_error(FILE *out, const struct leaks_named_error *named, const struct style *style)
{
    const struct leaks_error *error = named->error;
    const char *released = leaks_release_name(error->freed_as, error->is_realloc);
    fprintf(out, "\n%s", style->wrong);
    switch (error->type) {
    case LEAKS_DOUBLE_FREE:
        fprintf(out, "%s of a block that is free already", released);
        break;
    case LEAKS_INVALID_FREE:
        fprintf(out, "%s of what was never allocated", released);
        break;
    case LEAKS_MISMATCH:
        fprintf(out, "%s of a block that was allocated by %s", released, leaks_kind_name(error->allocated_as));
        break;
    case LEAKS_OVERRUN:
        fprintf(out, "write past the end of a block (the 8 bytes after it were changed%s%s)",
                error->allocated ? "" : ", and where it was allocated was overwritten",
                error->here ? "" : "; found at the end");
        break;
    }
    fprintf(out, "%s: 0x%" PRIx64, style->plain, error->address);
    if (error->allocated != 0)
        fprintf(out, ", %" PRIu64 " byte%s", error->size, plural(error->size));
    if (error->serial != 0)
        fprintf(out, ", serial %" PRIu64, error->serial);
    if (error->count > 1)
        fprintf(out, "; %" PRIu32 " times", error->count);
    fputc('\n', out);
    if (error->here != 0) {
        fprintf(out, "  %s here:\n", error->is_realloc ? "reallocated" : "freed");
        show_stack(out, &named->here, style);
    }
    if (error->freed != 0) {
        fputs("  freed before here:\n", out);
        show_stack(out, &named->freed, style);
    }
    if (error->allocated != 0) {
        fputs("  allocated here:\n", out);
        show_stack(out, &named->allocated, style);
    }
}

static void show_totals(FILE *out, const struct leaks_profile *profile)
{
    const struct leaks_process *process = &profile->data->process;
    size_t errors = 0;
    for (size_t i = 0; i < profile->error_count; i++)
        errors += profile->errors[i].suppression == NULL;
    fputc('\n', out);
    for (int class = 0; class <= LEAKS_REACHABLE; class ++) {
        const struct leaks_total *total = &profile->totals[class];
        if (process->is_scanned ? class == LEAKS_UNKNOWN : class != LEAKS_UNKNOWN)
            continue;
        fprintf(out, "%-16s %12" PRIu64 " byte%s in %" PRIu64 " block%s%s\n",
                leaks_class_name((enum leaks_class) class), total->bytes, plural(total->bytes), total->blocks,
                plural(total->blocks),
                total->blocks != 0 && !(profile->shown >> class & 1) ? " (not shown; --show=all shows them)" : "");
    }
    if (profile->suppressed.blocks != 0)
        fprintf(out, "%-16s %12" PRIu64 " byte%s in %" PRIu64 " block%s\n", "suppressed", profile->suppressed.bytes,
                plural(profile->suppressed.bytes), profile->suppressed.blocks, plural(profile->suppressed.blocks));
    if (process->inherited_blocks != 0)
        fprintf(out, "%-16s %12" PRIu64 " byte%s in %" PRIu64 " block%s (a parent process's; not shown)\n", "inherited",
                process->inherited_bytes, plural(process->inherited_bytes), process->inherited_blocks,
                plural(process->inherited_blocks));
    fprintf(out, "%-16s %12zu\n", "errors", errors);
    if (process->unanswered != 0)
        fprintf(out,
                "%" PRIu32 " thread%s did not stop for the search, so blocks may be called reachable that are lost\n",
                process->unanswered, plural(process->unanswered));
    if (process->lost != 0)
        fprintf(out, "%" PRIu64 " block%s not recorded for want of memory\n", process->lost,
                process->lost == 1 ? " was" : "s were");
    if (process->is_bypassed)
        fputs("the program has an allocator of its own; what it hands out is not seen\n", out);
}

void leaks_show_text(FILE *out, const struct leaks_profile *profile, bool is_coloured)
{
    const struct leaks_process *process = &profile->data->process;
    const struct style *style = is_coloured ? &coloured : &uncoloured;
    fprintf(out, "%s%s%s, process %" PRId32 ", %s after %.3f ms: %" PRIu64 " allocations\n", style->name,
            process->program, style->plain, process->process, leaks_reason_name(process->reason),
            (double)process->time / 1e6, process->serials);
    for (size_t i = 0; i < profile->error_count; i++)
        if (profile->errors[i].suppression == NULL)
            show_error(out, &profile->errors[i], style);
    for (size_t i = 0; i < profile->group_count; i++)
        if (profile->groups[i].suppression == NULL)
            show_group(out, &profile->groups[i], style);
    show_totals(out, profile);
}

void leaks_show_folded(FILE *out, const struct leaks_profile *profile, bool counts)
{
    for (size_t i = 0; i < profile->group_count; i++) {
        const struct leaks_group *group = &profile->groups[i];
        if (group->suppression != NULL)
            continue;
        for (size_t j = group->stack.count; j-- > 0;) {
            const struct leaks_frame *frame = &group->stack.frames[j];
            if (frame->function == NULL)
                fprintf(out, "0x%" PRIx64, frame->offset ? frame->offset : frame->pc);
            for (const char *c = frame->function; c != NULL && *c != '\0'; c++)
                fputc(*c == ';' ? ':' : *c, out);
            fputc(j > 0 ? ';' : ' ', out);
        }
        if (group->stack.count == 0)
            fputs("(no stack) ", out);
        fprintf(out, "%" PRIu64 "\n", counts ? group->blocks : group->bytes);
    }
}
