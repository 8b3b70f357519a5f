/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the plugin decides about one function, why, and what it tells the user of it.
 */
#ifndef SPWALK_PLUGIN_COVERAGE_H
#define SPWALK_PLUGIN_COVERAGE_H

#include "gcc-compat.h"
#include "word-store.h"

namespace spwalk
{

/* Why a function has no word; each has its explanation in coverage.cc. */
enum class uncovered {
    no, /* it has one */
    makes_no_call,
    skipped,
    naked,
    eh_return,
    interrupt,
    ms_abi,
    dynamic_stack,
    realigned,
    arguments_below,
    too_long,
    layout_changed,
    rbp_unknown,
};

/* Whether a function's callees need SP to be a multiple of 16, as ever, or, all of them, do with 8. */
enum class alignment_need { unknown, usual, none };

/* The decision about a function, carried from its first frame layout to its last instruction. */
struct function_plan {
    int funcdef_no;      /* whose plan this is: GCC's number of the function, 0 where there is none yet */
    uncovered reason;    /* no while the function is to have a word */
    HOST_WIDE_INT added; /* bytes the frame was made longer by for the word */
    alignment_need alignment;
    unsigned usual_boundary; /* crtl->preferred_stack_boundary before the word was given room; 0: it was not */
    HOST_WIDE_INT bottom;    /* CFA - SP in the last layout */
    uint32_t word;           /* low 32 bits of the word, 0 until the prologue stores it */
    word_store store;        /* in the prologue, from there to the pass that follows (word-sink.cc) */
    unsigned calls;          /* calls in the final code, tail calls not counted */
    unsigned word_calls;     /* those at which [SP] is the word */
};

/* The plan of the function that GCC compiles now; GCC compiles one at a time from layout to final. */
function_plan &current_plan();

/* Why the current function must not have a word, as far as can be told before its frame is laid out. */
uncovered cannot_cover();

/* Counts the current function, and lists it where the user asked for it. */
void report_function(const function_plan &plan);

/* Where the user asked for it, the sums of this translation unit. */
void report_unit();

} // namespace spwalk

#endif
