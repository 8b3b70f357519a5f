/* SPDX-License-Identifier: MIT */
#include "region.h"

#include "raw.h"

#define DECLARED 64

static struct step_region declared[DECLARED];
static uint32_t declarations;

struct reader {
    long fd;
    long have;
    long next;
    char buffer[1024];
};

static int read_byte(struct reader *r)
{
    if (r->next == r->have) {
        r->have = step_syscall(SYS_read, r->fd, (long)r->buffer, sizeof r->buffer, 0, 0, 0);
        r->next = 0;
        if (r->have <= 0) {
            r->have = 0;
            return -1;
        }
    }
    return (unsigned char)r->buffer[r->next++];
}

/* Reads hex digits up to the first other byte, which is stored in *stop. */
static uint64_t read_hex(struct reader *r, int *stop)
{
    uint64_t value = 0;
    for (;;) {
        int c = read_byte(r);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) {
            *stop = c;
            return value;
        }
        value = value << 4 | (uint64_t)digit;
    }
}

bool step_region_each(bool (*each)(void *, struct step_region, uint64_t, const char *), void *data)
{
    struct reader r = {.have = 0, .next = 0};
    r.fd = step_syscall(SYS_open, (long)"/proc/self/maps", 02000000 /* O_CLOEXEC */, 0, 0, 0, 0);
    if (r.fd < 0)
        return false;
    bool found = false;
    while (!found) {
        int c;
        struct step_region region;
        region.low = read_hex(&r, &c);
        if (c != '-')
            break;
        region.high = read_hex(&r, &c);
        for (int i = 0; i < 5; i++) /* the permissions and a blank */
            read_byte(&r);
        uint64_t offset = read_hex(&r, &c);
        char path[256];
        size_t n = 0;
        bool in_path = false;
        while ((c = read_byte(&r)) >= 0 && c != '\n') {
            in_path = in_path || c == '/' || c == '[';
            if (in_path && n + 1 < sizeof path)
                path[n++] = (char)c;
        }
        path[n] = 0;
        found = each(data, region, offset, path);
    }
    step_syscall(SYS_close, r.fd, 0, 0, 0, 0, 0);
    return found;
}

void step_region_declare(struct step_region region)
{
    uint32_t n = __atomic_fetch_add(&declarations, 1, __ATOMIC_RELAXED);
    declared[n % DECLARED] = region;
}

struct step_region step_region_declared(uintptr_t address)
{
    uint32_t n = declarations < DECLARED ? declarations : DECLARED;
    for (uint32_t i = 0; i < n; i++)
        if (step_region_has(declared[i], address))
            return declared[i];
    return (struct step_region){0, 0};
}

struct lookup {
    uintptr_t address;
    struct step_region found;
};

static bool is_around(void *data, struct step_region region, uint64_t file_offset, const char *path)
{
    (void)file_offset;
    (void)path;
    struct lookup *l = data;
    if (!step_region_has(region, l->address))
        return false;
    l->found = region;
    return true;
}

struct step_region step_region_find(uintptr_t address)
{
    struct step_region region = step_region_declared(address);
    if (region.high != 0)
        return region;
    struct lookup l = {address, {0, 0}};
    step_region_each(is_around, &l);
    return l.found;
}
