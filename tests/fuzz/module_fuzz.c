/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: a module of arbitrary bytes: its ELF header, program headers, frame records and unwind tables, and what
 * the walker makes of them when a walk comes to the module, and when another module has taken its place.
 *
 * Sources: src/walk/modules.c src/walk/rules.c src/module/headers.c src/word/coverage.c src/cfi
 *
 * Input: 8 bytes of setting, then the module's bytes from its ELF header on; what is missing up to its end is zero.
 *
 *     0..1  its size
 *     2..3  the address to look up, from its start
 *     4     bit 1: it does not start at a page
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cfi/cfi.h"
#include "walk/modules.h"

#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PLACE ((uint8_t *)UINT64_C(0x510000000000))

enum { MODULE_MOST = 65536 };

struct setting {
    uint16_t size, address;
    uint8_t flags, unused[3];
};

static struct setting setting;
static uintptr_t module_lo, module_hi;

/* What src/module/find_glibc.c asks the loader. */
bool sp_module_find(uintptr_t address, struct sp_module *module)
{
    if (address < module_lo || address >= module_hi)
        return false;
    *module = (struct sp_module){.lo = module_lo, .hi = module_hi, .loader_entry = &setting};
    return true;
}

bool sp_module_is_permanent(const struct sp_module *module)
{
    (void)module;
    return false;
}

static bool is_within(uintptr_t lo, uintptr_t hi)
{
    return lo >= module_lo && lo <= hi && hi <= module_hi;
}

static void lay(const uint8_t *data, size_t size)
{
    static size_t before = MODULE_MOST; /* bytes that may not be zero */
    static bool mapped;
    if (!mapped) {
        if (mmap(PLACE - 4096, MODULE_MOST + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                 0) != PLACE - 4096 ||
            mprotect(PLACE, MODULE_MOST, PROT_READ | PROT_WRITE) != 0)
            abort();
        mapped = true;
    }
    ASAN_UNPOISON_MEMORY_REGION(PLACE, MODULE_MOST);
    memcpy(PLACE, data, size);
    if (before > size)
        memset(PLACE + size, 0, before - size);
    before = size;
    module_lo = (uintptr_t)PLACE + (setting.flags & 2 ? 8 : 0);
    module_hi = (uintptr_t)PLACE + setting.size;
    if (module_hi < module_lo)
        module_hi = module_lo;
    ASAN_POISON_MEMORY_REGION(PLACE + setting.size, MODULE_MOST - setting.size);
}

static void check_coverage(const struct sp_coverage *coverage)
{
    if (coverage->span == 0)
        return;
    if (coverage->lo % 8 != 0 || coverage->span % 8 != 0 || coverage->lo < (module_lo & ~UINT64_C(7)) ||
        coverage->lo + coverage->span > ((module_hi + 7) & ~UINT64_C(7)))
        abort();
    for (uintptr_t at = coverage->lo - 8; at < coverage->lo + coverage->span + 16; at += 5)
        if ((sp_covered(coverage, at) || sp_covered_unless_replaced(coverage, at)) &&
            (at < coverage->lo || at >= coverage->lo + coverage->span))
            abort();
}

static void check(const struct sp_known_module *known)
{
    const struct sp_module *module = &known->module;
    if (module->phnum != 0 && !is_within((uintptr_t)module->phdr, (uintptr_t)(module->phdr + module->phnum)))
        abort();
    const struct sp_cfi_tables *tables = &known->tables;
    if (tables->hdr != 0) {
        struct sp_cfi_row row;
        if (!is_within(tables->segment_lo, tables->segment_hi) || tables->hdr < tables->segment_lo ||
            tables->hdr_end > tables->segment_hi || tables->hdr > tables->hdr_end)
            abort();
        sp_cfi_find_row(tables, module_lo + setting.address, &row);
    }
    for (uint32_t flags = 0; flags < 8; flags++) {
        uintptr_t lo, hi;
        if (sp_module_segment(module, module_lo + setting.address, flags, &lo, &hi) &&
            (!is_within(lo, hi) || module_lo + setting.address < lo || module_lo + setting.address >= hi))
            abort();
    }
    check_coverage(&known->coverage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < sizeof setting)
        return 0;
    memcpy(&setting, data, sizeof setting);
    data += sizeof setting;
    size -= sizeof setting;
    if (size > setting.size)
        size = setting.size;
    lay(data, size);

    struct sp_known_module known;
    uintptr_t address = module_lo + setting.address;
    if (sp_known_get(address, &known) != (address >= module_lo && address < module_hi))
        abort();
    if (address < module_hi) {
        check(&known);
        /* From what was recorded. */
        if (!sp_known_get(address, &known))
            abort();
        check(&known);
    }
    if (sp_known_get(module_hi, &known) || sp_known_get(module_lo - 1, &known))
        abort();
    return 0;
}
