/* SPDX-License-Identifier: MIT */
/* A library that uses spwalk_leaks.h, or with CONSTRUCTOR one whose constructor calls the program's in_constructor. */
#include <spwalk_leaks.h>

#ifdef CONSTRUCTOR

extern void in_constructor(void);

__attribute__((constructor)) static void start(void)
{
    in_constructor();
}

#else

static int is_called(const struct sp_leaks_summary *summary, void *argument)
{
    (void)summary, (void)argument;
    return 1;
}

void set_hook(void);
void set_hook(void)
{
    sp_leaks_set_hook(is_called, NULL);
}

#endif
