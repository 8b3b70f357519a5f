/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The word lies at the frame's lowest address, so that what makes room for it can store it too: the prologue's last
 * `sub $N, %rsp` becomes
 *
 *     sub $N-8, %rsp; push $WORD      5 bytes more, and an instruction
 *     push %reg; push $WORD           where N is 16 and a register was pushed: 2 bytes more
 *     push $WORD                      where N is 8: 1 byte more, and no instruction
 *
 * Where the last change of SP is another (a loop that probes the stack, say), the store is `movq $WORD, (%rsp)` at the
 * prologue's end, of 8 bytes.
 *
 *     (set (mem/v:DI (pre_dec:DI (reg:DI sp))) (const_int WORD))
 *     (set (mem/v:DI (reg:DI sp)) (const_int WORD))
 *
 * Where a function makes its calls on rare paths alone, word-sink.cc has the store moved there, which costs the other
 * paths nothing: the prologue is then again what it was, and the stores are `movq $WORD, (%rsp)`.
 *
 * The memory is volatile, as nothing in the function reads it: the passes after the prologue (dse2, dce) would delete
 * the store. Each insn that moves SP has the note that the one it stands for had, for the CFI: on the CFA where that is
 * reckoned from SP, else on SP alone.
 */
#include "word-store.h"

namespace spwalk
{

static const HOST_WIDE_INT word_size = 8;

bool is_register(const_rtx x, unsigned regno)
{
    return REG_P(x) && REGNO(x) == regno;
}

bool is_sp_plus(const_rtx x, HOST_WIDE_INT *offset)
{
    *offset = 0;
    if (is_register(x, SP_REG))
        return true;
    if (GET_CODE(x) != PLUS || !is_register(XEXP(x, 0), SP_REG) || !CONST_INT_P(XEXP(x, 1)))
        return false;
    *offset = INTVAL(XEXP(x, 1));
    return true;
}

/* Whether x is the place that a push of 8 bytes stores to. */
static bool is_pushed(const_rtx x)
{
    return MEM_P(x) && GET_MODE(x) == DImode && GET_CODE(XEXP(x, 0)) == PRE_DEC &&
           is_register(XEXP(XEXP(x, 0), 0), SP_REG);
}

/* (set sp (plus sp -bytes)) */
static rtx sp_less(HOST_WIDE_INT bytes)
{
    return gen_rtx_SET(stack_pointer_rtx, plus_constant(Pmode, stack_pointer_rtx, -bytes));
}

/* An insn of the prologue that lowers SP by a constant and does nothing else. */
struct allocation {
    rtx_insn *insn;
    rtx set;             /* (set sp (plus sp -bytes)) */
    HOST_WIDE_INT bytes; /* 0: there is no such insn */
    bool of_cfa;         /* its note is on the CFA */
};

static allocation as_allocation(rtx_insn *insn)
{
    const allocation none = {};
    HOST_WIDE_INT offset;

    if (!NONJUMP_INSN_P(insn))
        return none;
    rtx set = PATTERN(insn);
    if (GET_CODE(set) == PARALLEL) {
        for (int i = 1; i < XVECLEN(set, 0); i++)
            if (GET_CODE(XVECEXP(set, 0, i)) != CLOBBER)
                return none;
        set = XVECEXP(set, 0, 0);
    }
    if (GET_CODE(set) != SET || !is_register(SET_DEST(set), SP_REG) || !is_sp_plus(SET_SRC(set), &offset) ||
        offset > -word_size || offset % word_size != 0)
        return none;

    rtx note = REG_NOTES(insn);
    if (note == NULL_RTX)
        return {insn, set, -offset, false};
    if (REG_NOTE_KIND(note) != REG_CFA_ADJUST_CFA || XEXP(note, 1) != NULL_RTX)
        return none;
    return {insn, set, -offset, true};
}

static bool changes_sp(const rtx_insn *insn)
{
    if (modified_in_p(stack_pointer_rtx, insn))
        return true;
    subrtx_iterator::array_type array;
    FOR_EACH_SUBRTX(part, array, PATTERN(insn), NONCONST)
    if (GET_RTX_CLASS(GET_CODE(*part)) == RTX_AUTOINC)
        return true;
    return false;
}

/* The allocation that is the last insn of the current sequence to change SP. */
static allocation last_allocation()
{
    for (rtx_insn *insn = get_last_insn(); insn != nullptr; insn = PREV_INSN(insn)) {
        if (JUMP_P(insn) || LABEL_P(insn) || CALL_P(insn))
            break;
        if (NONDEBUG_INSN_P(insn) && changes_sp(insn))
            return as_allocation(insn);
    }
    return {};
}

/* The register of the push that is the last insn before this one, or the last but the one that sets the frame pointer;
   or null. Another insn may already have saved a register below SP, where a push would go. */
static rtx pushed_before(const rtx_insn *insn)
{
    while ((insn = PREV_INSN(insn)) != nullptr) {
        if (!NONDEBUG_INSN_P(insn))
            continue;
        if (GET_CODE(PATTERN(insn)) != SET)
            break;
        const_rtx dest = SET_DEST(PATTERN(insn));
        rtx src = SET_SRC(PATTERN(insn));
        if (dest == hard_frame_pointer_rtx && src == stack_pointer_rtx)
            continue;
        if (is_pushed(dest) && GENERAL_REG_P(src))
            return src;
        break;
    }
    return NULL_RTX;
}

/* Emits a push after an insn, in place of a part of the room. */
static rtx_insn *emit_push_after(rtx_insn *where, rtx value, const allocation &room)
{
    rtx place = gen_rtx_MEM(DImode, gen_rtx_PRE_DEC(Pmode, stack_pointer_rtx));
    MEM_VOLATILE_P(place) = 1;
    rtx_insn *push = emit_insn_after(gen_rtx_SET(place, value), where);
    if (RTX_FRAME_RELATED_P(room.insn)) {
        RTX_FRAME_RELATED_P(push) = 1;
        add_reg_note(push, room.of_cfa ? REG_CFA_ADJUST_CFA : REG_FRAME_RELATED_EXPR, sp_less(word_size));
    }
    return push;
}

static void shrink(const allocation &room, HOST_WIDE_INT bytes)
{
    SET_SRC(room.set) = plus_constant(Pmode, stack_pointer_rtx, -bytes);
    INSN_CODE(room.insn) = -1;
    if (room.of_cfa)
        XEXP(REG_NOTES(room.insn), 0) = sp_less(bytes);
}

/* (set (mem/v:DI sp) WORD) */
static rtx move_of_word(uint32_t word)
{
    rtx place = gen_rtx_MEM(DImode, stack_pointer_rtx);
    MEM_VOLATILE_P(place) = 1;
    return gen_rtx_SET(place, GEN_INT((int32_t)word));
}

word_store emit_word_store(uint32_t word)
{
    allocation room = last_allocation();

    if (room.bytes == 0)
        return {emit_insn(move_of_word(word)), nullptr, false};
    rtx_insn *last = room.insn, *rest = room.insn;
    HOST_WIDE_INT left = room.bytes - word_size;
    rtx filler = left == word_size ? pushed_before(room.insn) : NULL_RTX;
    if (filler != NULL_RTX) {
        last = rest = emit_push_after(last, filler, room);
        left = 0;
    }
    rtx_insn *store = emit_push_after(last, GEN_INT((int32_t)word), room);
    if (left > 0)
        shrink(room, left);
    else
        remove_insn(room.insn);
    if (room.bytes == word_size)
        return {store, nullptr, true};
    return {store, rest, false};
}

/* Gives the room that a push of the word made back to the insn that makes the rest. */
static void give_back(rtx_insn *rest)
{
    allocation room = as_allocation(rest);
    if (room.bytes > 0) {
        shrink(room, room.bytes + word_size);
    } else {
        /* The second push of a register. */
        gcc_assert(GET_CODE(PATTERN(rest)) == SET && is_pushed(SET_DEST(PATTERN(rest))));
        rtx flags = gen_rtx_REG(CCmode, FLAGS_REG), all_memory = gen_rtx_MEM(BLKmode, gen_rtx_SCRATCH(VOIDmode));
        PATTERN(rest) =
            gen_rtx_PARALLEL(VOIDmode, gen_rtvec(3, sp_less(2 * word_size), gen_rtx_CLOBBER(VOIDmode, flags),
                                                 gen_rtx_CLOBBER(VOIDmode, all_memory)));
        INSN_CODE(rest) = -1;
        if (rtx note = find_reg_note(rest, REG_CFA_ADJUST_CFA, NULL_RTX))
            XEXP(note, 0) = sp_less(2 * word_size);
    }
    df_insn_rescan(rest);
}

void move_word_store(const word_store &store, uint32_t word, const vec<basic_block> &blocks)
{
    if (store.rest != nullptr)
        give_back(store.rest);
    delete_insn(store.insn);
    for (basic_block bb : blocks)
        emit_insn_after(move_of_word(word), bb_note(bb));
}

bool is_word_store(const rtx_insn *insn, uint32_t word, HOST_WIDE_INT args_size)
{
    HOST_WIDE_INT offset;

    if (!NONJUMP_INSN_P(insn) || GET_CODE(PATTERN(insn)) != SET)
        return false;
    const_rtx dest = SET_DEST(PATTERN(insn)), src = SET_SRC(PATTERN(insn));
    if (!MEM_P(dest) || !MEM_VOLATILE_P(dest) || GET_MODE(dest) != DImode || !CONST_INT_P(src) ||
        INTVAL(src) != (int32_t)word)
        return false;
    return is_pushed(dest) ? args_size == 0 : is_sp_plus(XEXP(dest, 0), &offset) && offset == args_size;
}

} // namespace spwalk
