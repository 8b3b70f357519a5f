/* SPDX-License-Identifier: MIT */
/* dlclose: what was loaded is noted before, and what is gone afterwards. */
#include "leaks/modules.h"
#include "leaks/trace.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static pthread_mutex_t one_at_a_time = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static bool update(void)
{
    struct leaks_maps maps;
    bool is_gone = leaks_maps_read(&maps) && leaks_modules_update(&maps);
    leaks_maps_free(&maps);
    return is_gone;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*next)(void *);
    if (next == NULL)
        next = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    if (next == NULL)
        return -1;
    /* Recursive: a destructor that runs meanwhile may close another. */
    pthread_mutex_lock(&one_at_a_time);
    update();
    int result = next(handle);
    if (update())
        leaks_trace_module_closed();
    pthread_mutex_unlock(&one_at_a_time);
    return result;
}
