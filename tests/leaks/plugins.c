/* SPDX-License-Identifier: MIT */
/* plugins CASE FOLDER: a program that loads and closes libraries, which do as plugin.c says. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;
static void *first, *second;
static sem_t is_constructed;
static void *volatile sink;

static void *load(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return library;
}

static void *close_second(void *unused)
{
    sem_wait(&is_constructed);
    dlclose(second);
    return unused;
}

/* The dynamic linker is locked by the thread that runs the constructor; the other one comes to close a library. */
void in_constructor(void)
{
    sem_post(&is_constructed);
    usleep(200000);
    dlclose(first);
}

int main(int argc, char **argv)
{
    folder = argc > 2 ? argv[2] : ".";
    if (argc > 1 && strcmp(argv[1], "hook") == 0) {
        void *library = load("libplugin.so");
        void (*set_hook)(void) = (void (*)(void))dlsym(library, "set_hook");
        set_hook();
        dlclose(library);
        sink = malloc(70);
        sink = NULL;
    } else {
        pthread_t thread;
        sem_init(&is_constructed, 0, 0);
        first = load("libleaky1.so");
        second = load("libleaky2.so");
        dlclose(load("libleaky1.so")); /* what a first call finds out, by the same lock, is known */
        pthread_create(&thread, NULL, close_second, NULL);
        dlclose(load("libconstructor.so"));
        pthread_join(thread, NULL);
    }
    return 7;
}
