/* SPDX-License-Identifier: MIT */
#include "imports/memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define PAGE 4096ul

/* Not libc's mprotect: the page may be the one that it is in. */
static bool protect(uintptr_t start, uintptr_t end, int protection)
{
    long result;
    register long argument3 __asm__("rdx") = protection;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(SYS_mprotect), "D"(start), "S"(end - start), "r"(argument3)
                     : "rcx", "r11", "memory");
    return result == 0;
}

/* The whole pages that the dynamic linker protects: it rounds both ends down. */
static uintptr_t relro_start(const struct object *object)
{
    return object->relro_start & -PAGE;
}

static uintptr_t relro_end(const struct object *object)
{
    return object->relro_end & -PAGE;
}

bool imports_open_slots(const struct object *object)
{
    return relro_start(object) >= relro_end(object) ||
           protect(relro_start(object), relro_end(object), PROT_READ | PROT_WRITE);
}

void imports_close_slots(const struct object *object)
{
    if (relro_start(object) < relro_end(object))
        protect(relro_start(object), relro_end(object), PROT_READ);
}

bool imports_write_slot(const struct object *object, uintptr_t slot, uintptr_t value)
{
    bool relro = slot >= relro_start(object) && slot < relro_end(object);
    if (!relro && !imports_object_holds(object, slot, PF_W))
        return false;
    __atomic_store_n((uintptr_t *)slot, value, __ATOMIC_RELEASE);
    return true;
}

struct unaligned {
    int32_t value;
} __attribute__((packed, may_alias));

/* Makes the pages of `size` bytes writable, or executable again. */
static bool open_code(uintptr_t address, size_t size, int protection)
{
    return protect(address & -PAGE, (address + size + PAGE - 1) & -PAGE, protection);
}

static int code_protection(const struct object *object, uintptr_t address)
{
    return PROT_READ | PROT_EXEC | (imports_object_holds(object, address, PF_X | PF_W) ? PROT_WRITE : 0);
}

bool imports_write_code(const struct object *object, unsigned char *operand, int32_t value)
{
    uintptr_t address = (uintptr_t)operand;
    if (!open_code(address, sizeof value, PROT_READ | PROT_WRITE))
        return false;
    ((struct unaligned *)operand)->value = value;
    return open_code(address, sizeof value, code_protection(object, address));
}

bool imports_write_jump(const struct object *object, unsigned char *at, int32_t displacement)
{
    uintptr_t address = (uintptr_t)at;
    if (!open_code(address, 5, PROT_READ | PROT_WRITE))
        return false;
    ((struct unaligned *)(at + 1))->value = displacement;
    *(volatile unsigned char *)at = 0xe9;
    return open_code(address, 5, code_protection(object, address));
}
