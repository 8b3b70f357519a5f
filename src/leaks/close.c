/* SPDX-License-Identifier: MIT */
/* dlclose: what was loaded is noted before, and what is gone afterwards. */
#include "leaks/modules.h"
#include "leaks/report.h"

#include <dlfcn.h>
#include <stddef.h>

/* Holds no lock over the call: destructors run in it, and the dynamic linker's own lock is taken. */
__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*next)(void *);
    if (next == NULL)
        next = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
    if (next == NULL)
        return -1;
    bool had_hook = leaks_report_has_hook();
    leaks_modules_update();
    int result = next(handle);
    leaks_modules_update();
    if (had_hook && !leaks_report_has_hook())
        leaks_report_set_hook(NULL, NULL);
    return result;
}
