/* SPDX-License-Identifier: MIT */
#include "imports/counter.h"
#include "imports/file.h"
#include "imports/first_stack.h"
#include "imports/loaded.h"

#include <cpuid.h>
#include <pthread.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

uint32_t imports_save_size, imports_save_mask, imports_save_compact;
uintptr_t imports_real_main;

/* What a thread without a block counts in: never written, so that each count there is found to be 0. */
static _Atomic uint64_t no_block[IMPORTS_IMPORTS_MAX] __attribute__((aligned(4096)));
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))
static __thread _Atomic uint64_t *block INITIAL_EXEC = no_block;
static __thread uint32_t block_number INITIAL_EXEC;
static __thread int destructor_rounds INITIAL_EXEC;
static __thread bool ending INITIAL_EXEC; /* past its last destructor: it shall not take a block again */

static pthread_key_t thread_end;
static bool has_thread_end;
static int32_t process;

int64_t imports_counter_offset(void)
{
    uintptr_t thread_pointer;
    __asm__("movq %%fs:0, %0" : "=r"(thread_pointer));
    return (int64_t)((uintptr_t)&block - thread_pointer);
}

uint64_t imports_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The last block is nobody's: it is for all who find no other, by locked increments. */
static uint32_t last_block(void)
{
    return imports_report->block_count - 1;
}

static _Atomic unsigned char *taken(uint32_t number)
{
    return (_Atomic unsigned char *)imports_report + imports_report->taken_at + number;
}

static void take_block(void)
{
    for (uint32_t number = 0; number < last_block(); number++) {
        unsigned char free_block = 0;
        if (*taken(number) == 0 && atomic_compare_exchange_strong(taken(number), &free_block, 1)) {
            block_number = number;
            block = imports_file_block(number);
            if (has_thread_end)
                pthread_setspecific(thread_end, &thread_end);
            return;
        }
    }
}

static void release_block(void)
{
    if (block == no_block)
        return;
    ending = true;
    block = no_block;
    atomic_store(taken(block_number), 0);
}

/* Other keys' destructors call functions too, so the block is given back only in the last round of destructors. */
static void end_thread(void *value)
{
    if (++destructor_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(thread_end, value);
    else
        release_block();
}

/* The child goes on with a block of its own; what its parent counted so far stays where it is, and counts once. */
static void start_child(void)
{
    block = no_block;
    process = getpid();
    imports_first_stack_child();
    imports_report->processes++;
}

void imports_counter_start(void)
{
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE)) {
        unsigned enabled, high;
        __asm__ volatile("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
        /* SSE, AVX, the mask registers and AVX-512: what the calling convention may pass arguments in. */
        imports_save_mask = enabled & 0xe6;
        __cpuid_count(0xd, 1, a, b, c, d);
        imports_save_compact = a >> 1 & 1;
        __cpuid_count(0xd, 0, a, b, c, d);
        imports_save_size = (b + 63) & ~63u;
        if (imports_save_compact) {
            imports_save_size = 512 + 64;
            for (unsigned component = 2; component < 8; component++) {
                if (!(imports_save_mask >> component & 1))
                    continue;
                __cpuid_count(0xd, component, a, b, c, d);
                imports_save_size = ((imports_save_size + 63) & ~63u) + ((a + 63) & ~63u);
            }
        }
    } else {
        imports_save_size = 512;
        imports_save_compact = 2;
    }
    process = getpid();
    mprotect((void *)no_block, sizeof no_block, PROT_READ);
    has_thread_end = pthread_key_create(&thread_end, end_thread) == 0;
    pthread_atfork(NULL, NULL, start_child);
}

__attribute__((destructor)) static void end_process(void)
{
    if (imports_report)
        release_block();
}

static void note_library(const struct imports_arguments *arguments, uint32_t provider, uintptr_t returns_to,
                         uintptr_t sp)
{
    struct imports_object *library = &imports_objects[provider - 1];
    uint32_t uncalled = 0;
    if (library->called || !atomic_compare_exchange_strong(&library->called, &uncalled, 1))
        return;
    library->first_time = imports_now() - imports_report->start_time;
    library->first_process = process;
    library->first_import = (uint32_t)arguments->import;
    imports_first_stack(library, arguments, returns_to, sp);
    library->called = 2;
}

void imports_main_entered(void)
{
    imports_report->main_time = imports_now() - imports_report->start_time;
}

static bool starts_main(const struct imports_import *import)
{
    return strcmp(imports_file_text(import->name), "__libc_start_main") == 0 &&
           imports_objects[import->object].flags & IMPORTS_OBJECT_MAIN;
}

uintptr_t imports_first_call(struct imports_arguments *arguments)
{
    uint32_t number = (uint32_t)arguments->import;
    struct imports_import *import = &imports_imports[number];
    if (block == no_block && !ending)
        take_block();
    if (block != no_block)
        __asm__ volatile("incq %0" : "+m"(block[number])); /* one instruction: a handler may count in between */
    else
        imports_file_block(last_block())[number]++;

    uint32_t provider = import->provider;
    if (provider && import->reason != IMPORTS_REASON_FILTERED)
        note_library(arguments, provider, (uintptr_t)__builtin_return_address(0),
                     (uintptr_t)__builtin_frame_address(0) + 16);
    if (starts_main(import) && !imports_real_main) {
        imports_real_main = arguments->rdi;
        arguments->rdi = (uintptr_t)imports_enter_main;
    }
    return imports_call_target(number);
}
