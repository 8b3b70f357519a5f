/* SPDX-License-Identifier: MIT */
#include "imports/stub.h"
#include "imports/counter.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define STUB_SIZE 64
#define PAGE 4096ul
#define GIB (1ul << 30)

/* What each region of code begins with: shared by its stubs. */
struct preamble {
    unsigned char resolve[16];
    uintptr_t linker_object, linker_resolve, first_call;
    unsigned char padding[24];
};
_Static_assert(sizeof(struct preamble) == STUB_SIZE, "stubs start at a cache line");

static size_t page_up(size_t size)
{
    return (size + PAGE - 1) & ~(PAGE - 1);
}

/* Addresses from here on may become stack. */
static uintptr_t stack_floor(void)
{
    struct rlimit limit;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), room = 64ul << 20;
    if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        room += limit.rlim_cur;
    return here > room ? here - room : 0;
}

/* Maps `size` bytes between low and high, as low as there is room, in growing steps; NULL where there is none. */
static void *map_between(uintptr_t low, uintptr_t high, size_t size)
{
    size_t step = 64 << 10;
    uintptr_t address = page_up(low);
    for (int tries = 0; tries < 4000 && address + size <= high; tries++) {
        void *map = mmap((void *)address, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (map == (void *)address)
            return map;
        if (map != MAP_FAILED)
            munmap(map, size); /* a kernel that does not know MAP_FIXED_NOREPLACE takes the address as a hint */
        address += step;
        if (tries % 256 == 255)
            step *= 2;
    }
    return NULL;
}

/* Within reach of a 32-bit index of relocations above the object, where the heap does not want to grow soon. */
static void *map_above(const struct object *object, size_t size)
{
    const uintptr_t reach = (uintptr_t)INT32_MAX * sizeof(Elf64_Rela) - GIB;
    uintptr_t stack = stack_floor(), base = (uintptr_t)object->plt_relocations;
    uintptr_t high = base + reach < stack || base > stack ? base + reach : stack;
    bool below_heap = *object->path == '\0';
    void *map = below_heap ? map_between(object->end + 16 * GIB, high, size) : NULL;
    return map ? map : map_between(object->end + PAGE, high, size);
}

/* Within reach of a 32-bit displacement from anywhere in the object. */
static void *map_near(const struct object *object, size_t size)
{
    const uintptr_t reach = 2 * GIB - (64ul << 20);
    uintptr_t low = object->end > reach ? object->end - reach : 0, high = object->start + reach;
    uintptr_t stack = stack_floor();
    void *map = NULL;
    if (high > stack && object->start < stack)
        high = stack;
    if (*object->path == '\0' && object->start > GIB) /* a program that can be anywhere: the heap is above it */
        map = map_between(low > object->start - GIB ? low : object->start - GIB, object->start, size);
    if (!map && *object->path == '\0')
        map = map_between(object->start + reach - (256ul << 20), high, size);
    if (!map)
        map = map_between(object->end + PAGE, high, size);
    return map ? map : map_between(low < 16 * PAGE ? 16 * PAGE : low, object->start, size);
}

struct imports_stubs *imports_stubs_create(const struct object *object, size_t count, size_t bind_count)
{
    size_t targets_at = sizeof(struct imports_stubs), bindings_at = targets_at + count * sizeof(uintptr_t);
    size_t data_size = page_up(bindings_at + (bind_count + 1) * sizeof(Elf64_Rela));
    size_t code_size = page_up(sizeof(struct preamble) + count * STUB_SIZE), size = data_size + code_size;
    void *map = bind_count ? map_above(object, size)
                           : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!map || map == MAP_FAILED)
        return NULL;

    struct imports_stubs *stubs = map;
    char *base = map;
    stubs->size = size;
    stubs->count = count;
    stubs->targets = (uintptr_t *)(base + targets_at);
    uintptr_t misfit = ((uintptr_t)base + bindings_at - (uintptr_t)object->plt_relocations) % sizeof(Elf64_Rela);
    stubs->bindings = (Elf64_Rela *)(base + bindings_at + (misfit ? sizeof(Elf64_Rela) - misfit : 0));
    stubs->code = (unsigned char *)base + data_size;
    stubs->code_size = code_size;

    struct preamble *preamble = (struct preamble *)stubs->code;
    static const unsigned char resolve[16] = {0xff, 0x35, 10,   0,   0, 0, /* push linker_object(%rip) */
                                              0xff, 0x25, 12,   0,   0, 0, /* jmp *linker_resolve(%rip) */
                                              0xcc, 0xcc, 0xcc, 0xcc};
    memcpy(preamble->resolve, resolve, sizeof resolve);
    preamble->first_call = (uintptr_t)imports_enter_first_call;
    if (object->plt_got) {
        preamble->linker_object = object->plt_got[1];
        preamble->linker_resolve = object->plt_got[2];
    }
    return stubs;
}

uintptr_t imports_stub_address(const struct imports_stubs *stubs, size_t index)
{
    return (uintptr_t)stubs->code + sizeof(struct preamble) + index * STUB_SIZE;
}

/* An assembler of as many instructions as a stub has. */
static unsigned char *put(unsigned char *at, const void *bytes, size_t size)
{
    memcpy(at, bytes, size);
    return at + size;
}

static unsigned char *put_displaced(unsigned char *at, const void *opcode, size_t size, int64_t displacement)
{
    int32_t value = (int32_t)displacement;
    return put(put(at, opcode, size), &value, sizeof value);
}

static unsigned char *put_relative(unsigned char *at, const void *opcode, size_t size, uintptr_t target)
{
    return put_displaced(at, opcode, size, (int64_t)(target - ((uintptr_t)at + size + 4)));
}

static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, jump_memory[] = {0xff, 0x25}, push[] = {0x68};

void imports_stub_write(struct imports_stubs *stubs, size_t index, uint32_t import, uintptr_t target)
{
    static const unsigned char load_block[] = {0x64, 0x4c, 0x8b, 0x1c, 0x25}, compare[] = {0x49, 0x83, 0xbb};
    static const unsigned char jump_if_first[] = {0, 0x74, 13}, increment[] = {0x49, 0xff, 0x83};
    int64_t counter = (int64_t)import * 8;
    unsigned char *at = (unsigned char *)imports_stub_address(stubs, index);
    at = put(at, endbr64, sizeof endbr64);
    at = put_displaced(at, load_block, sizeof load_block, imports_counter_offset());
    at = put_displaced(at, compare, sizeof compare, counter);
    at = put(at, jump_if_first, sizeof jump_if_first); /* its first byte is what is compared with */
    at = put_displaced(at, increment, sizeof increment, counter);
    at = put_relative(at, jump_memory, sizeof jump_memory, (uintptr_t)&stubs->targets[index]);
    at = put_displaced(at, push, sizeof push, import);
    put_relative(at, jump_memory, sizeof jump_memory, (uintptr_t)stubs->code + offsetof(struct preamble, first_call));
    stubs->targets[index] = target;
}

void imports_stub_write_lazy(struct imports_stubs *stubs, const struct object *object, size_t index, uint32_t import,
                             const Elf64_Rela *relocation)
{
    static const unsigned char jump[] = {0xe9};
    Elf64_Rela *binding = &stubs->bindings[stubs->bind_count++];
    uintptr_t place = (uintptr_t)&stubs->targets[index];
    *binding = (Elf64_Rela){.r_offset = place - object->bias, .r_info = relocation->r_info};

    unsigned char *bind = (unsigned char *)imports_stub_address(stubs, index) + STUB_SIZE - 14;
    imports_stub_write(stubs, index, import, (uintptr_t)bind);
    unsigned char *at = put(bind, endbr64, sizeof endbr64);
    uintptr_t distance = (uintptr_t)binding - (uintptr_t)object->plt_relocations;
    at = put_displaced(at, push, sizeof push, (int64_t)(distance / sizeof(Elf64_Rela)));
    put_relative(at, jump, sizeof jump, (uintptr_t)stubs->code);
}

uintptr_t *imports_stub_near_slot(struct imports_stubs *stubs, const struct object *object, size_t index)
{
    if (!stubs->near_slots) {
        size_t size = page_up(stubs->count * sizeof(uintptr_t));
        stubs->near_slots = map_near(object, size);
        stubs->near_size = size;
    }
    if (stubs->near_slots)
        stubs->near_slots[index] = imports_stub_address(stubs, index);
    return stubs->near_slots ? &stubs->near_slots[index] : NULL;
}

bool imports_stubs_finish(struct imports_stubs *stubs)
{
    return mprotect(stubs->code, stubs->code_size, PROT_READ | PROT_EXEC) == 0;
}

void imports_stubs_seal(struct imports_stubs *stubs)
{
    if (stubs->near_slots)
        mprotect(stubs->near_slots, stubs->near_size, PROT_READ);
}

void imports_stubs_destroy(struct imports_stubs *stubs)
{
    if (stubs->near_slots)
        munmap(stubs->near_slots, stubs->near_size);
    munmap(stubs, stubs->size);
}
