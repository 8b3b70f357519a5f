/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions can have a word, and the report of -fplugin-arg-spwalk-verbose.
 */
#include "coverage.h"
#include "options.h"
#include "word/word.h"

namespace spwalk
{

static const char *explain(uncovered reason)
{
    switch (reason) {
    case uncovered::no:
        return "covered";
    case uncovered::makes_no_call:
        return "makes no call";
    case uncovered::skipped:
        return "has the attribute spwalk_skip";
    case uncovered::naked:
        return "is naked: it has no prologue";
    case uncovered::eh_return:
        return "uses __builtin_eh_return: it leaves its frame by an offset known only at run time";
    case uncovered::interrupt:
        return "is an interrupt handler: the processor pushed more than a return address";
    case uncovered::ms_abi:
        return "has the Microsoft ABI: its prologue may save registers by a call";
    case uncovered::dynamic_stack:
        return "uses alloca or a variable-length array: its frame's length is not constant";
    case uncovered::realigned:
        return "realigns its stack: its frame's length is not constant";
    case uncovered::arguments_below:
        return "keeps outgoing arguments at the frame's lowest address (-maccumulate-outgoing-args)";
    case uncovered::too_long:
        return "has a frame of 512 KiB or more";
    case uncovered::layout_changed:
        return "had its frame laid out anew by the prologue";
    case uncovered::rbp_unknown:
        return "saves rbp where the word cannot say";
    }
    gcc_unreachable();
}

static struct {
    unsigned calling, covered, leaves;
    unsigned calls, word_calls;
} sums;

function_plan &current_plan()
{
    static function_plan plan;
    if (plan.funcdef_no != cfun->funcdef_no) {
        plan = function_plan();
        plan.funcdef_no = cfun->funcdef_no;
        plan.reason = uncovered::makes_no_call;
    }
    return plan;
}

uncovered cannot_cover()
{
    tree attributes = DECL_ATTRIBUTES(current_function_decl);

    if (lookup_attribute("spwalk_skip", attributes))
        return uncovered::skipped;
    if (lookup_attribute("naked", attributes))
        return uncovered::naked;
    if (crtl->calls_eh_return)
        return uncovered::eh_return;
    if (cfun->machine->func_type != TYPE_NORMAL)
        return uncovered::interrupt;
    if (cfun->machine->call_abi != SYSV_ABI)
        return uncovered::ms_abi;
    if (cfun->calls_alloca)
        return uncovered::dynamic_stack;
    /* leaf_function_p does not count tail calls; a call for a TLS descriptor is no call instruction to GCC. */
    if (crtl->is_leaf && !ix86_current_function_calls_tls_descriptor)
        return uncovered::makes_no_call;
    return uncovered::no;
}

void report_function(const function_plan &plan)
{
    if (plan.calls == 0) {
        sums.leaves++;
    } else {
        sums.calling++;
        sums.covered += plan.reason == uncovered::no;
        sums.calls += plan.calls;
        sums.word_calls += plan.word_calls;
    }
    if (options.report == nullptr)
        return;

    expanded_location place = expand_location(DECL_SOURCE_LOCATION(current_function_decl));
    if (plan.reason == uncovered::no)
        fprintf(options.report, "spwalk: %s:%d: %s: covered, length %u, rbp slot %u, word at %u of %u calls\n",
                place.file ? place.file : main_input_filename, place.line, current_function_name(),
                sp_word_length(plan.word), sp_word_rbp_slot(plan.word), plan.word_calls, plan.calls);
    else
        fprintf(options.report, "spwalk: %s:%d: %s: %s, %s\n", place.file ? place.file : main_input_filename,
                place.line, current_function_name(), plan.calls ? "not covered" : "no word needed",
                explain(plan.reason));
}

void report_unit()
{
    if (options.report == nullptr || (sums.calling == 0 && sums.leaves == 0))
        return;
    double share = sums.calling ? 100.0 * sums.covered / sums.calling : 100.0;
    fprintf(
        options.report,
        "spwalk: %s: %u of %u calling functions covered (%.2f %%), word at %u of %u calls, %u functions call nothing\n",
        main_input_filename, sums.covered, sums.calling, share, sums.word_calls, sums.calls, sums.leaves);
}

} // namespace spwalk
