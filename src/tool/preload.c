/* SPDX-License-Identifier: MIT */
#include "preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "command.h"

char *sp_preload_find(const char *name)
{
    char own[PATH_MAX], path[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = length > 0 ? memrchr(own, '/', (size_t)length) : NULL;
    if (slash) {
        *slash = '\0';
        /* build/src/tool/spwalk and build/src/NAME/libspwalk-NAME.so; prefix/bin and prefix/SP_LIBDIR */
        const char *const folders[] = {name, SP_LIBDIR};
        for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
            snprintf(path, sizeof path, "%s/../%s/libspwalk-%s.so", own, folders[i], name);
            char *found = realpath(path, NULL);
            if (found && !strpbrk(found, ": "))
                return found;
            if (found)
                sp_complain("%s: LD_PRELOAD cannot name a path with a colon or a blank in it; install it elsewhere",
                            found);
            free(found);
            if (found)
                return NULL;
        }
    }
    sp_complain("libspwalk-%s.so is neither in ../%s nor in ../%s beside this program; install it", name, name,
                SP_LIBDIR);
    return NULL;
}

/* The first executable file of that name in PATH, as execvp looks for it. */
static char *search_path(const char *name)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX];
    if (strchr(name, '/'))
        return strdup(name);
    for (folders = folders ? folders : "/bin:/usr/bin"; folders; folders = strchr(folders, ':')) {
        folders += *folders == ':';
        int length = (int)strcspn(folders, ":");
        struct stat status;
        snprintf(path, sizeof path, "%.*s%s%s", length, folders, length ? "/" : "", name);
        if (access(path, X_OK) == 0 && stat(path, &status) == 0 && S_ISREG(status.st_mode))
            return strdup(path);
    }
    return NULL;
}

/* Whether the kernel will give the program privileges, in which case the dynamic linker ignores LD_PRELOAD. */
static bool gains_privileges(const char *path, const struct stat *status)
{
    if (status->st_mode & S_ISUID && status->st_uid != getuid())
        return true;
    if (status->st_mode & S_ISGID && status->st_mode & S_IXGRP && status->st_gid != getgid())
        return true;
    return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

/* The preloaded part needs the GNU C library, and that its dynamic linker. Returns whether there was a complaint. */
static bool complain_linker(const char *path, const Elf64_Phdr *segment, int file)
{
    char linker[PATH_MAX];
    size_t size = segment->p_filesz < sizeof linker ? segment->p_filesz : sizeof linker - 1;
    ssize_t got = pread(file, linker, size, (off_t)segment->p_offset);
    linker[got > 0 ? got : 0] = '\0';
    const char *slash = strrchr(linker, '/');
    if (strcmp(slash ? slash + 1 : linker, "ld-linux-x86-64.so.2") == 0)
        return false;
    sp_complain("%s: its dynamic linker is '%s'; only programs of the GNU C library (ld-linux-x86-64.so.2) can be run",
                path, linker);
    return true;
}

static bool complain_elf(const char *path, const char *start, size_t size, int file)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)start;
    if (size < sizeof *header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
        sp_complain("%s: not a program for x86-64", path);
        return true;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        off_t at = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);
        if (pread(file, &segment, sizeof segment, at) != sizeof segment) {
            sp_complain("%s: damaged: its program headers lie beyond its end", path);
            return true;
        }
        if (segment.p_type == PT_INTERP)
            return complain_linker(path, &segment, file);
    }
    sp_complain("%s: statically linked: it has no import slots, and nothing can be preloaded into it", path);
    return true;
}

/* The interpreter of a script: the first word after "#!". */
static char *interpreter_of(char *start, size_t size)
{
    char *word = start + 2, *end;
    start[size] = '\0';
    while (*word == ' ' || *word == '\t')
        word++;
    end = word + strcspn(word, " \t\n");
    return *word && end != word ? strndup(word, (size_t)(end - word)) : NULL;
}

static bool check(const char *path, int depth);

static bool complain_content(const char *path, int file, int depth)
{
    char start[4096];
    ssize_t size = pread(file, start, sizeof start - 1, 0);
    if (size >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0)
        return complain_elf(path, start, (size_t)size, file);
    bool is_script = size >= 2 && memcmp(start, "#!", 2) == 0 && depth > 0;
    char *interpreter = is_script ? interpreter_of(start, (size_t)size) : NULL;
    if (!interpreter) {
        sp_complain("%s: neither an ELF program nor a script with an interpreter", path);
        return true;
    }
    bool is_good = check(interpreter, depth - 1);
    free(interpreter);
    return !is_good;
}

/* depth: how many interpreters may follow one another; the kernel allows four. */
static bool check(const char *path, int depth)
{
    struct stat status;
    int file = -1;
    bool is_bad = true;
    if (access(path, X_OK) != 0 || stat(path, &status) != 0)
        sp_complain("%s: %s", path, strerror(errno));
    else if (!S_ISREG(status.st_mode))
        sp_complain("%s: not a program", path);
    else if (gains_privileges(path, &status))
        sp_complain("%s: it runs with more privileges than yours, so nothing can be preloaded into it", path);
    else if ((file = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        sp_complain("%s: cannot be read: %s", path, strerror(errno));
    else
        is_bad = complain_content(path, file, depth);
    if (file >= 0)
        close(file);
    return !is_bad;
}

char *sp_preload_program(const char *name)
{
    char *path = *name ? search_path(name) : NULL;
    if (!path) {
        sp_complain("%s: no such program in PATH", *name ? name : "''");
        return NULL;
    }
    if (check(path, 4))
        return path;
    free(path);
    return NULL;
}
