/* SPDX-License-Identifier: MIT */
/*
 * What spwalk.h promises of a walk: in steady state no lock, no allocation, no system call; ever no descriptor left
 * open, errno kept; and little stack: it is told how much, and a handler on an 8 KiB alternate stack has room for it.
 */
#include "../cases/tap.h"
#include "../cases/walks.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

__asm__(".text\n"
        ".p2align 4\n"
        ".type by_rbx, @function\n"
        "by_rbx: .cfi_startproc\n pushq %rbx\n .cfi_def_cfa_offset 16\n .cfi_offset %rbx, -16\n movq %rsp, %rbx\n"
        " .cfi_def_cfa_register %rbx\n subq $48, %rsp\n call *%rdi\n movq %rbx, %rsp\n .cfi_def_cfa_register %rsp\n"
        " popq %rbx\n .cfi_restore %rbx\n .cfi_def_cfa_offset 8\n ret\n .cfi_endproc\n"
        ".type bare, @function\n"
        "bare: pushq %r12\n subq $32, %rsp\n call *%rdi\n addq $32, %rsp\n popq %r12\n ret\n"
        ".type illegal, @function\n"
        "illegal: .cfi_startproc\n ud2\n ret\n .cfi_endproc\n");
void by_rbx(void (*f)(void)) __asm__("by_rbx");
void bare(void (*f)(void)) __asm__("bare");
void illegal(void) __asm__("illegal");

static struct walk walked;
static void *pcs[WALK_MOST];
static ucontext_t context;
static int (*in_library)(void (*)(void));

static NOINLINE void walk_all(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    sp_backtrace(pcs, WALK_MOST);
    sp_backtrace_context(&context, pcs, WALK_MOST);
    sp_walk(&context, walked.frames, WALK_MOST, &walked.end);
    __asm__ volatile("" ::: "memory");
}

static int compare(const void *a, const void *b)
{
    walk_all();
    return *(const int *)a - *(const int *)b;
}

static void all_kinds(void)
{
    walk_all();
    go_deeper(20, walk_all);
    go_deeper(5, walk_all);
    by_rbx(walk_all);
    bare(walk_all);
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof numbers[0], compare);
    if (in_library != NULL)
        in_library(walk_all);
}

static NOINLINE void load_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW);
    EXPECT(library != NULL, "%s", dlerror());
    *(void **)&in_library = dlsym(library, "library_call");
}

/* All but what ends the process and what returns from a handler kills it. */
static void forbid_system_calls(void)
{
    static struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
           "no seccomp: %s", strerror(errno));
}

static void on_illegal(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    ucontext_t *interrupted = data;
    sp_backtrace_context(data, pcs, WALK_MOST);
    walked.n = sp_walk(data, walked.frames, WALK_MOST, &walked.end);
    sp_backtrace(pcs, WALK_MOST);
    interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static void without_system_calls(void)
{
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    handle(SIGILL, on_illegal, SA_ONSTACK);
    load_library();
    getcontext(&context);
    for (int i = 0; i < 4; i++) {
        all_kinds();
        illegal();
    }
    forbid_system_calls();
    for (int i = 0; i < 1000; i++) {
        all_kinds();
        illegal();
    }
    _exit(walked.end != SP_END_OUTERMOST);
}

/* On the stack of the thread that has forked, which now is the process's only one. */
static void *walk_in_child(void *data)
{
    pid_t child = fork();
    if (child == 0) {
        getcontext(&context);
        for (volatile int i = 0; i < 4; i++)
            walk_all();
        forbid_system_calls();
        for (volatile int i = 0; i < 4; i++)
            walk_all();
        _exit(walked.end != SP_END_OUTERMOST);
    }
    waitpid(child, data, 0);
    return data;
}

static void in_a_child_of_a_thread(void)
{
    int status = -1;
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, walk_in_child, &status) == 0, "no thread");
    pthread_join(thread, NULL);
    EXPECT(status == 0, "the child ended with status %#x", (unsigned)status);
}

/*
 * In steady state: each instruction is one of the program's own text, where the walker is linked in, so none of malloc,
 * of a lock, of the loader; and none has a lock prefix, or is a system call. Through a library that may be unloaded,
 * the C library is asked whether it is still the same, by _dl_find_object, which takes no lock either.
 */
extern const char __executable_start[], etext[];
static long outside, locked, system_calls;

/* What the C library is asked, where it lies and how far its code reaches at most; the last is the loader, which does
 * the work of _dl_find_object (and whose locks are in the C library). */
static struct {
    const char *name;
    uintptr_t size, at;
} asked[] = {{"__errno_location", 32, 0}, {"_dl_find_object", 1024, 0}, {"getauxval", 512, 0}, {NULL, 0x30000, 0}};

static void look_at_instruction(const void *data)
{
    const ucontext_t *at = data;
    const uint8_t *pc = (const uint8_t *)at->uc_mcontext.gregs[REG_RIP];
    bool is_own = (const char *)pc >= __executable_start && (const char *)pc < etext;
    bool is_allowed = false;
    for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++)
        is_allowed = is_allowed || (uintptr_t)pc - asked[i].at < asked[i].size;
    if (!is_own && !is_allowed)
        outside++;
    locked += pc[0] == 0xf0;
    system_calls += pc[0] == 0x0f && pc[1] == 0x05;
}

static NOINLINE void walk_step(void *unused)
{
    (void)unused;
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    sp_backtrace(pcs, WALK_MOST);
    sp_backtrace_context(&context, pcs, WALK_MOST);
    __asm__ volatile("" ::: "memory");
}

static void step_steady(void)
{
    for (unsigned i = 0; i < sizeof asked / sizeof asked[0]; i++)
        asked[i].at = asked[i].name != NULL ? (uintptr_t)dlsym(RTLD_DEFAULT, asked[i].name) : getauxval(AT_BASE);
    getcontext(&context);
    for (volatile int i = 0; i < 4; i++)
        walk_step(NULL);
    step_visitor = NULL;
    walk_each_step(walk_step, NULL);
    step_visitor = look_at_instruction;
    outside = locked = system_calls = 0;
    struct tally tally = walk_each_step(walk_step, NULL);
    EXPECT(tally.walks > 100 && tally.wrong == 0, "%ld steps, %ld walks wrong", tally.walks, tally.wrong);
    EXPECT(outside == 0 && locked == 0 && system_calls == 0,
           "%ld instructions outside the walker, %ld locked, %ld system calls", outside, locked, system_calls);
}

static void instruction_by_instruction(void)
{
    step_steady();
    go_deeper(20, step_steady);
    by_rbx(step_steady);
    bare(step_steady);
    load_library();
    in_library(step_steady);
}

static NOINLINE int descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static void *all_kinds_in_thread(void *data)
{
    getcontext(&context);
    for (volatile int value = 1; value < 4; value++) {
        errno = value + 1000;
        all_kinds();
        EXPECT(errno == value + 1000, "errno became %d", errno);
        illegal();
        EXPECT(errno == value + 1000, "errno became %d in a handler", errno);
    }
    return data;
}

static ucontext_t outside_context, inside_context;

static void coroutine_body(void)
{
    all_kinds_in_thread(NULL);
}

static void errno_and_descriptors(void)
{
    static int before;
    before = descriptors();
    handle(SIGILL, on_illegal, 0);
    all_kinds_in_thread(NULL);
    load_library();
    all_kinds_in_thread(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, all_kinds_in_thread, NULL);
    pthread_join(thread, NULL);
    getcontext(&inside_context);
    inside_context.uc_stack.ss_sp = malloc(65536);
    inside_context.uc_stack.ss_size = 65536;
    inside_context.uc_link = &outside_context;
    makecontext(&inside_context, coroutine_body, 0);
    swapcontext(&outside_context, &inside_context);

    errno = 77;
    ucontext_t wild = context;
    static const uintptr_t addresses[] = {0, 1, 4096, UINT64_C(0x800000000000), ~UINT64_C(0)};
    for (unsigned i = 0; i < 5; i++) {
        wild.uc_mcontext.gregs[REG_RSP] = (greg_t)addresses[i];
        sp_walk(&wild, walked.frames, WALK_MOST, &walked.end);
        wild.uc_mcontext.gregs[REG_RIP] = (greg_t)addresses[4 - i];
        sp_walk(&wild, walked.frames, WALK_MOST, &walked.end);
    }
    EXPECT(errno == 77, "errno became %d", errno);
    EXPECT(descriptors() == before, "%d descriptors, %d before", descriptors(), before);
}

/* An alternate stack of 8 KiB between two pages that can't be touched, filled so that what is used can be told. */
enum { SMALL = 8192, FILL = 0x5a };

static unsigned char *small;
static long handler_use, walk_use;
static int kind;

static void on_small_stack(int number, void *info, void *data)
{
    (void)number;
    (void)info;
    unsigned char *sp = __builtin_frame_address(0);
    ucontext_t *interrupted = data;
    switch (kind) {
    case 0:
        sp_backtrace_context(data, pcs, WALK_MOST);
        break;
    case 1:
        walked.n = sp_walk(data, walked.frames, WALK_MOST, &walked.end);
        break;
    default:
        sp_backtrace(pcs, WALK_MOST);
    }
    long used = 0;
    for (unsigned char *at = small; at < sp && used == 0; at++)
        if (*at != FILL)
            used = sp - at;
    if (used > walk_use)
        walk_use = used;
    handler_use = small + SMALL - sp;
    interrupted->uc_mcontext.gregs[REG_RIP] += 2;
}

static long measure(void (*through)(void (*)(void)))
{
    walk_use = 0;
    for (kind = 0; kind < 3; kind++)
        for (int i = 0; i < 4; i++) {
            memset(small, FILL, SMALL);
            if (through != NULL)
                through(illegal);
            else
                illegal();
        }
    return walk_use;
}

static void through_recursion(void (*f)(void))
{
    go_deeper(40, f);
}

static void *measure_in_thread(void *data)
{
    stack_t stack = {.ss_sp = small, .ss_size = SMALL};
    sigaltstack(&stack, NULL);
    *(long *)data = measure(NULL);
    return data;
}

static void through_library(void (*f)(void))
{
    in_library(f);
}

static void stack_use(void)
{
    char *pages = mmap(NULL, SMALL + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    small = (unsigned char *)pages + 4096;
    EXPECT(pages != MAP_FAILED && mprotect(small, SMALL, PROT_READ | PROT_WRITE) == 0, "no memory");
    stack_t stack = {.ss_sp = small, .ss_size = SMALL};
    sigaltstack(&stack, NULL);
    handle(SIGILL, on_small_stack, SA_ONSTACK);
    load_library();
    /* The first walk of the process and of each module comes first. */
    long first = measure(NULL), library = measure(through_library), recursion = measure(through_recursion),
         registers = measure(by_rbx), code = measure(bare), thread_use;
    pthread_t thread;
    pthread_create(&thread, NULL, measure_in_thread, &thread_use);
    pthread_join(thread, NULL);
    printf(
        "# bytes of stack below the handler's frame: first walks %ld, a thread's %ld, a library's %ld, deep %ld, all "
        "registers %ld, read from code %ld; the kernel's signal frame and the handler's: %ld\n",
        first, thread_use, library, recursion, registers, code, handler_use);
    EXPECT(first > 0 && first < 4096 && registers < 4096 && code < 4096 && library < 4096, "more than half of it");
}

int main(void)
{
    tap_case("no system call in steady state", without_system_calls);
    tap_case("the same in a child that a thread has forked", in_a_child_of_a_thread);
    tap_case("no lock, no allocation, no call of anything, instruction by instruction", instruction_by_instruction);
    tap_case("errno is kept, no descriptor is left open", errno_and_descriptors);
    tap_case("a handler on an alternate stack of 8 KiB", stack_use);
    return tap_end();
}
