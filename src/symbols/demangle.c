/* SPDX-License-Identifier: MIT */
/*
 * The demangler is the C++ runtime's own __cxa_demangle: a C++ program has it loaded, and for any other it is loaded at
 * the first request. Linking with it would give every C program that prints a stack a C++ runtime, and libiberty's is
 * only to be had as a static archive of mixed licences.
 */
#include "demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef char *demangle_function(const char *name, char *buffer, size_t *size, int *status);

static demangle_function *demangler;

static void find_demangler(void)
{
    void *symbol = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (symbol == NULL) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        if (library != NULL)
            symbol = dlsym(library, "__cxa_demangle");
    }
    memcpy(&demangler, &symbol, sizeof symbol);
}

char *sp_demangle(const char *name)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    /* Anything else would be taken for a mangled type: "i" for "int". */
    if (strncmp(name, "_Z", 2) != 0)
        return NULL;
    pthread_once(&once, find_demangler);
    int status;
    return demangler == NULL ? NULL : demangler(name, NULL, NULL, &status);
}
