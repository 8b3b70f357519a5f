/* SPDX-License-Identifier: MIT */
/*
 * Walks with the runtime alone and whatever C library it is built with; program CASE runs one case. Exit status 1 and a
 * line that says why where a walk is wrong.
 */
#define _GNU_SOURCE
#include <spwalk.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

enum { MAX = 200, DEPTH = 30 };

static struct sp_frame frames[MAX];
static int count;
static enum sp_end end;
static int failed;

static void expect(int holds, const char *what)
{
    if (holds)
        return;
    printf("%s; %d frames, ended: %s\n", what, count, sp_end_name(end));
    for (int i = count > 8 ? count - 8 : 0; i < count && !failed; i++)
        printf("  pc %p sp %p size %u rule %u\n", (void *)frames[i].pc, (void *)frames[i].sp, frames[i].size,
               frames[i].rule);
    failed = 1;
}

/* Each function that is looked for is a section of its own between two labels, so that its extents are known. */
#define FUNCTION(name) __attribute__((noinline, noclone, section("part_" #name))) name
#define HOLDS(name, pc)                                                                                                \
    ({                                                                                                                 \
        extern char __start_part_##name[], __stop_part_##name[];                                                       \
        (pc) >= (uintptr_t)__start_part_##name && (pc) < (uintptr_t)__stop_part_##name;                                \
    })
#define COUNT_IN(name)                                                                                                 \
    ({                                                                                                                 \
        int found = 0;                                                                                                 \
        for (int i = 0; i < count; i++)                                                                                \
            found += HOLDS(name, frames[i].pc - !frames[i].interrupted);                                               \
        found;                                                                                                         \
    })

static void (*volatile at_the_bottom)(void);
static volatile int after;

void FUNCTION(recurse)(int depth)
{
    if (depth > 1)
        recurse(depth - 1);
    else
        at_the_bottom();
    after++;
}

static void walk_here(void)
{
    count = sp_walk(NULL, frames, MAX, &end);
}

static void *FUNCTION(thread)(void *argument);
int FUNCTION(main)(int argc, char **argv);

/*
 * All the program's own frames are there. glibc has CFI that tells the outermost frame; musl, as distributions build
 * it, has none, so that the walk ends, and says so, in the code that called main or the thread's function.
 */
static int is_whole(void)
{
    if (COUNT_IN(recurse) != DEPTH || COUNT_IN(main) + COUNT_IN(thread) != 1)
        return 0;
#ifdef __GLIBC__
    return end == SP_END_OUTERMOST;
#else
    return end == SP_END_OUTERMOST || (end == SP_END_NO_RULE && count > 0);
#endif
}

static void expect_whole_chain(const char *where)
{
    expect(is_whole(), where);
    for (int i = 0; i + 1 < count; i++)
        expect(frames[i].sp + frames[i].size == frames[i + 1].sp || frames[i].size == 0, "the sizes do not add up");
#ifdef WITH_WORDS
    int words = 0;
    for (int i = 0; i < count; i++)
        words += HOLDS(recurse, frames[i].pc - 1) && frames[i].rule == SP_RULE_WORD;
    expect(words >= DEPTH - 1, "frames with words were not left by them");
#endif
}

static void test_plain(void)
{
    at_the_bottom = walk_here;
    recurse(DEPTH);
    expect_whole_chain("the first thread's stack is not whole");
    void *pcs[MAX];
    expect(sp_backtrace(pcs, MAX) > 0 && sp_backtrace(pcs, 0) == 0, "sp_backtrace");
}

static int compare(const void *a, const void *b)
{
    if (count == 0)
        recurse(DEPTH);
    return *(const int *)a - *(const int *)b;
}

static void test_callback(void)
{
    int numbers[] = {3, 1, 2};
    at_the_bottom = walk_here;
    qsort(numbers, 3, sizeof numbers[0], compare);
    /* The C library may have been built without CFI; its code is then read to its return, or the walk says that it is
     * cut. */
    expect(COUNT_IN(recurse) == DEPTH, "the callback's own frames");
    expect(end == SP_END_OUTERMOST || end == SP_END_NO_RULE, "through the C library");
}

static void *FUNCTION(thread)(void *argument)
{
    recurse(DEPTH);
    return argument;
}

static void in_a_thread(pthread_attr_t *attributes)
{
    pthread_t id;
    expect(pthread_create(&id, attributes, thread, NULL) == 0, "pthread_create");
    pthread_join(id, NULL);
}

static void test_thread(void)
{
    at_the_bottom = walk_here;
    in_a_thread(NULL);
    expect_whole_chain("a thread's stack is not whole");
}

static void test_given_stack(void)
{
    enum { SIZE = 1 << 18 };
    char *memory = mmap(NULL, SIZE + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + 4096, SIZE, PROT_READ | PROT_WRITE);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory + 4096, SIZE);
    at_the_bottom = walk_here;
    in_a_thread(&attributes);
    expect_whole_chain("a thread's stack between unreadable pages is not whole");
}

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    errno = 77;
    count = sp_walk(NULL, frames, MAX, &end);
    expect_whole_chain("through a handler");
    int rules = 0;
    for (int i = 0; i < count; i++)
        rules += frames[i].rule == SP_RULE_SIGNAL;
    expect(rules == 1, "not one signal frame");
    count = sp_walk(context, frames, MAX, &end);
    expect_whole_chain("from a context");
    expect(frames[0].interrupted == 1, "the first frame of a context");
    expect(errno == 77, "errno");
}

static void raise_signal(void)
{
    raise(SIGUSR1);
}

static void set_handler(int number, void (*function)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = function, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
}

static void trap(void)
{
    __asm__ volatile("ud2");
}

static void trap_handler(int signal, siginfo_t *info, void *context)
{
    handler(signal, info, context);
    fflush(stdout);
    _exit(failed);
}

static void test_signal(void)
{
    set_handler(SIGILL, trap_handler, 0);
    at_the_bottom = trap;
    recurse(DEPTH);
}

static void test_raise(void)
{
    set_handler(SIGUSR1, handler, 0);
    at_the_bottom = raise_signal;
    recurse(DEPTH);
}

static void test_alternate_stack(void)
{
    stack_t stack = {.ss_sp = malloc(1 << 17), .ss_size = 1 << 17};
    sigaltstack(&stack, NULL);
    set_handler(SIGILL, trap_handler, SA_ONSTACK);
    at_the_bottom = trap;
    recurse(DEPTH);
}

static void test_signal_in_thread(void)
{
    set_handler(SIGILL, trap_handler, 0);
    at_the_bottom = trap;
    in_a_thread(NULL);
}

static void null_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    count = sp_walk(context, frames, MAX, &end);
    expect(frames[0].pc == 0, "the pc of a call through NULL");
    expect_whole_chain("from a call through NULL");
    fflush(stdout);
    _exit(failed);
}

static void test_null(void)
{
    set_handler(SIGSEGV, null_handler, 0);
    at_the_bottom = NULL;
    recurse(DEPTH);
}

static volatile int ticks, whole;

static void tick(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    int saved = errno;
    count = sp_walk(context, frames, MAX, &end);
    ticks++;
    whole += is_whole();
    expect(count > 0, "no frame at all");
    expect(end != SP_END_OUTERMOST || COUNT_IN(recurse) == DEPTH, "a walk that says it is whole lacks frames");
    errno = saved;
}

static void work(void)
{
    char text[64];
    while (ticks < 300 && !failed) {
        snprintf(text, sizeof text, "%d %f", ticks, (double)ticks);
        free(malloc(strlen(text)));
        after += (int)strtol(text, NULL, 10);
    }
}

static void test_timer(void)
{
    set_handler(SIGALRM, tick, SA_RESTART);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, NULL);
    at_the_bottom = work;
    recurse(DEPTH);
    every = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &every, NULL);
    expect(whole > 0, "no walk was whole");
    printf("%d of %d walks whole\n", whole, ticks);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"plain", test_plain},
    {"callback", test_callback},
    {"thread", test_thread},
    {"given-stack", test_given_stack},
    {"signal", test_signal},
    {"raise", test_raise},
    {"alternate-stack", test_alternate_stack},
    {"signal-in-thread", test_signal_in_thread},
    {"null", test_null},
    {"timer", test_timer},
};

int FUNCTION(main)(int argc, char **argv)
{
    if (argc < 2) {
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            puts(cases[i].name);
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return failed;
        }
    }
    return 2;
}
