/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call finds the word at [SP] where on every path to it the prologue has stored the word and the stack holds no
 * arguments: neither this call's nor those of an earlier one whose removal GCC has deferred. GCC notes the size of the
 * arguments on the stack (REG_ARGS_SIZE) at each insn that changes it. Both facts flow forward through the control
 * flow graph. An edge to an exception handler or a non-local label brings no arguments: the unwinder, or the label's
 * own code, takes SP back to the frame's lowest address.
 *
 * The calls that do not find it are rare: arguments on the stack; __morestack, which runs before the prologue; the
 * profiler's call, where the prologue has also made room for arguments; and any call that a pass might move above the
 * store, which none is known to do.
 */
#include "coverage.h"
#include "word-calls.h"
#include "word-store.h"

namespace spwalk
{

static const HOST_WIDE_INT args_unknown = -1;

struct stack_state {
    bool reached;
    bool stored;        /* the word has been stored on every path to here */
    HOST_WIDE_INT args; /* bytes of arguments on the stack */

    /* Takes one more path into account; whether that changed anything. */
    bool meet(const stack_state &path);
};

bool stack_state::meet(const stack_state &path)
{
    if (!reached) {
        *this = path;
        reached = true;
        return true;
    }
    stack_state old = *this;
    stored = stored && path.stored;
    if (args != path.args)
        args = args_unknown;
    return old.stored != stored || old.args != args;
}

/* UIDs of the current function's calls without a word. */
static hash_set<int_hash<int, 0>> *without_word;

bool is_returning_call(const rtx_insn *insn)
{
    return CALL_P(insn) && !SIBLING_CALL_P(insn);
}

bool is_assembly(const rtx_insn *insn)
{
    return NONDEBUG_INSN_P(insn) && (GET_CODE(PATTERN(insn)) == ASM_INPUT || asm_noperands(PATTERN(insn)) >= 0);
}

bool is_profiler_call(const rtx_insn *insn)
{
    return NOTE_P(insn) && NOTE_KIND(insn) == NOTE_INSN_PROLOGUE_END && crtl->profile &&
           !targetm.profile_before_prologue();
}

bool is_call_without_word(const rtx_insn *call)
{
    return without_word != nullptr && without_word->contains(INSN_UID(call));
}

static void advance(stack_state &state, const rtx_insn *insn, uint32_t word)
{
    if (is_word_store(insn, word, state.args))
        state.stored = true;
    if (const_rtx note = find_reg_note(insn, REG_ARGS_SIZE, NULL_RTX))
        state.args = args_size_of(note);
}

static void find_calls_without_word(uint32_t word)
{
    auto_vec<stack_state> at_start;
    at_start.safe_grow_cleared(last_basic_block_for_fn(cfun), true);
    auto_vec<basic_block> todo;

    basic_block entry = ENTRY_BLOCK_PTR_FOR_FN(cfun);
    at_start[entry->index].reached = true;
    todo.safe_push(entry);

    edge e;
    edge_iterator ei;
    while (!todo.is_empty()) {
        basic_block bb = todo.pop();
        stack_state state = at_start[bb->index];
        rtx_insn *insn;
        if (bb != entry)
            FOR_BB_INSNS (bb, insn)
                if (NONDEBUG_INSN_P(insn))
                    advance(state, insn, word);
        FOR_EACH_EDGE (e, ei, bb->succs) {
            stack_state path = state;
            if (e->flags & (EDGE_EH | EDGE_ABNORMAL))
                path.args = 0;
            if (e->dest != EXIT_BLOCK_PTR_FOR_FN(cfun) && at_start[e->dest->index].meet(path))
                todo.safe_push(e->dest);
        }
    }

    basic_block bb;
    FOR_EACH_BB_FN (bb, cfun) {
        stack_state state = at_start[bb->index];
        rtx_insn *insn;
        FOR_BB_INSNS (bb, insn) {
            bool word_at_sp = state.reached && state.stored && state.args == 0;
            /* GCC pushes the static chain round the profiler's call. */
            if ((is_returning_call(insn) && !word_at_sp) ||
                (is_profiler_call(insn) && (!word_at_sp || cfun->static_chain_decl)))
                without_word->add(INSN_UID(insn));
            if (NONDEBUG_INSN_P(insn))
                advance(state, insn, word);
        }
    }
}

namespace
{

const pass_data word_calls_data = {
    RTL_PASS, "spwalk_calls", OPTGROUP_NONE, TV_NONE, PROP_rtl, 0, 0, 0, 0,
};

class word_calls_pass : public rtl_opt_pass
{
  public:
    word_calls_pass() : rtl_opt_pass(word_calls_data, g)
    {
    }
    unsigned int execute(function *) final override
    {
        delete without_word;
        without_word = new hash_set<int_hash<int, 0>>;
        const function_plan &plan = current_plan();
        if (plan.word != 0)
            find_calls_without_word(plan.word);
        return 0;
    }
};

} // namespace

void install_word_calls(const char *plugin_name)
{
    register_pass_info info = {new word_calls_pass, "*free_cfg", 1, PASS_POS_INSERT_BEFORE};
    register_callback(plugin_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

} // namespace spwalk
