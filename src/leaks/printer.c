/* SPDX-License-Identifier: MIT */
#include "leaks/printer.h"

#include "leaks/hooks.h"
#include "module/kernel.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, VARIABLES_MAX = 4096 };

static bool is_tool_there, is_bypassed;
static char tool[PATH_SIZE];
static const char *variables[VARIABLES_MAX];

bool leaks_is_bypassed(void)
{
    return is_bypassed;
}

/*
 * The tool: beside this library as they are built (src/leaks and src/tool) or installed (lib, perhaps with a folder for
 * the architecture, and bin).
 */
static void find_tool(void)
{
    static const char *const places[] = {"/../tool/spwalk", "/../bin/spwalk", "/../../bin/spwalk"};
    Dl_info own;
    if (dladdr((void *)leaks_printer_start, &own) == 0 || own.dli_fname == NULL)
        return;
    const char *slash = strrchr(own.dli_fname, '/');
    size_t length = slash == NULL ? 0 : (size_t)(slash - own.dli_fname);
    for (size_t i = 0; i < sizeof places / sizeof *places && length + 32 < PATH_SIZE && tool[0] == '\0'; i++) {
        memcpy(tool, own.dli_fname, length);
        strcpy(tool + length, places[i]);
        if (access(tool, X_OK) != 0)
            tool[0] = '\0';
    }
    if (tool[0] == '\0')
        strcpy(tool, "/usr/bin/spwalk");
}

/* The tool's environment is the program's at its start, without what would make it record itself. */
static void keep_environment(char **environment)
{
    size_t count = 0;
    for (; *environment != NULL && count + 1 < VARIABLES_MAX; environment++)
        if (strncmp(*environment, "LD_PRELOAD=", 11) != 0)
            variables[count++] = *environment;
}

void leaks_printer_start(bool has_tool, char **environment)
{
    is_tool_there = has_tool;
    /* A program with a malloc of its own calls that one. */
    is_bypassed = leaks_find_free() != dlsym(RTLD_DEFAULT, "free");
    if (has_tool)
        return;
    find_tool();
    keep_environment(environment);
}

const char *leaks_printer_folder(const char *given)
{
    if (*given != '\0' || is_tool_there)
        return *given != '\0' ? given : NULL;
    const char *places[] = {"/dev/shm", "/tmp"};
    for (size_t i = 0; i < 2; i++) {
        if (sp_syscall6(SYS_access, (long)places[i], W_OK, 0, 0, 0, 0) == 0)
            return places[i];
    }
    return NULL;
}

/*
 * By a bare clone and exec: no lock is taken, and the program sees neither a fork (pthread_atfork) nor a child of its
 * own (SIGCHLD, wait): it has no signal at its end. The tool removes the file when it has read it.
 */
void leaks_printer_print(const char *path)
{
    if (is_tool_there || *path == '\0')
        return;
    const char *const arguments[] = {"spwalk", "leaks", "--print", path, NULL};
    long child = sp_syscall6(SYS_clone, 0, 0, 0, 0, 0, 0);
    if (child == 0) {
        sp_syscall6(SYS_execve, (long)tool, (long)arguments, (long)variables, 0, 0, 0);
        static const char text[] = "spwalk leaks: the program spwalk is not there to print the report\n";
        sp_syscall6(SYS_write, 2, (long)text, sizeof text - 1, 0, 0, 0);
        sp_syscall6(SYS_unlink, (long)path, 0, 0, 0, 0, 0);
        sp_syscall6(SYS_exit_group, 127, 0, 0, 0, 0, 0);
    }
    int status;
    while (child > 0 && sp_syscall6(SYS_wait4, child, (long)&status, __WALL, 0, 0, 0) == -4) /* EINTR */
        continue;
}
