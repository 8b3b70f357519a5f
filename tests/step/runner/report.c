/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "listed.h"
#include "names.h"

#include <spwalk.h>
#include <stdbool.h>
#include <stdlib.h>

static const char *const walker_names[STEP_WALKERS] = {"spwalk", "spwalk, through the handler", "libunwind", "glibc"};
static const char *const verdict_names[STEP_VERDICTS] = {
    "right", "names the target early", "right up to the limit", "marked", "wrong", "fault"};

static uint64_t total(const uint64_t *verdicts)
{
    uint64_t sum = 0;
    for (int v = 0; v < STEP_VERDICTS; v++)
        sum += verdicts[v];
    return sum;
}

static void rate_row(FILE *out, const char *name, const uint64_t *v)
{
    uint64_t all = total(v);
    if (all == 0)
        return;
    uint64_t right = v[STEP_RIGHT] + v[STEP_TARGET] + v[STEP_FULL];
    uint64_t wrong = v[STEP_WRONG] + v[STEP_FAULT];
    fprintf(out, "  %-30s %10lu walks %10lu right %8lu marked %8lu wrong  %9.5f %% wrong\n", name, (unsigned long)all,
            (unsigned long)right, (unsigned long)v[STEP_MARKED], (unsigned long)wrong,
            100.0 * (double)wrong / (double)all);
    if (v[STEP_FAULT] != 0)
        fprintf(out, "  %-30s %10lu of them faulted\n", "", (unsigned long)v[STEP_FAULT]);
}

void step_report_rates(FILE *out, const struct step_area *area, const char *title)
{
    fprintf(out,
            "%s: %lu steps in %lu process(es), %lu thread(s), %lu stack(s); %lu signals, %lu steps in a transfer, %lu "
            "repeats, %lu of unknown truth\n",
            title, (unsigned long)area->steps, (unsigned long)area->processes, (unsigned long)area->threads,
            (unsigned long)area->strands, (unsigned long)area->signals, (unsigned long)area->transit,
            (unsigned long)area->repeats, (unsigned long)area->untold);
    rate_row(out, walker_names[STEP_SPWALK], area->tally[STEP_SPWALK].all);
    rate_row(out, walker_names[STEP_THROUGH], area->tally[STEP_THROUGH].all);
    if (total(area->tally[STEP_LIBUNWIND].sampled) + total(area->tally[STEP_GLIBC].sampled) == 0)
        return;
    fprintf(out, "  side by side, each %u. walk:\n", area->options.peers);
    rate_row(out, walker_names[STEP_SPWALK], area->tally[STEP_SPWALK].sampled);
    rate_row(out, walker_names[STEP_LIBUNWIND], area->tally[STEP_LIBUNWIND].sampled);
    rate_row(out, walker_names[STEP_GLIBC], area->tally[STEP_GLIBC].sampled);
}

static void print_place(FILE *out, const struct step_area *area, const struct step_shown *f)
{
    char text[256];
    if (f->module == STEP_NO_MODULE) {
        fprintf(out, "0x%lx", (unsigned long)f->pc);
        return;
    }
    uint64_t offset = f->interrupted ? f->offset : f->offset - 1;
    step_name(area->paths[f->module], offset, text, sizeof text);
    fprintf(out, "%s%s", f->interrupted ? "" : "before ", text);
}

static void print_chain(FILE *out, const struct step_area *area, const char *name, const struct step_chain *chain,
                        int differs)
{
    static const char *const rules[] = {"none", "word", "cfi", "signal"};
    fprintf(out, "    %s: %u frames", name, chain->n);
    if (chain->end >= 0)
        fprintf(out, ", %s", sp_end_name((enum sp_end)chain->end));
    fprintf(out, "\n");
    uint32_t shown = chain->n < STEP_SHOWN ? chain->n : STEP_SHOWN;
    uint32_t from = differs > 4 ? (uint32_t)differs - 4 : 0;
    if (from > 0)
        fprintf(out, "      ... %u frames alike\n", from);
    uint32_t to = shown < from + 14 ? shown : from + 14;
    for (uint32_t i = from; i < to; i++) {
        const struct step_shown *f = &chain->frames[i];
        fprintf(out, "    %s%2u sp %012lx %-6s ", (int)i == differs ? "->" : "  ", i, (unsigned long)f->sp,
                f->rule < 4 ? rules[f->rule] : "?");
        print_place(out, area, f);
        fprintf(out, "\n");
    }
    if (to < chain->n)
        fprintf(out, "      ... %u more\n", chain->n - to);
}

static bool is_unlisted(const struct step_area *area, const struct step_finding *f)
{
    return f->ready != 0 && f->verdict == STEP_MARKED && f->walker <= STEP_THROUGH && !step_list_has(area, f);
}

/* The instruction that a finding is about: where the walk was cut, or else where it started. */
static void print_head(FILE *out, const struct step_area *area, const struct step_finding *f)
{
    bool cut = f->verdict == STEP_MARKED && f->walk.n > 0 && f->walk.n <= STEP_SHOWN;
    fprintf(out, "  %7lu %s%s: ", (unsigned long)f->count, walker_names[f->walker],
            f->transit ? ", in a transfer of control" : "");
    if (is_unlisted(area, f))
        fprintf(out, "(not listed) ");
    print_place(out, area, cut ? &f->walk.frames[f->walk.n - 1] : &f->truth.frames[0]);
    if (cut)
        fprintf(out, ": %s after %u of %u frames\n", sp_end_name((enum sp_end)f->walk.end), f->walk.n, f->truth.n);
    else
        fprintf(out, ", first at step %lu\n", (unsigned long)f->step);
}

static void print_finding(FILE *out, const struct step_area *area, const struct step_finding *f)
{
    print_head(out, area, f);
    if (f->verdict == STEP_TARGET || (f->verdict == STEP_MARKED && f->transit))
        return;
    fprintf(out, "    code:");
    for (int i = 0; i < f->code_size; i++)
        fprintf(out, " %02x", f->code[i]);
    fprintf(out, "\n");
    print_chain(out, area, "truth", &f->truth, f->differs);
    print_chain(out, area, "walk", &f->walk, f->differs);
}

static int by_count(const void *a, const void *b)
{
    const struct step_finding *x = *(const struct step_finding *const *)a;
    const struct step_finding *y = *(const struct step_finding *const *)b;
    if (x->verdict != y->verdict)
        return x->verdict < y->verdict ? 1 : -1;
    return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

void step_report_findings(FILE *out, const struct step_area *area, unsigned walkers, int most)
{
    static const struct step_finding *sorted[STEP_FINDINGS];
    size_t n = 0;
    for (size_t i = 0; i < STEP_FINDINGS; i++) {
        const struct step_finding *f = &area->findings[i];
        if (f->ready != 0 && (walkers >> f->walker & 1) != 0)
            sorted[n++] = f;
    }
    qsort(sorted, n, sizeof sorted[0], by_count);
    int printed[STEP_VERDICTS] = {0};
    int distinct[STEP_VERDICTS] = {0};
    for (size_t i = 0; i < n; i++)
        distinct[sorted[i]->verdict]++;
    for (size_t i = 0; i < n; i++) {
        int v = sorted[i]->verdict;
        if (printed[v]++ == 0)
            fprintf(out, "%s: %d distinct\n", verdict_names[v], distinct[v]);
        if (printed[v] <= most)
            print_finding(out, area, sorted[i]);
    }
    if (area->dropped != 0)
        fprintf(out, "%lu findings more were not kept\n", (unsigned long)area->dropped);
}

void step_report_line(FILE *out, const struct step_area *area, const char *title)
{
    fprintf(out, "%s\t%lu", title, (unsigned long)area->steps);
    for (int w = 0; w < STEP_WALKERS; w++)
        for (int v = 0; v < STEP_VERDICTS; v++)
            fprintf(out, "\t%lu\t%lu", (unsigned long)area->tally[w].all[v], (unsigned long)area->tally[w].sampled[v]);
    fprintf(out, "\n");
}

uint64_t step_report_wrong(const struct step_area *area)
{
    uint64_t wrong = area->errno_changed + area->disagreements;
    for (int w = STEP_SPWALK; w <= STEP_THROUGH; w++)
        wrong += area->tally[w].all[STEP_WRONG] + area->tally[w].all[STEP_FAULT];
    return wrong;
}

uint64_t step_report_unlisted(const struct step_area *area)
{
    uint64_t unlisted = area->dropped;
    for (size_t i = 0; i < STEP_FINDINGS; i++)
        if (is_unlisted(area, &area->findings[i]))
            unlisted += area->findings[i].count;
    return unlisted;
}
