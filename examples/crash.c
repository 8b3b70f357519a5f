/* SPDX-License-Identifier: MIT */
/*
 * A crash handler: a SIGSEGV deep in a program built with the plugin prints the named stack, from inside the handler.
 *
 *     cc -O2 -rdynamic $(pkg-config --cflags spwalk-plugin) crash.c -o crash \
 *         $(pkg-config --cflags --libs spwalk spwalk-symbols)
 *
 * ./crash exits by the signal, as it would without the handler.
 */
#define _GNU_SOURCE
#include <spwalk_symbols.h>

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void on_crash(int number, siginfo_t *info, void *ucontext)
{
    static const char text[] = "Segmentation fault at:\n";
    (void)info;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(2);
    sp_print_backtrace_context(ucontext, STDERR_FILENO);
    /* SA_RESETHAND has put the default back: the fault that follows ends the program. */
    raise(number);
}

struct node {
    struct node *next;
    int value;
};

__attribute__((noinline)) int largest_of_list(const struct node *node)
{
    int value = node->value;
    int rest = node->next != NULL ? largest_of_list(node->next) : value;
    return rest > value ? rest : value;
}

__attribute__((noinline)) int report(const struct node *first)
{
    return largest_of_list(first) + 1;
}

int main(void)
{
    /* A stack of its own for the handler: it works for a stack overflow too. */
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    sigaction(SIGSEGV, &action, NULL);

    struct node nodes[3] = {{&nodes[1], 1}, {&nodes[2], 2}, {(struct node *)8, 3}};
    return report(nodes);
}
