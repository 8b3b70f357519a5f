/* SPDX-License-Identifier: MIT */
/* opens PLUGIN TIMES: opens it, runs it 5 times, closes it. Prints "target_plain COUNT". */
#include "target.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (int i = 0; i < atoi(argv[2]); i++) {
        void *plugin = dlopen(argv[1], (i % 2 ? RTLD_LAZY : RTLD_NOW) | RTLD_LOCAL);
        if (!plugin)
            return puts(dlerror()), 1;
        void (*run)(int) = (void (*)(int))dlsym(plugin, "plugin_run");
        run(5);
        dlclose(plugin);
    }
    printf("target_plain %ld\n", target_entered("target_plain"));
    return 0;
}
