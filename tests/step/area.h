/* SPDX-License-Identifier: MIT */
/*
 * The memory that the runner (runner/) and the stepped processes (oracle/) share: options in, tallies and findings out.
 *
 * The runner creates it as a file and names it in the environment; each process of the stepped program maps it.
 * Counters are added to atomically. A finding is claimed by its key and filled in once, by the thread that first met
 * it.
 */
#ifndef STEP_AREA_H
#define STEP_AREA_H

#include <stdint.h>

#define STEP_ENVIRONMENT "SPWALK_STEP_AREA"
#define STEP_MAGIC UINT64_C(0x31707473776b6c77)

enum step_walker {
    STEP_SPWALK,
    STEP_THROUGH, /* sp_walk from inside the trap's handler, through its signal frame */
    STEP_LIBUNWIND,
    STEP_GLIBC,
    STEP_WALKERS,
};

/* What a walk was worth, against the truth. */
enum step_verdict {
    STEP_RIGHT,  /* every frame, and the end */
    STEP_TARGET, /* the chain that the next jump makes true: longjmp's and setcontext's CFI names the target early */
    STEP_FULL,   /* every frame up to the limit of frames */
    STEP_MARKED, /* every frame given is right, there are more, and the walk says that it is cut */
    STEP_WRONG,  /* a wrong frame, or a cut chain that is called whole */
    STEP_FAULT,  /* the walk faulted */
    STEP_VERDICTS,
};

struct step_options {
    uint64_t steps;     /* stop stepping after so many, all processes together; 0 = never */
    uint32_t every;     /* compare each N-th step */
    uint32_t peers;     /* run libunwind and glibc each N-th compared step; 0 = never */
    uint32_t through;   /* walk from inside the handler each N-th compared step; 0 = never */
    uint32_t depth;     /* most frames to walk */
    uint32_t fill;      /* bytes below SP to fill with plausible words at each call; 0 = none */
    uint8_t same_stack; /* handle the trap on the stepped stack instead of an alternate one */
    uint8_t own_walker; /* use the program's own sp_walk, so that the walker itself can be stepped */
};

#define STEP_DEPTH_MAX 256
#define STEP_SHOWN 48 /* frames of a chain that a finding keeps */
#define STEP_CODE 16
#define STEP_FINDINGS 2048
#define STEP_MODULES 128
#define STEP_PATH 120

struct step_shown {
    uint64_t pc;
    uint64_t sp;
    uint64_t offset; /* of pc in its file, where module says so */
    uint16_t module; /* index, or STEP_NO_MODULE */
    uint8_t rule;
    uint8_t interrupted;
};
#define STEP_NO_MODULE UINT16_C(0xFFFF)

struct step_chain {
    uint32_t n;  /* frames in all; only the first STEP_SHOWN are kept */
    int32_t end; /* an enum sp_end; -1 = not told */
    struct step_shown frames[STEP_SHOWN];
};

struct step_finding {
    uint64_t key; /* 0 = free */
    uint64_t count;
    uint32_t ready; /* set last */
    uint8_t walker;
    uint8_t verdict;
    uint8_t transit; /* met while SP had already left the frame (longjmp, setcontext, eh_return) */
    uint8_t code_size;
    int32_t differs; /* index of the first frame that differs; -1 = only the end does */
    uint64_t step;
    uint8_t code[STEP_CODE]; /* at the interrupted pc */
    struct step_chain truth;
    struct step_chain walk;
};

/* sampled: the same walker's verdicts on just those steps where the peers ran too. */
struct step_tally {
    uint64_t all[STEP_VERDICTS];
    uint64_t sampled[STEP_VERDICTS];
};

struct step_area {
    uint64_t magic;
    struct step_options options;
    uint64_t steps;   /* instructions stepped */
    uint64_t repeats; /* traps that left pc and SP where they were: iterations of a rep prefix */
    uint64_t transit; /* steps between a change of SP that leaves frames and the jump that completes it */
    uint64_t threads;
    uint64_t processes;
    uint64_t strands; /* stacks that were followed: threads', coroutines' */
    uint64_t signals;
    uint64_t untold; /* steps whose truth is not known, and that were not compared */
    uint64_t errno_changed;
    uint64_t disagreements; /* sp_backtrace_context's answer was not sp_walk's */
    uint64_t dropped;       /* findings beyond STEP_FINDINGS */
    uint64_t alive;         /* 1 when the oracle has started in the program */
    struct step_tally tally[STEP_WALKERS];
    uint32_t modules_lock;
    uint32_t modules;
    char paths[STEP_MODULES][STEP_PATH];
    struct step_finding findings[STEP_FINDINGS];
};

#endif
