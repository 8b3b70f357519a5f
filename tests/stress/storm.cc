/* SPDX-License-Identifier: MIT */
/*
 * A storm of SIGPROF on eight threads that do what walkers have died of: dlopen and dlclose, throwing, forking,
 * creating and ending threads, switching stacks, allocating through an allocator that itself walks. No deadlock, no
 * crash, and no wrong frame: a walk that says it is whole ends with the thread's first frames, and holds the calls
 * noted so far.
 *
 * Usage: storm SECONDS LIBRARY
 */
#include <spwalk.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

namespace
{

enum { MOST = 400, NOTED_MOST = 200 };

struct walk {
    int n;
    enum sp_end end;
    struct sp_frame frames[MOST];
};

/* What the thread knows of its own stack. */
struct known {
    bool is_ready;     /* `base` has been filled */
    bool is_elsewhere; /* on a coroutine's stack */
    walk base;         /* the thread's first frames, from its start routine's callers on */
    void *noted[NOTED_MOST];
    volatile int depth; /* of noted: the calls that are live for certain */
    int catcher;        /* what depth will be where the next exception is caught */
};

thread_local known here;
thread_local int walking_in_malloc;

std::atomic<long> walks, whole, marked, wrong, allocations;
std::atomic<bool> stop;
const char *library_path;

void tell(const char *what, const walk *w)
{
    static std::atomic<int> told;
    if (told++ != 0)
        return;
    char line[200];
    int n =
        snprintf(line, sizeof line, "%s: %d frames, end: %s, %d noted\n", what, w->n, sp_end_name(w->end), here.depth);
    (void)!write(1, line, (size_t)n);
    for (int i = 0; i < w->n; i++) {
        n = snprintf(line, sizeof line, "  %2d pc %#lx sp %#lx rule %d\n", i, (unsigned long)w->frames[i].pc,
                     (unsigned long)w->frames[i].sp, w->frames[i].rule);
        (void)!write(1, line, (size_t)n);
    }
    for (int i = here.depth - 1; i >= 0; i--) {
        n = snprintf(line, sizeof line, "  noted %p\n", here.noted[i]);
        (void)!write(1, line, (size_t)n);
    }
}

bool ends_with_base(const walk *w)
{
    const walk *base = &here.base;
    if (w->n < base->n)
        return false;
    for (int i = 0; i < base->n; i++)
        if (w->frames[w->n - base->n + i].pc != base->frames[i].pc ||
            w->frames[w->n - base->n + i].sp != base->frames[i].sp)
            return false;
    return true;
}

/* The noted calls are frames of the walk, in their order. */
bool holds_noted(const walk *w)
{
    int i = 0;
    for (int k = here.depth - 1; k >= 0; k--, i++)
        while (i >= w->n || w->frames[i].pc != (uintptr_t)here.noted[k])
            if (++i >= w->n)
                return false;
    return true;
}

void judge(const walk *w)
{
    walks++;
    if (w->end != SP_END_OUTERMOST) {
        marked++;
        return;
    }
    whole++;
    if (!here.is_ready || here.is_elsewhere)
        return;
    if (!ends_with_base(w)) {
        wrong++;
        tell("whole, and does not end with the thread's first frames", w);
    } else if (!holds_noted(w)) {
        wrong++;
        tell("whole, and without a call that is live", w);
    }
}

void on_profile(int, siginfo_t *, void *context)
{
    int saved = errno;
    errno = 4711;
    walk w;
    w.n = sp_walk(context, w.frames, MOST, &w.end);
    judge(&w);
    void *pcs[MOST];
    int n = sp_backtrace(pcs, MOST);
    if (n < 2 || errno != 4711)
        wrong++;
    errno = saved;
}

NOINLINE void walk_here()
{
    walk w;
    w.n = sp_walk(nullptr, w.frames, MOST, &w.end);
    judge(&w);
}

void walk_for_library()
{
    walk_here();
}

/* The routine's callers, which are every walk's last frames. */
NOINLINE void begin(known *to)
{
    walk w;
    w.n = sp_walk(nullptr, w.frames, MOST, &w.end);
    /* begin, the work's start routine, then what stays. */
    to->base.n = w.n - 2;
    memcpy(to->base.frames, w.frames + 2, (size_t)to->base.n * sizeof w.frames[0]);
    to->depth = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    to->is_ready = w.end == SP_END_OUTERMOST;
    if (!to->is_ready)
        wrong++;
}

#define ENTER()                                                                                                        \
    do {                                                                                                               \
        here.noted[here.depth] = __builtin_return_address(0);                                                          \
        std::atomic_signal_fence(std::memory_order_seq_cst);                                                           \
        here.depth = here.depth + 1;                                                                                   \
    } while (0)
#define LEAVE() (here.depth = here.depth - 1)

NOINLINE int recurse(int n, int (*last)(int))
{
    ENTER();
    volatile char block[64];
    block[n & 63] = (char)n;
    int r = (n > 0 ? recurse(n - 1, last) : last(n)) + block[n & 63];
    LEAVE();
    return r;
}

NOINLINE int spin(int n)
{
    volatile int sum = n;
    for (int i = 0; i < 200; i++)
        sum = sum + i;
    walk_here();
    return sum;
}

NOINLINE int throw_last(int n)
{
    if (n % 2 == 0) {
        /* Those in between are gone before the handler's first instruction runs: in __cxa_begin_catch. */
        here.depth = here.catcher;
        throw std::runtime_error("storm");
    }
    return n;
}

void throw_and_catch(unsigned round)
{
    int depth = here.catcher = here.depth;
    try {
        recurse((int)(round % 20), throw_last);
    } catch (const std::exception &e) {
        here.depth = depth;
        walk_here();
    }
}

void load_and_unload(unsigned)
{
    void *library = dlopen(library_path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        abort();
    auto call = reinterpret_cast<int (*)(void (*)())>(dlsym(library, "library_call"));
    for (int i = 0; i < 3; i++)
        call(walk_for_library);
    dlclose(library);
}

void fork_and_wait(unsigned)
{
    pid_t child = fork();
    if (child == 0) {
        long before = wrong;
        walk_here();
        recurse(10, spin);
        _exit(wrong != before);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && status != 0)
        wrong++;
}

void *short_life(void *data)
{
    begin(&here);
    recurse(15, spin);
    free(malloc(100));
    here.is_ready = false; /* start_thread goes on to other calls */
    return data;
}

void create_threads(unsigned)
{
    pthread_t threads[3];
    for (pthread_t &thread : threads)
        if (pthread_create(&thread, nullptr, short_life, nullptr) != 0)
            abort();
    for (pthread_t thread : threads)
        pthread_join(thread, nullptr);
}

void allocate(unsigned round)
{
    void *blocks[64];
    for (unsigned i = 0; i < 64; i++)
        blocks[i] = malloc((i * 37 + round) % 3000);
    for (void *block : blocks)
        free(block);
}

int compare(const void *a, const void *b)
{
    if (*static_cast<const int *>(a) == 7)
        walk_here();
    return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

void call_libc(unsigned round)
{
    int numbers[200];
    for (unsigned i = 0; i < 200; i++)
        numbers[i] = (int)((i * 7919 + round) % 1000);
    qsort(numbers, 200, sizeof numbers[0], compare);
    char text[200];
    snprintf(text, sizeof text, "%f %d %s %Lg", numbers[0] / 3.0, numbers[1], "text", (long double)round);
}

thread_local ucontext_t outside, inside;

void coroutine_body()
{
    recurse(8, spin);
}

void switch_stacks(unsigned)
{
    static thread_local char stack[1 << 17];
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, coroutine_body, 0);
    here.is_elsewhere = true;
    swapcontext(&outside, &inside);
    here.is_elsewhere = false;
}

void recurse_deep(unsigned round)
{
    recurse((int)(round % 150), spin);
}

void (*const works[])(unsigned) = {load_and_unload, throw_and_catch, fork_and_wait, create_threads,
                                   allocate,        call_libc,       switch_stacks, recurse_deep};
enum { WORKERS = sizeof works / sizeof works[0] };
std::atomic<long> rounds[WORKERS];
pthread_t workers[WORKERS];

void *work(void *data)
{
    auto number = reinterpret_cast<uintptr_t>(data);
    begin(&here);
    for (unsigned round = 0; !stop; round++) {
        works[number](round);
        rounds[number]++;
    }
    here.is_ready = false;
    return nullptr;
}

} // namespace

/* The allocator of the whole process, the loader's and the C++ runtime's too; it walks at each call. */
extern "C" void *__libc_malloc(size_t size);
extern "C" void *malloc(size_t size)
{
    if (walking_in_malloc++ == 0) {
        void *pcs[64];
        if (sp_backtrace(pcs, 64) < 1)
            wrong++;
        allocations++;
    }
    walking_in_malloc--;
    return __libc_malloc(size);
}

int main(int argc, char **argv)
{
    char *end;
    long seconds = argc == 3 ? strtol(argv[1], &end, 10) : 0;
    if (argc != 3 || *end != '\0' || seconds <= 0) {
        fprintf(stderr, "usage: %s SECONDS LIBRARY\n", argv[0]);
        return 2;
    }
    library_path = argv[2];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_profile;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &timer, nullptr);

    for (uintptr_t i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], nullptr, work, reinterpret_cast<void *>(i)) != 0)
            abort();
    struct timespec now, until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    do {
        for (pthread_t worker : workers)
            pthread_kill(worker, SIGPROF);
        usleep(500);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < until.tv_sec);
    /* From here on all must come to an end by themselves. */
    alarm(120);
    stop = true;
    for (pthread_t worker : workers)
        pthread_join(worker, nullptr);
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_PROF, &timer, nullptr);

    bool all_worked = true;
    for (std::atomic<long> &done : rounds)
        all_worked = all_worked && done > 0;
    printf("%ld walks in %ld seconds: %ld whole, %ld marked, %ld wrong; %ld walks in malloc\n", walks.load(), seconds,
           whole.load(), marked.load(), wrong.load(), allocations.load());
    printf("rounds:");
    for (std::atomic<long> &done : rounds)
        printf(" %ld", done.load());
    printf("\n");
    if (!all_worked)
        printf("a thread never got through its work\n");
    /* A walk that interrupts swapcontext, or the loader, may be marked; most are whole. */
    if (whole < 100 || marked > walks / 10)
        printf("too few walks are whole\n");
    return wrong != 0 || !all_worked || whole < 100 || marked > walks / 10;
}
