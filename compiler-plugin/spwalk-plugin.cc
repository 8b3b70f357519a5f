/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The spwalk GCC plugin: gives every function that makes calls a frame word.
 *
 * WHAT IT DOES
 *
 * The prologue of each calling function stores, at the frame's lowest address, the frame's length and where rbp is
 * saved (src/word/word.h): `push $imm32`. Where only rare paths call, those store it. A walker then needs SP alone to
 * find the return address. Beside the code go records of what code is covered (src/word/record.h). Functions that make
 * no call are left as they are. Those that cannot have a word, and why, are in coverage.cc;
 * __attribute__((spwalk_skip)) leaves one out.
 *
 * WHERE IT INSERTS
 *
 *   targetm.compute_frame_layout   makes room for the word (frame-layout.cc)
 *   targetm.gen_prologue           puts the store into the prologue (prologue.cc, word-store.cc)
 *   pass after "pro_and_epilogue"  moves the store to the paths that call, where those are rare (word-sink.cc)
 *   pass before "*free_cfg"        at which calls [SP] is the word (word-calls.cc)
 *   passes round "final"           labels round the covered code, sections, counts (records.cc)
 *   PLUGIN_FINISH_UNIT             writes the records, sums up the coverage (records.cc, coverage.cc)
 *
 * All this is RTL, so it is the same for C, C++, Fortran and lto1. With -flto the code is made at the link, so that
 * -fplugin belongs on the link's command line too; while compiling to slim LTO objects the plugin has nothing to do.
 *
 * HOW TO DEBUG IT
 *
 *   -fplugin-arg-spwalk-verbose[=FILE]   each function: covered, or why not; the coverage
 *   -S                                   `pushq $-151...` or `movq $-151..., (%rsp)`; records in .spwalk.frames
 *   -fdump-rtl-pro_and_epilogue          (set (mem/v:DI (pre_dec:DI (reg/f:DI 7 sp))) (const_int -151...))
 *   -fdump-rtl-spwalk_calls              the insns as the pass that looks for the word at calls sees them
 *   gcc -wrapper gdb,--args              then `break spwalk::gen_prologue`
 */
#include "coverage.h"
#include "frame-layout.h"
#include "options.h"
#include "prologue.h"
#include "records.h"
#include "word-calls.h"
#include "word-sink.h"
#include "plugin-version.h"

#if GCCPLUGIN_VERSION_MAJOR < 11 || GCCPLUGIN_VERSION_MAJOR > 12
#error "the spwalk plugin is written for GCC 11 and GCC 12"
#endif

/* What GCC looks up by name; all else is hidden. */
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int plugin_is_GPL_compatible;

namespace spwalk
{

static plugin_info information = {
    SPWALK_VERSION,
    "spwalk: stores a frame word in the prologue of each function that makes calls\n"
    "  -fplugin-arg-spwalk-verbose[=FILE]  list functions, covered or why not, and the coverage;\n"
    "                                      on stderr, or appended to FILE\n",
};

static bool check_gcc_version(const plugin_gcc_version *running)
{
    if (plugin_default_version_check(const_cast<plugin_gcc_version *>(running), &gcc_version))
        return true;
    error("spwalk: this plugin was built for GCC %s (%s), not for GCC %s (%s); use the one built for this compiler",
          gcc_version.basever, gcc_version.datestamp, running->basever, running->datestamp);
    return false;
}

static tree handle_skip_attribute(tree *node, tree name, tree, int, bool *no_add_attributes)
{
    if (TREE_CODE(*node) != FUNCTION_DECL) {
        warning(OPT_Wattributes, "%qE attribute applies only to functions", name);
        *no_add_attributes = true;
    }
    return NULL_TREE;
}

static void register_attributes(void *, void *)
{
    static attribute_spec skip = {"spwalk_skip", 0, 0, true, false, false, false, handle_skip_attribute, nullptr};
    register_attribute(&skip);
}

/* The target is known only now, when GCC has taken in all its options; nothing is compiled yet. */
static void start_unit(void *, void *)
{
    if (!TARGET_64BIT || TARGET_X32) {
        error("spwalk: frame words are for x86-64 code only (not %<-m32%>, %<-m16%> or %<-mx32%>)");
        return;
    }
    install_frame_layout();
    install_prologue();
}

} // namespace spwalk

EXPORTED int plugin_init(plugin_name_args *info, plugin_gcc_version *version)
{
    using namespace spwalk;

    if (!check_gcc_version(version))
        return 0; /* the error has been given and fails the compilation; GCC would add a second one to a 1 */
    parse_options(info);

    register_callback(info->base_name, PLUGIN_INFO, nullptr, &information);
    register_callback(info->base_name, PLUGIN_ATTRIBUTES, register_attributes, nullptr);
    register_callback(info->base_name, PLUGIN_START_UNIT, start_unit, nullptr);
    install_word_sink(info->base_name);
    install_word_calls(info->base_name);
    install_records(info->base_name);
    return 0;
}
