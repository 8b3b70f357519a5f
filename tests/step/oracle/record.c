/* SPDX-License-Identifier: MIT */
/* Counts verdicts in the shared area, and keeps one example of each distinct finding there. */
#include "oracle.h"

static uint16_t module_index(const char *path)
{
    while (__atomic_exchange_n(&step_area->modules_lock, 1, __ATOMIC_ACQUIRE) != 0)
        __builtin_ia32_pause();
    uint32_t i;
    for (i = 0; i < step_area->modules; i++) {
        const char *a = step_area->paths[i];
        const char *b = path;
        uint32_t k = 0;
        while (k + 1 < STEP_PATH && a[k] == b[k] && a[k] != 0)
            k++;
        if (k + 1 == STEP_PATH || a[k] == b[k])
            break;
    }
    if (i == step_area->modules && i < STEP_MODULES) {
        for (uint32_t k = 0; k + 1 < STEP_PATH && path[k] != 0; k++)
            step_area->paths[i][k] = path[k];
        step_area->modules++;
    }
    __atomic_store_n(&step_area->modules_lock, 0, __ATOMIC_RELEASE);
    return i < STEP_MODULES ? (uint16_t)i : STEP_NO_MODULE;
}

static bool place_in(void *data, struct step_region region, uint64_t file_offset, const char *path)
{
    struct step_chain *chain = data;
    uint32_t shown = chain->n < STEP_SHOWN ? chain->n : STEP_SHOWN;
    uint16_t module = STEP_NO_MODULE;
    for (uint32_t i = 0; i < shown; i++) {
        struct step_shown *f = &chain->frames[i];
        /* A return address belongs to the instruction before it. */
        uint64_t pc = f->interrupted ? f->pc : f->pc - 1;
        if (path[0] == 0 || !step_region_has(region, pc))
            continue;
        if (module == STEP_NO_MODULE)
            module = module_index(path);
        f->module = module;
        f->offset = f->pc - region.low + file_offset;
    }
    return false;
}

static void show(struct step_chain *chain, const struct sp_frame *frames, uint32_t n, int32_t end)
{
    chain->n = n;
    chain->end = end;
    for (uint32_t i = 0; i < n && i < STEP_SHOWN; i++) {
        struct step_shown *f = &chain->frames[i];
        f->pc = frames[i].pc;
        f->sp = frames[i].sp;
        f->rule = frames[i].rule;
        f->interrupted = frames[i].interrupted;
        f->module = STEP_NO_MODULE;
        f->offset = 0;
    }
    step_region_each(place_in, chain);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

/* Findings are told apart by the instruction: the interrupted one where a frame is wrong, the one of the last frame
 * where the walk is cut. Code is loaded anywhere, so its place in the page and its bytes stand for it. */
static uint64_t key_of(const struct step_pending *p)
{
    uint64_t h = mix(mix(p->walker + 1, p->verdict), p->transit);
    if (p->verdict == STEP_MARKED) {
        uint64_t last = p->walk.frames[p->walk.n - 1].pc;
        h = mix(mix(h, (uint64_t)p->walk.end), last & 0xFFF);
        if (p->walk.n > 1)
            return h;
    }
    h = mix(h, p->start.pc & 0xFFF);
    for (uint32_t i = 0; i < p->code_size; i++)
        h = mix(h, p->code[i]);
    return h;
}

static struct step_finding *claim(uint64_t key, bool *is_new)
{
    *is_new = false;
    key |= 1;
    for (uint32_t i = 0; i < STEP_FINDINGS; i++) {
        struct step_finding *f = &step_area->findings[(key + i) % STEP_FINDINGS];
        uint64_t free = 0;
        if (__atomic_compare_exchange_n(&f->key, &free, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            *is_new = true;
            return f;
        }
        if (free == key)
            return f;
    }
    return NULL;
}

void step_record(const struct step_thread *thread, const struct step_pending *p)
{
    struct step_tally *tally = &step_area->tally[p->walker];
    __atomic_fetch_add(&tally->all[p->verdict], 1, __ATOMIC_RELAXED);
    if (p->sampled)
        __atomic_fetch_add(&tally->sampled[p->verdict], 1, __ATOMIC_RELAXED);
    if (p->verdict == STEP_RIGHT || p->verdict == STEP_FULL)
        return;

    bool is_new;
    struct step_finding *f = claim(key_of(p), &is_new);
    if (f == NULL) {
        __atomic_fetch_add(&step_area->dropped, 1, __ATOMIC_RELAXED);
        return;
    }
    __atomic_fetch_add(&f->count, 1, __ATOMIC_RELAXED);
    if (!is_new)
        return;
    f->walker = p->walker;
    f->verdict = p->verdict;
    f->transit = p->transit;
    f->differs = p->differs;
    f->step = thread->step;
    f->code_size = p->code_size;
    step_copy(f->code, p->code, p->code_size);
    show(&f->truth, p->truth, p->truth_n, p->truth_n > STEP_SHOWN ? -1 : SP_END_OUTERMOST);
    show(&f->walk, p->walk.frames, p->walk.n, p->walk.end);
    __atomic_store_n(&f->ready, 1, __ATOMIC_RELEASE);
}
