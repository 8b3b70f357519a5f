/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Only calls need the word. GCC moves a whole prologue to where the frame is needed (shrink-wrapping), but a function
 * that needs its frame everywhere, for saved registers or locals, and calls on rare paths alone, would pay for the word
 * on all of them. This pass, when the prologue has found its place, moves the store to those paths.
 *
 * A store at the start of a block serves all calls in the blocks that the block dominates. Of all sets of blocks that
 * serve all calls the pass takes the one that is executed least, by GCC's estimate: in the dominator tree, from the
 * leaves up, a store in a block is weighed against those that the blocks below it would need. A loop's block is
 * executed more often than one before the loop, so that stores stay out of loops by themselves.
 *
 * The frame is as long as before, and the CFI is the plain prologue's. That all calls do find the word is not taken
 * from here: word-calls.cc reads it from the finished code.
 */
#include "coverage.h"
#include "word-calls.h"
#include "word-sink.h"
#include "word-store.h"

namespace spwalk
{

/* A store is of 8 bytes and has to be worth them: in executions for one of the prologue. */
static const double price_of_size = 0.04;
/* The estimates are rough. */
static const double worth_moving = 0.7;

static bool needs_word(const rtx_insn *insn)
{
    return is_returning_call(insn) || is_assembly(insn);
}

/* The cheapest stores for the calls in a block and those that it dominates. */
struct cover {
    double cost;
    bool here; /* one at the start of the block; else those of the blocks that it immediately dominates */
};

class store_sinker
{
  public:
    explicit store_sinker(basic_block prologue) : prologue(prologue)
    {
    }
    /* The blocks to store in, or none where the prologue is the best place. */
    bool find(vec<basic_block> &blocks);

  private:
    bool collect_calls();
    void list_tree();
    double executions(basic_block bb) const;

    basic_block prologue;
    auto_vec<bool> calls;       /* by the block's index */
    auto_vec<basic_block> tree; /* the prologue's dominator subtree, each block before those that it dominates */
};

/* Whether all that needs the word is in blocks that the prologue's dominates, and no argument is put on the stack,
   whose place would have to be reckoned with. */
bool store_sinker::collect_calls()
{
    basic_block bb;
    rtx_insn *insn;

    calls.safe_grow_cleared(last_basic_block_for_fn(cfun), true);
    FOR_EACH_BB_FN (bb, cfun)
        FOR_BB_INSNS (bb, insn) {
            const_rtx note = find_reg_note(insn, REG_ARGS_SIZE, NULL_RTX);
            if (note != NULL_RTX && args_size_of(note) != 0)
                return false;
            if (!needs_word(insn))
                continue;
            if (!dominated_by_p(CDI_DOMINATORS, bb, prologue))
                return false;
            calls[bb->index] = true;
        }
    return true;
}

void store_sinker::list_tree()
{
    tree.safe_push(prologue);
    for (unsigned i = 0; i < tree.length(); i++)
        for (basic_block son = first_dom_son(CDI_DOMINATORS, tree[i]); son; son = next_dom_son(CDI_DOMINATORS, son))
            tree.safe_push(son);
}

/* For one execution of the prologue. */
double store_sinker::executions(basic_block bb) const
{
    return bb->count.to_sreal_scale(prologue->count).to_double();
}

bool store_sinker::find(vec<basic_block> &blocks)
{
    if (!prologue->count.initialized_p() || !prologue->count.nonzero_p() || !collect_calls())
        return false;
    list_tree();

    auto_vec<cover> best;
    best.safe_grow_cleared(last_basic_block_for_fn(cfun), true);
    for (unsigned i = tree.length(); i-- > 0;) {
        basic_block bb = tree[i];
        cover &found = best[bb->index];
        double here = executions(bb) + price_of_size;
        for (basic_block son = first_dom_son(CDI_DOMINATORS, bb); son; son = next_dom_son(CDI_DOMINATORS, son))
            found.cost += best[son->index].cost;
        if (calls[bb->index] || found.cost > here)
            found = {here, true};
    }
    if (best[prologue->index].here || best[prologue->index].cost > worth_moving)
        return false;

    auto_vec<basic_block> todo;
    todo.safe_push(prologue);
    while (!todo.is_empty()) {
        basic_block bb = todo.pop();
        if (best[bb->index].here)
            blocks.safe_push(bb);
        else
            for (basic_block son = first_dom_son(CDI_DOMINATORS, bb); son; son = next_dom_son(CDI_DOMINATORS, son))
                todo.safe_push(son);
    }
    return true;
}

/* Whether the prologue's store may be left out at all. */
static bool may_sink(const function_plan &plan)
{
    if (plan.word == 0 || plan.store.insn == nullptr || plan.store.is_free || !BLOCK_FOR_INSN(plan.store.insn))
        return false;
    /* The move is of 8 bytes, the push of 5. */
    if (optimize == 0 || optimize_function_for_size_p(cfun))
        return false;
    /* With a frame pointer CFI does not say where SP is, and `spwalk frames --check` reads that from the code, which it
       can for a store in the prologue. */
    if (frame_pointer_needed)
        return false;
    /* Calls that are no call insns, and may come first in a block. */
    return !crtl->profile && !flag_split_stack && !ix86_current_function_calls_tls_descriptor;
}

namespace
{

const pass_data word_sink_data = {
    RTL_PASS, "spwalk_sink", OPTGROUP_NONE, TV_NONE, PROP_rtl, 0, 0, 0, 0,
};

class word_sink_pass : public rtl_opt_pass
{
  public:
    word_sink_pass() : rtl_opt_pass(word_sink_data, g)
    {
    }
    unsigned int execute(function *) final override
    {
        function_plan &plan = current_plan();
        if (may_sink(plan)) {
            auto_vec<basic_block> blocks;
            calculate_dominance_info(CDI_DOMINATORS);
            if (store_sinker(BLOCK_FOR_INSN(plan.store.insn)).find(blocks))
                move_word_store(plan.store, plan.word, blocks);
            free_dominance_info(CDI_DOMINATORS);
        }
        plan.store = {};
        return 0;
    }
};

} // namespace

void install_word_sink(const char *plugin_name)
{
    register_pass_info info = {new word_sink_pass, "pro_and_epilogue", 1, PASS_POS_INSERT_AFTER};
    register_callback(plugin_name, PLUGIN_PASS_MANAGER_SETUP, nullptr, &info);
}

} // namespace spwalk
