/* SPDX-License-Identifier: MIT */
/*
 * step: runs a program with the oracle in it and reports how right the walkers were.
 *
 *     step [options] -- PROGRAM [ARGUMENT...]
 *
 * A dynamic program needs no change: the oracle is preloaded. A static one is linked with it (libstep.a, entry
 * step_start). Exit status: 0, the program ended well and no walk of spwalk's was wrong, or cut where that is not
 * listed; 1, it was not so; 2, bad usage.
 */
#define _GNU_SOURCE
#include "listed.h"
#include "report.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ORACLE "libstep.so"

struct settings {
    struct step_options options;
    const char *preload;
    const char *title;
    const char *tally;
    const char *output;
    int findings;
    bool peer_findings;
    bool quiet;
    bool listed;
    unsigned timeout;
    int expect; /* the program's exit status */
    char **command;
};

enum {
    KEY_EVERY = 0x100,
    KEY_PEERS,
    KEY_THROUGH,
    KEY_DEPTH,
    KEY_FILL,
    KEY_SAME_STACK,
    KEY_OWN_WALKER,
    KEY_PRELOAD,
    KEY_TITLE,
    KEY_TALLY,
    KEY_OUTPUT,
    KEY_FINDINGS,
    KEY_PEER_FINDINGS,
    KEY_TIMEOUT,
    KEY_EXPECT,
    KEY_LISTED
};

static const struct argp_option options[] = {
    {"steps", 's', "N", 0, "Stop stepping after N instructions", 0},
    {"every", KEY_EVERY, "N", 0, "Compare at each N-th instruction (1)", 0},
    {"peers", KEY_PEERS, "N", 0, "Run libunwind and glibc too at each N-th compared one (0: never)", 0},
    {"through", KEY_THROUGH, "N", 0, "Walk through the handler too at each N-th compared one (8; 0: never)", 0},
    {"depth", KEY_DEPTH, "N", 0, "Frames to walk at most (200)", 0},
    {"fill", KEY_FILL, "BYTES", 0, "Fill so much below SP with plausible words at each call (512; 0: nothing)", 0},
    {"same-stack", KEY_SAME_STACK, NULL, 0, "Handle the trap on the stepped stack", 0},
    {"own-walker", KEY_OWN_WALKER, NULL, 0, "Walk with the program's own sp_walk", 0},
    {"preload", KEY_PRELOAD, "LIBRARY", 0, "The oracle to preload (libstep.so beside this program)", 0},
    {"title", KEY_TITLE, "TEXT", 0, "What to call the program in the report", 0},
    {"tally", KEY_TALLY, "FILE", 0, "Append the counts to FILE", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "Where the program's own output goes", 0},
    {"findings", KEY_FINDINGS, "N", 0, "Findings to print at most (20)", 0},
    {"peer-findings", KEY_PEER_FINDINGS, NULL, 0, "Print libunwind's and glibc's too", 0},
    {"quiet", 'q', NULL, 0, "Print nothing where all is right", 0},
    {"timeout", KEY_TIMEOUT, "SECONDS", 0, "End the program then (240)", 0},
    {"listed", KEY_LISTED, "FILE", 0, "Fail where a walk is marked as cut at a place that FILE does not list", 0},
    {"expect", KEY_EXPECT, "STATUS", 0, "The program's exit status that is right (0; 128+N: signal N)", 0},
    {0},
};

static uint32_t number(struct argp_state *state, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || *end != 0 || end == text || value < least || value > most)
        argp_failure(state, 2, 0, "'%s' is not a number from %u to %u", text, least, most);
    return (uint32_t)value;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    struct settings *s = state->input;
    switch (key) {
    case 's':
        s->options.steps = number(state, text, 0, UINT32_MAX);
        break;
    case KEY_EVERY:
        s->options.every = number(state, text, 1, UINT32_MAX);
        break;
    case KEY_PEERS:
        s->options.peers = number(state, text, 0, UINT32_MAX);
        break;
    case KEY_THROUGH:
        s->options.through = number(state, text, 0, UINT32_MAX);
        break;
    case KEY_DEPTH:
        s->options.depth = number(state, text, 1, STEP_DEPTH_MAX);
        break;
    case KEY_FILL:
        s->options.fill = number(state, text, 0, 65536) / 8 * 8;
        break;
    case KEY_SAME_STACK:
        s->options.same_stack = 1;
        break;
    case KEY_OWN_WALKER:
        s->options.own_walker = 1;
        break;
    case KEY_PRELOAD:
        s->preload = text;
        break;
    case KEY_TITLE:
        s->title = text;
        break;
    case KEY_TALLY:
        s->tally = text;
        break;
    case KEY_OUTPUT:
        s->output = text;
        break;
    case KEY_FINDINGS:
        s->findings = (int)number(state, text, 0, 100000);
        break;
    case KEY_PEER_FINDINGS:
        s->peer_findings = true;
        break;
    case 'q':
        s->quiet = true;
        break;
    case KEY_TIMEOUT:
        s->timeout = number(state, text, 1, 100000);
        break;
    case KEY_LISTED:
        step_list_read(text);
        s->listed = true;
        break;
    case KEY_EXPECT:
        s->expect = (int)number(state, text, 0, 255);
        break;
    case ARGP_KEY_ARGS:
        s->command = state->argv + state->next;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_failure(state, 2, 0, "name the program to run: step [options] -- PROGRAM [ARGUMENT...]");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "step: %s: %s\n", what, strerror(errno));
    exit(2);
}

static struct step_area *create_area(char *path)
{
    int fd = mkstemp(path);
    if (fd < 0 || ftruncate(fd, sizeof(struct step_area)) != 0)
        fail(path);
    void *area = mmap(NULL, sizeof(struct step_area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (area == MAP_FAILED)
        fail("mmap");
    close(fd);
    return area;
}

/* LD_PRELOAD looks a bare name up in the library path, and a relative one where the program happens to run. */
static const char *oracle(const struct settings *s)
{
    static char path[PATH_MAX];
    if (s->preload != NULL) {
        if (realpath(s->preload, path) == NULL)
            fail(s->preload);
        return path;
    }
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - sizeof ORACLE);
    if (n < 0)
        fail("/proc/self/exe");
    path[n] = 0;
    strcpy(strrchr(path, '/') + 1, ORACLE);
    if (access(path, R_OK) != 0)
        fail(path);
    return path;
}

static void run(const struct settings *s, const char *area_path)
{
    if (s->output != NULL) {
        int fd = open(s->output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (fd < 0 || dup2(fd, 1) < 0)
            fail(s->output);
        close(fd);
    }
    setenv(STEP_ENVIRONMENT, area_path, 1);
    setenv("LD_PRELOAD", oracle(s), 1);
    setpgid(0, 0);
    execvp(s->command[0], s->command);
    fail(s->command[0]);
}

static pid_t child;
static volatile sig_atomic_t timed_out;

static void on_alarm(int number)
{
    (void)number;
    timed_out = 1;
    kill(-child, SIGKILL);
}

int main(int argc, char **argv)
{
    struct settings s = {
        .options = {.every = 1, .through = 8, .depth = 200, .fill = 512},
        .findings = 20,
        .timeout = 240,
    };
    argp_err_exit_status = 2;
    const struct argp argp = {options,
                              parse,
                              "-- PROGRAM [ARGUMENT...]",
                              "Runs a program one instruction at a time and checks a stack walk at each.",
                              NULL,
                              NULL,
                              NULL};
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &s);
    const char *title = s.title != NULL ? s.title : s.command[0];

    char path[] = "/tmp/spwalk-step.XXXXXX";
    struct step_area *area = create_area(path);
    area->options = s.options;
    area->magic = STEP_MAGIC;

    child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0)
        run(&s, path);
    signal(SIGALRM, on_alarm);
    alarm(s.timeout);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    alarm(0);
    kill(-child, SIGKILL);
    unlink(path);

    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    uint64_t wrong = step_report_wrong(area);
    uint64_t unlisted = s.listed ? step_report_unlisted(area) : 0;
    bool good = wrong == 0 && unlisted == 0 && code == s.expect && area->steps != 0 && !timed_out;
    if (!s.quiet || !good) {
        step_report_rates(stdout, area, title);
        unsigned walkers = 1U << STEP_SPWALK | 1U << STEP_THROUGH;
        if (s.peer_findings)
            walkers |= 1U << STEP_LIBUNWIND | 1U << STEP_GLIBC;
        step_report_findings(stdout, area, walkers, s.findings);
    }
    if (area->errno_changed != 0)
        printf("%s: errno was changed by %lu walks\n", title, (unsigned long)area->errno_changed);
    if (area->disagreements != 0)
        printf("%s: sp_backtrace_context disagreed with sp_walk %lu times\n", title,
               (unsigned long)area->disagreements);
    if (unlisted != 0)
        printf("%s: %lu walks were marked as cut at places that are not listed\n", title, (unsigned long)unlisted);
    if (timed_out)
        printf("%s: not ended after %u seconds\n", title, s.timeout);
    else if (code != s.expect)
        printf("%s: exit status %d where %d is right\n", title, code, s.expect);
    if (area->alive == 0)
        printf("%s: the oracle did not start in it; a static program must be linked with it\n", title);
    else if (area->steps == 0)
        printf("%s: no instruction was stepped\n", title);
    if (s.tally != NULL) {
        FILE *f = fopen(s.tally, "a");
        if (f == NULL)
            fail(s.tally);
        step_report_line(f, area, title);
        fclose(f);
    }
    return good ? 0 : 1;
}
