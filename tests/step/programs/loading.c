/* SPDX-License-Identifier: MIT */
/* Libraries loaded and unloaded while they are walked: relocation with IFUNC resolvers, constructors, a first lazy
 * call, and another library at the same address. */
#include "program.h"

#include <dlfcn.h>

static NOINLINE int use(const char *name, const char *symbol)
{
    void *library = dlopen(name, RTLD_LAZY);
    CHECK(library != NULL);
    int (*f)(const char *) = (int (*)(const char *))dlsym(library, symbol);
    CHECK(f != NULL);
    CHECK(dlclose(library) == 0);
    return leaf(1);
}

int main(void)
{
    fill_stack();
    for (int i = 0; i < 2; i++) {
        use("libm.so.6", "sin");
        use("libz.so.1", "zlibVersion");
    }
    CHECK(dlopen("no-such-library.so", RTLD_NOW) == NULL);
    CHECK(dlerror() != NULL);
    return 0;
}
