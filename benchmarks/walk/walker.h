/* SPDX-License-Identifier: MIT */
/* The walkers that are compared. Each is in a file of its own, so that a process can hold just one (see first.c). */
#ifndef WALKER_H
#define WALKER_H

#ifdef __cplusplus
extern "C" {
#endif

struct walker {
    const char *name;

    /*
     * Walks the stack from its caller, or where ucontext is not NULL from that context. A walker that can't start at a
     * context walks from its caller through the handler and the signal frame.
     * Returns the number of frames found.
     */
    int (*walk)(const void *ucontext, void **pcs, int max);

    /* Where walk leaves its frames elsewhere: copies the pcs of the last walk. May be NULL. */
    void (*result)(void **pcs, int count);

    /* Finds the walker's functions, where it is not linked with. May be NULL. */
    void (*load)(void);

    /* Sets it up as its own documentation says is fastest. May be NULL. */
    void (*tune)(void);
};

extern const struct walker walker_frame_pointers;
extern const struct walker walker_sp_backtrace;
extern const struct walker walker_sp_walk;
extern const struct walker walker_unw_backtrace;
extern const struct walker walker_unw_step;
extern const struct walker walker_glibc;
extern const struct walker walker_libgcc;
extern const struct walker walker_libbacktrace;
extern const struct walker walker_abseil;

#ifdef __cplusplus
}
#endif

#endif
