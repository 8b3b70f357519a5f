/* SPDX-License-Identifier: MIT */
/*
 * For test-stripped.sh: PROGRAM [MAP [MODULE]] loads a name map, and prints its stack from a handler, in which nothing
 * may be allocated or freed; then where the symbolizer has a name from.
 */
#include <errno.h>
#include <signal.h>
#include <spwalk.h>
#include <spwalk_symbols.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t in_handler;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static void refuse_in_handler(void)
{
    static const char text[] = "memory is asked for in a handler\n";
    if (in_handler && write(1, text, sizeof text - 1) > 0)
        abort();
}

void *malloc(size_t size)
{
    refuse_in_handler();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    refuse_in_handler();
    return __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    refuse_in_handler();
    return __libc_realloc(block, size);
}

void free(void *block)
{
    refuse_in_handler();
    __libc_free(block);
}

static void handler(int number, siginfo_t *about, void *ucontext)
{
    void *pcs[8];
    (void)number;
    (void)about;
    in_handler = 1;
    errno = EDOM;
    sp_print_backtrace_context(ucontext, 1);
    sp_backtrace_symbols_fd(pcs, sp_backtrace_context(ucontext, pcs, 8), 1);
    if (errno != EDOM)
        _exit(3);
    in_handler = 0;
}

static __attribute__((noinline)) int innermost(int x)
{
    raise(SIGUSR1);
    return x + 1;
}

static __attribute__((noinline)) int middle(int x)
{
    return innermost(x) * 2;
}

static int load(const char *map, const char *module)
{
    const char *why = NULL;
    if (sp_map_load(map, module, &why) == 0)
        return 0;
    printf("refused: %s\n", why);
    return -1;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    if (argc > 1 && load(argv[1], argc > 2 ? argv[2] : NULL) != 0)
        return 1;
    sigaction(SIGUSR1, &action, NULL);
    fflush(stdout);
    int sum = middle(argc);
    struct sp_symbol symbol;
    struct sp_symbolizer *symbolizer = sp_symbolizer_new(0, "");
    if (sp_symbolize(symbolizer, NULL, (uintptr_t)middle, 1, &symbol) >= 0)
        printf("%s from %s\n", symbol.function == NULL ? "nothing" : symbol.function, sp_source_name(symbol.source));
    sp_symbolizer_free(symbolizer);
    return sum == 0;
}
