/* SPDX-License-Identifier: MIT */
/* What runs before anything of the program's own does; blocks are recorded from before that. */
#include "leaks/ends.h"
#include "leaks/error.h"
#include "leaks/modules.h"
#include "leaks/options.h"
#include "leaks/thread.h"
#include "leaks/report.h"
#include "leaks/state.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const char *value_of(char **environment, const char *name)
{
    size_t length = strlen(name);
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static bool is_ours(const char *variable)
{
    return strncmp(variable, LEAKS_ENVIRONMENT, strlen(LEAKS_ENVIRONMENT)) == 0 &&
           (variable[strlen(LEAKS_ENVIRONMENT)] == '=' || variable[strlen(LEAKS_ENVIRONMENT)] == '_');
}

/*
 * Makes the environment what it was without us. Our own library is the first word of LD_PRELOAD. The auxiliary vector
 * is looked for behind the environment's end by some, so the room that becomes free is made entries to be ignored; the
 * tool sees to it that an even number of variables goes.
 */
static void hide(char **environment)
{
    char **kept = environment, **entry = environment;
    for (; *entry != NULL; entry++) {
        if (is_ours(*entry))
            continue;
        if (strncmp(*entry, "LD_PRELOAD=", 11) == 0) {
            char *rest = strpbrk(*entry + 11, ": ");
            if (rest == NULL)
                continue;
            memmove(*entry + 11, rest + 1, strlen(rest + 1) + 1);
        }
        *kept++ = *entry;
    }
    size_t removed = (size_t)(entry - kept);
    *kept++ = NULL;
    for (; removed >= 2; removed -= 2) {
        *kept++ = (char *)AT_IGNORE;
        *kept++ = NULL;
    }
    if (removed != 0)
        *kept = NULL;
}

static void after_fork(void)
{
    leaks_process_id = (int32_t)getpid();
    leaks_epoch++;
    leaks_thread_forked();
    leaks_error_forget();
    leaks_modules_forked();
    leaks_report_forked();
}

static void report_by_signal(int number)
{
    (void)number;
    __builtin_unwind_init();
    leaks_report_make(LEAKS_REASON_SIGNAL, leaks_sp());
}

static void watch_signal(void)
{
    struct sigaction action = {.sa_handler = report_by_signal, .sa_flags = SA_RESTART}, before;
    sigfillset(&action.sa_mask);
    if (leaks_options.signal != 0 && sigaction((int)leaks_options.signal, NULL, &before) == 0 &&
        before.sa_handler == SIG_DFL)
        sigaction((int)leaks_options.signal, &action, NULL);
}

__attribute__((constructor)) static void start(int argc, char **argv, char **environment)
{
    (void)argc, (void)argv;
    const char *text = value_of(environment, LEAKS_ENVIRONMENT),
               *folder = value_of(environment, LEAKS_ENVIRONMENT_FOLDER);
    if (text != NULL)
        leaks_options_read(text);
    leaks_process_id = (int32_t)getpid();
    leaks_thread_start();
    leaks_report_start(folder, environment);
    pthread_atfork(NULL, NULL, after_fork);
    leaks_ends_start();
    watch_signal();
    if (leaks_options.disabled)
        leaks_is_off = 1;
    if (folder != NULL && !leaks_options.follow)
        hide(environment);
}
