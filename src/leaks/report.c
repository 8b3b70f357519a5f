/* SPDX-License-Identifier: MIT */
#include "leaks/report.h"

#include "leaks/block.h"
#include "leaks/error.h"
#include "leaks/modules.h"
#include "leaks/own.h"
#include "leaks/printer.h"
#include "leaks/snapshot.h"
#include "leaks/thread.h"
#include "leaks/trace.h"
#include "leaks/writer.h"
#include "module/kernel.h"
#include "module/module.h"

#include <string.h>
#include <sys/uio.h>
#include <time.h>

static char folder[3072];
static char last_path[4096];
static uint32_t report_count;
static int32_t busy_thread; /* that makes a report, or counts; 0: none */
static sp_leaks_hook *hook;
static void *hook_argument;
static bool is_hook_in_module; /* which may be closed before a report */
static uint64_t start_ns;

static uint64_t now_ns(void)
{
    struct timespec now = {0};
    sp_syscall6(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void leaks_report_start(const char *where, char **environment)
{
    start_ns = now_ns();
    leaks_start_tick = leaks_tick();
    if (where != NULL && strlen(where) < sizeof folder)
        strcpy(folder, where);
    leaks_printer_start(where != NULL, environment);
}

bool leaks_report_has_hook(void)
{
    struct sp_module module;
    return hook != NULL && sp_module_find((uintptr_t)hook, &module);
}

void leaks_report_set_hook(sp_leaks_hook *new_hook, void *argument)
{
    hook_argument = argument;
    hook = new_hook;
    is_hook_in_module = leaks_report_has_hook();
}

/* Ticks in nanoseconds, by the two clocks at the start and now. */
struct rate {
    uint64_t ns, ticks;
};

static uint64_t to_ns(const struct rate *rate, uint64_t ticks)
{
    return rate->ticks == 0 ? 0 : (uint64_t)((unsigned __int128)ticks * rate->ns / rate->ticks);
}

static void put_stack(uint32_t number)
{
    if (number == 0)
        return;
    struct leaks_trace *trace = leaks_trace_get(number);
    if (trace->report == report_count)
        return;
    trace->report = report_count;
    trace->dumped = 0;
    struct leaks_stack stack = {number, trace->closes, trace->depth, trace->is_cut};
    leaks_writer_put(LEAKS_ITEM_TRACE, &stack, sizeof stack, trace->pcs, trace->depth * sizeof *trace->pcs);
}

/* The content is read as a file is: the threads go on by now, and the block may be gone. */
static size_t read_content(uintptr_t address, size_t size, char *content)
{
    struct iovec from = {(void *)address, size}, to = {content, size};
    long count = sp_syscall6(SYS_process_vm_readv, leaks_process_id, (long)&to, 1, (long)&from, 1, 0);
    return count < 0 ? 0 : (size_t)count;
}

static void put_block(const struct leaks_live *live, const struct leaks_record *record, uint64_t size,
                      const struct rate *rate)
{
    static char content[LEAKS_DUMP_MAX];
    struct leaks_block block = {.address = live->address,
                                .size = size,
                                .serial = record->serial,
                                .time = to_ns(rate, (uint64_t)record->time << LEAKS_TIME_SHIFT),
                                .stack = record->trace,
                                .thread = record->thread,
                                .kind = record->kind,
                                .class = live->class};
    put_stack(block.stack);
    struct leaks_trace *trace = block.stack == 0 ? NULL : leaks_trace_get(block.stack);
    if (trace != NULL && trace->dumped < leaks_options.dumps && live->class != LEAKS_REACHABLE) {
        trace->dumped++;
        block.dump_size =
            (uint16_t)read_content(live->address, size < leaks_options.dump ? size : leaks_options.dump, content);
    }
    leaks_writer_put(LEAKS_ITEM_BLOCK, &block, sizeof block, content, block.dump_size);
}

/* An error may have the number from a record that was overwritten. */
static void put_stack_if_known(uint32_t number)
{
    if (leaks_trace_is_known(number))
        put_stack(number);
}

static void put_errors(void)
{
    const struct leaks_error *error;
    for (size_t i = 0; (error = leaks_error_get(i)) != NULL; i++) {
        if (error->type == 0)
            continue;
        put_stack_if_known(error->here);
        put_stack_if_known(error->allocated);
        put_stack_if_known(error->freed);
        leaks_writer_put(LEAKS_ITEM_ERROR, error, sizeof *error, NULL, 0);
    }
}

static void put_modules(void)
{
    const struct leaks_known_module *known;
    for (size_t i = 0; (known = leaks_modules_get(i)) != NULL; i++)
        leaks_writer_put(LEAKS_ITEM_MODULE, &known->module, sizeof known->module, known->path, known->module.path_size);
}

static uint64_t serials_used(void)
{
    uint64_t most = 0;
    for (const struct leaks_thread *thread = leaks_thread_first(); thread != NULL; thread = thread->next)
        if (thread->serial > most)
            most = thread->serial;
    return most == 0 ? 0 : most - 1;
}

static void fill_process(struct leaks_process *process, const struct leaks_live_list *list, enum leaks_reason reason)
{
    *process = (struct leaks_process){.magic = LEAKS_MAGIC,
                                      .process = leaks_process_id,
                                      .parent = (int32_t)sp_syscall6(SYS_getppid, 0, 0, 0, 0, 0, 0),
                                      .reason = reason,
                                      .time = now_ns() - start_ns,
                                      .serials = serials_used(),
                                      .lost = leaks_lost + leaks_trace_lost(),
                                      .own_bytes = leaks_own_size(),
                                      .traces = leaks_trace_count(),
                                      .is_bypassed = leaks_is_bypassed()};
    long size =
        sp_syscall6(SYS_readlink, (long)"/proc/self/exe", (long)process->program, sizeof process->program - 1, 0, 0, 0);
    process->program[size < 0 ? 0 : size] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        process->live_blocks++;
        process->live_bytes += list->sizes[i];
        process->inherited_blocks += list->blocks[i].is_inherited;
        process->inherited_bytes += list->blocks[i].is_inherited ? list->sizes[i] : 0;
    }
}

static void summarize(struct sp_leaks_summary *summary, const struct leaks_live_list *list)
{
    memset(summary, 0, sizeof *summary);
    for (size_t i = 0; i < list->count; i++) {
        if (!leaks_is_shown(&list->blocks[i]))
            continue;
        summary->blocks++;
        summary->bytes += list->sizes[i];
        if (list->blocks[i].class == LEAKS_DEFINITE || list->blocks[i].class == LEAKS_INDIRECT) {
            summary->lost_blocks++;
            summary->lost_bytes += list->sizes[i];
        }
    }
    const struct leaks_error *error;
    for (size_t i = 0; (error = leaks_error_get(i)) != NULL; i++)
        summary->errors += error->type != 0;
}

static void write_file(const struct leaks_snapshot *snapshot, enum leaks_reason reason, bool is_refused)
{
    const struct leaks_live_list *list = &snapshot->list;
    struct leaks_process process;
    leaks_modules_update();
    report_count++;
    last_path[0] = '\0';
    const char *where = leaks_printer_folder(folder);
    if (where == NULL || !leaks_writer_open(where, leaks_process_id, report_count))
        return;
    fill_process(&process, list, reason);
    struct rate rate = {process.time, leaks_ticks_passed()};
    process.is_scanned = snapshot->is_scanned;
    process.unanswered = snapshot->unanswered;
    process.is_refused = is_refused;
    leaks_writer_put(LEAKS_ITEM_PROCESS, &process, sizeof process, NULL, 0);
    if (!is_refused)
        put_modules();
    for (size_t i = 0; i < list->count && !is_refused; i++)
        if (leaks_is_shown(&list->blocks[i]))
            put_block(&list->blocks[i], &list->records[i], list->sizes[i], &rate);
    if (!is_refused)
        put_errors();
    if (!leaks_writer_close(last_path))
        last_path[0] = '\0';
}

static bool take(void)
{
    int32_t none = 0, self = (int32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    return __atomic_compare_exchange_n(&busy_thread, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* The last report is not left out because another thread makes one just now. One that never ends is not waited for. */
static bool take_at_end(void)
{
    enum { STEPS = 10000 };
    const struct timespec step = {0, 1000000};
    int32_t self = (int32_t)sp_syscall6(SYS_gettid, 0, 0, 0, 0, 0, 0);
    for (int i = 0; i < STEPS; i++) {
        if (take())
            return true;
        if (__atomic_load_n(&busy_thread, __ATOMIC_RELAXED) == self)
            return false;
        sp_syscall6(SYS_nanosleep, (long)&step, 0, 0, 0, 0, 0);
    }
    return false;
}

static void give_back(void)
{
    __atomic_store_n(&busy_thread, 0, __ATOMIC_RELEASE);
}

void leaks_report_make(enum leaks_reason reason, uintptr_t sp)
{
    struct leaks_snapshot snapshot;
    bool is_end = reason == LEAKS_REASON_EXIT || reason == LEAKS_REASON_EXEC;
    if (!(is_end ? take_at_end() : take()))
        return;
    if (leaks_snapshot_take(&snapshot, sp, LEAKS_CHECK)) {
        struct sp_leaks_summary summary;
        summarize(&summary, &snapshot.list);
        bool is_refused =
            hook != NULL && (!is_hook_in_module || leaks_report_has_hook()) && hook(&summary, hook_argument) != 0;
        /* The tool, where there is one, is told of an end all the same. */
        if (!is_refused || (is_end && folder[0] != '\0'))
            write_file(&snapshot, reason, is_refused);
        if (!is_refused)
            leaks_printer_print(last_path);
        leaks_snapshot_free(&snapshot);
    }
    give_back();
}

void leaks_report_withdraw(void)
{
    if (last_path[0] != '\0')
        sp_syscall6(SYS_unlink, (long)last_path, 0, 0, 0, 0, 0);
    last_path[0] = '\0';
}

void leaks_report_count(struct sp_leaks_summary *summary, uintptr_t sp)
{
    struct leaks_snapshot snapshot;
    memset(summary, 0, sizeof *summary);
    if (!take())
        return;
    if (leaks_snapshot_take(&snapshot, sp, LEAKS_SCAN)) {
        summarize(summary, &snapshot.list);
        leaks_snapshot_free(&snapshot);
    }
    give_back();
}

void leaks_report_mark_all(uintptr_t sp)
{
    struct leaks_snapshot snapshot;
    if (!take())
        return;
    if (leaks_snapshot_take(&snapshot, sp, LEAKS_MARK))
        leaks_snapshot_free(&snapshot);
    give_back();
}

void leaks_report_forked(void)
{
    busy_thread = 0;
    last_path[0] = '\0';
    report_count++;
}
