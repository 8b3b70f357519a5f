/* SPDX-License-Identifier: MIT */
/*
 * blocks CASE: leaks that are known exactly. Each function that leaks has its name from the case; count and bytes are
 * in leaks_test.py. volatile keeps the compiler from leaving calls out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static void *volatile sink;
void *kept[16];

/* Overwrites what earlier calls left on the stack, so that no stale pointer there makes a block reachable. */
NOINLINE static void clear_stack(void)
{
    char bytes[16384];
    memset(bytes, 0, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

NOINLINE static void forget(void *block)
{
    sink = block;
    sink = NULL;
}

NOINLINE static void fill(char *block, char value, size_t size)
{
    memset(block, value, size);
    __asm__ volatile("" : : "r"(block) : "memory");
}

NOINLINE static void leak_malloc(size_t size)
{
    forget(malloc(size));
}

NOINLINE static void leak_content(void)
{
    forget(calloc(1, 20));
    for (volatile int i = 0; i < 10; i++) {
        char *block = calloc(1, 30);
        memcpy(block, "ab\a", 3);
        forget(block);
    }
}

NOINLINE static void leak_by_each(void)
{
    void *block;
    forget(malloc(11));
    forget(calloc(3, 7));
    forget(realloc(NULL, 31));
    forget(reallocarray(NULL, 4, 10));
    forget(memalign(64, 50));
    forget(aligned_alloc(128, 61));
    if (posix_memalign(&block, 256, 71) == 0)
        forget(block);
    block = NULL;
    forget(valloc(81));
    forget(pvalloc(91));
    forget(strdup("123456789"));
    forget(strndup("123456789", 4));
    char *text = NULL;
    if (asprintf(&text, "%d", 12345) > 0)
        forget(text);
    text = NULL;
}

NOINLINE static void leak_realloc_chain(void)
{
    char *block = malloc(10);
    for (size_t size = 20; size <= 5120; size *= 2)
        block = realloc(block, size);
    forget(block);
}

NOINLINE static void leak_structure(void)
{
    void **list = malloc(24);
    list[0] = malloc(100);
    list[1] = malloc(200);
    ((void **)list[1])[3] = malloc(300);
    forget(list);
}

NOINLINE static void leak_ring(void)
{
    void **a = malloc(32), **b = malloc(48);
    a[0] = b;
    b[0] = a;
    forget(a);
}

NOINLINE static void keep_blocks(void)
{
    kept[0] = malloc(1000);
    kept[1] = (char *)malloc(2000) + 1000; /* an inner pointer */
    *(void **)kept[0] = malloc(3000);
}

static void *leak_in_thread(void *argument)
{
    for (volatile int i = 0; i < 10; i++)
        leak_malloc((size_t)(long)argument);
    clear_stack();
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, leak_in_thread, (void *)100);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
}

static __thread void *in_thread;
static pthread_barrier_t barrier;

static void *hold_in_thread(void *argument)
{
    void *volatile on_stack = malloc(111);
    in_thread = malloc(222);
    register void *in_register __asm__("rbx") = malloc(333);
    __asm__ volatile("" : "+r"(in_register));
    pthread_barrier_wait(&barrier);
    for (;;)
        __asm__ volatile("" : "+r"(in_register) : "m"(on_stack));
    return argument;
}

static void run_holding_thread(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, hold_in_thread, NULL);
    pthread_barrier_wait(&barrier);
}

static void run_fork(void)
{
    leak_malloc(40);
    pid_t child = fork();
    if (child == 0) {
        leak_malloc(50);
        clear_stack();
        exit(0);
    }
    waitpid(child, NULL, 0);
    leak_malloc(60);
}

static void run_library(const char *folder)
{
    for (int i = 1; i <= 2; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/libleaky%d.so", folder, i);
        void *library = dlopen(path, RTLD_NOW);
        if (library == NULL) {
            fputs(dlerror(), stderr);
            exit(3);
        }
        void (*leak)(void) = (void (*)(void))dlsym(library, i == 1 ? "leak_first" : "leak_second");
        leak();
        dlclose(library);
    }
}

/* Blocks at addresses that lie far from all others, with no memory left for the detector's tables of them. */
NOINLINE static void run_out_of_memory(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    mmap(NULL, 256 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (file == NULL || fscanf(file, "%zu", &pages) != 1)
        exit(3);
    fclose(file);
    struct rlimit limit = {(pages << 12) + (6 << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    void *volatile first = malloc(1 << 20), *volatile second = malloc(1 << 20);
    first = realloc(first, 1 << 21);
    free(first);
    free(second);
}

static const char *running = "";

__attribute__((constructor)) static void leak_in_constructor(int argc, char **argv)
{
    if (argc > 1)
        running = argv[1];
    if (strcmp(running, "ends") == 0)
        forget(malloc(501));
}

__attribute__((destructor)) static void leak_in_destructor(void)
{
    if (strcmp(running, "ends") == 0) {
        forget(malloc(502));
        clear_stack();
    }
}

static void leak_at_exit(void)
{
    forget(malloc(503));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "simple") == 0)
        for (volatile size_t i = 0; i < 5; i++)
            leak_malloc(10 + i);
    else if (strcmp(name, "content") == 0)
        leak_content();
    else if (strcmp(name, "each") == 0)
        leak_by_each();
    else if (strcmp(name, "realloc") == 0)
        leak_realloc_chain();
    else if (strcmp(name, "structure") == 0)
        leak_structure();
    else if (strcmp(name, "ring") == 0)
        leak_ring();
    else if (strcmp(name, "kept") == 0)
        keep_blocks();
    else if (strcmp(name, "threads") == 0)
        run_threads();
    else if (strcmp(name, "holding") == 0)
        run_holding_thread();
    else if (strcmp(name, "fork") == 0)
        run_fork();
    else if (strcmp(name, "library") == 0)
        run_library(argv[2]);
    else if (strcmp(name, "ends") == 0)
        atexit(leak_at_exit);
    else if (strcmp(name, "_exit") == 0) {
        leak_malloc(70);
        clear_stack();
        _exit(9);
    } else if (strcmp(name, "exec") == 0) {
        leak_malloc(80);
        clear_stack();
        /* Each report is withdrawn again, at any moment of the tool's reading of them. */
        for (int i = 0; i < 200; i++)
            execl("/no/such/program", "program", NULL);
        execl("/bin/true", "true", NULL);
    } else if (strcmp(name, "double") == 0) {
        char *volatile block = malloc(90);
        free(block);
        free(block);
    } else if (strcmp(name, "invalid") == 0) {
        static char bytes[64] __attribute__((aligned(16)));
        free(bytes + 16);
    } else if (strcmp(name, "overrun") == 0) {
        char *block = malloc(13), *other = malloc(14);
        *(volatile char *)(block + 13) = 'x';
        free(block);
        kept[0] = other;
        *(volatile char *)(other + 14) = 'x';
    } else if (strcmp(name, "overrun far") == 0) {
        /* Into what the detector keeps behind a block, and over all of it. */
        char *freed = malloc(24), *kept_block = malloc(24), *other = malloc(24);
        fill(freed, 'x', 24 + 20);
        fill(kept_block, 'x', 24 + 30);
        free(freed);
        kept[0] = kept_block;
        fill(other, argv[2][0], 24 + 30);
        free(other);
    } else if (strcmp(name, "no memory") == 0)
        run_out_of_memory();
    else if (strcmp(name, "clean") == 0) {
        char *text = malloc(100);
        printf("usable %zu\n", malloc_usable_size(text));
        free(text);
    }
    clear_stack();
    return 7;
}
