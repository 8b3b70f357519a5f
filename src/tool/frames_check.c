/* SPDX-License-Identifier: MIT */
/*
 * What is proved of a record (word/record.h): at each call whose last byte lies in its range
 *
 *     by CFI    the row that holds there gives CFA = rsp + length + 8, and rbp's rule is the word's slot;
 *     by code   where the row gives the CFA in rbp, which leaves rsp open: the instructions from the start of the FDE
 *               on, in the order of their addresses, bring rsp to CFA - 8 - length where they store the word, and back
 *               there before the call. After a jump or return the depth is taken to be that of the store.
 *
 * And wherever the FDE has the instruction that stores the record's word (push $word, or movq $word, (%rsp)): that its
 * CFA is then rsp + length + 8, by CFI, or by code as above. The code must be readable up to there; where a part is not
 * (an instruction that moves rsp by what is in a register), the calls after it are not provable.
 */
#include <string.h>

#include "code/instruction.h"
#include "frames.h"
#include "word/word.h"

struct proof {
    struct sp_frames_check *check;
    const struct sp_frame_record *record;
    sp_finding *finding;
    void *context;
    bool wrong;

    int64_t depth; /* CFA - rsp */
    bool known;    /* depth is */
    bool stored;   /* the word has been, in what was read of the function */
};

static void tell(struct proof *proof, uintptr_t at, enum sp_proof result, const char *what)
{
    proof->wrong |= result == SP_WRONG;
    proof->finding(proof->context, proof->record, at - proof->check->image->bias, result, what);
}

/* Whether the instruction at `at` stores a tagged word at the new [SP]. */
static bool is_store(uintptr_t at, uintptr_t end, uint64_t *word)
{
    static const uint8_t push[] = {0x68}, movq[] = {0x48, 0xc7, 0x04, 0x24};
    int32_t immediate;
    size_t opcode;
    if (end - at >= sizeof push + sizeof immediate && memcmp((const void *)at, push, sizeof push) == 0)
        opcode = sizeof push;
    else if (end - at >= sizeof movq + sizeof immediate && memcmp((const void *)at, movq, sizeof movq) == 0)
        opcode = sizeof movq;
    else
        return false;
    memcpy(&immediate, (const void *)(at + opcode), sizeof immediate);
    *word = (uint64_t)(int64_t)immediate;
    return sp_word_is_tagged(*word);
}

/* The depth after an instruction. */
static void follow(struct proof *proof, const struct sp_instruction *instruction, int64_t length)
{
    bool moves_rsp = (instruction->written >> SP_HW_RSP) & 1;
    switch (instruction->operation) {
    case SP_PUSH:
    case SP_PUSH_SLOT:
        proof->depth += 8;
        return;
    case SP_POP:
        if (instruction->destination == SP_HW_RSP)
            proof->known = false;
        proof->depth -= 8;
        return;
    case SP_ADD:
        if (instruction->destination == SP_HW_RSP)
            proof->depth -= instruction->immediate;
        return;
    case SP_ADDRESS:
        if (instruction->destination != SP_HW_RSP)
            return;
        if (instruction->memory.base == SP_HW_RSP && instruction->memory.index == SP_HW_NONE)
            proof->depth -= instruction->memory.displacement;
        else
            proof->known = false;
        return;
    case SP_RETURN:
    case SP_JUMP:
    case SP_JUMP_SLOT:
        /* What follows is jumped to. */
        proof->known = proof->stored;
        proof->depth = length + 8;
        return;
    case SP_CALL:
    case SP_SYSCALL:
    case SP_BRANCH:
        return;
    default:
        if (instruction->operation == SP_LEAVE || moves_rsp)
            proof->known = false;
    }
}

static bool is_slot_right(const struct sp_cfi_row *row, uint32_t slot)
{
    const struct sp_cfi_rule *rule = &row->rules[SP_CFI_RBP];
    if (rule->kind == SP_CFI_SAME)
        return slot == 0;
    return rule->kind == SP_CFI_OFFSET && slot != 0 && rule->offset == -8 - 8 * (int32_t)slot;
}

/* The CFA at an address whose row is known. */
static enum sp_proof prove_cfa(const struct proof *proof, const struct sp_cfi_row *row, int64_t length)
{
    if (row->cfa.kind == SP_CFA_REGISTER && row->cfa.register_number == SP_CFI_RSP)
        return row->cfa.offset == length + 8 ? SP_PROVED : SP_WRONG;
    if (!proof->known || !proof->stored)
        return SP_NOT_PROVABLE;
    return proof->depth == length + 8 ? SP_PROVED_BY_CODE : SP_WRONG;
}

static void prove_call(struct proof *proof, uintptr_t last_byte)
{
    const uint64_t word = proof->record->word;
    struct sp_cfi_row row;
    enum sp_proof result = SP_NOT_PROVABLE;
    if (sp_cfi_find_row(&proof->check->tables, last_byte, &row) != SP_CFI_OK) {
        tell(proof, last_byte, result, "no call frame information covers this call");
    } else {
        result = prove_cfa(proof, &row, sp_word_length(word));
        if (result == SP_WRONG)
            tell(proof, last_byte, result, "at this call the CFA is not SP + length + 8");
        else if (result == SP_NOT_PROVABLE)
            tell(proof, last_byte, result, "the CFA is not in rsp, and the code does not tell where rsp is");
        else if (!is_slot_right(&row, sp_word_rbp_slot(word)))
            tell(proof, last_byte, result = SP_WRONG, "rbp is not saved where the word says");
    }
    proof->check->proofs[result]++;
}

static void prove_store(struct proof *proof, uintptr_t after)
{
    struct sp_cfi_row row;
    int64_t length = sp_word_length(proof->record->word);
    proof->stored = true;
    if (sp_cfi_find_row(&proof->check->tables, after, &row) != SP_CFI_OK)
        return;
    if (row.cfa.kind == SP_CFA_REGISTER && row.cfa.register_number == SP_CFI_RSP) {
        proof->known = true;
        proof->depth = row.cfa.offset;
    }
    if (proof->known && proof->depth != length + 8)
        tell(proof, after, SP_WRONG, "after the word is stored the CFA is not SP + length + 8");
    else
        proof->check->stores++;
}

/* Reads an FDE's code once, proving the record's calls in it. */
static void read_function(struct proof *proof, uintptr_t start, uintptr_t end, uintptr_t low, uintptr_t high)
{
    const int64_t length = sp_word_length(proof->record->word);
    for (uintptr_t at = start; at < end && at < high;) {
        struct sp_instruction instruction;
        if (!sp_instruction_read(at, end, &instruction)) {
            if (at >= low)
                tell(proof, at, SP_NOT_PROVABLE, "no instruction can be read here; what follows is not checked");
            return;
        }
        uintptr_t next = at + instruction.length, last_byte = next - 1;
        if (instruction.operation == SP_CALL && last_byte >= low && last_byte < high)
            prove_call(proof, last_byte);
        follow(proof, &instruction, length);
        uint64_t word;
        if (is_store(at, end, &word)) {
            if (word == proof->record->word)
                prove_store(proof, next);
            else if (at >= low)
                tell(proof, at, SP_WRONG, "another word than the record's is stored here");
        }
        at = next;
    }
}

bool sp_frames_check_record(struct sp_frames_check *check, const struct sp_frame_record *record, sp_finding *finding,
                            void *context)
{
    struct proof proof = {.check = check, .record = record, .finding = finding, .context = context, .depth = 8};
    uintptr_t low = record->start + check->image->bias, high = low + record->size;
    struct sp_cfi_row row;
    if (!sp_word_is_tagged(record->word)) {
        tell(&proof, low, SP_WRONG, "the word has no tag");
        return false;
    }
    if (record->size == 0)
        return true;
    bool covered = sp_cfi_find_row(&check->tables, low, &row) == SP_CFI_OK &&
                   sp_image_is_code(check->image, row.function_lo - check->image->bias, high - row.function_lo);
    /* A cold part begins in the midst of its function's frame. */
    proof.known = covered && row.lo == row.function_lo && row.cfa.kind == SP_CFA_REGISTER;
    struct sp_cfi_row first;
    if (covered && sp_cfi_find_row(&check->tables, row.function_lo, &first) == SP_CFI_OK) {
        proof.known = first.cfa.kind == SP_CFA_REGISTER && first.cfa.register_number == SP_CFI_RSP;
        proof.depth = proof.known ? first.cfa.offset : 8;
        if (!proof.known || first.cfa.offset != 8) {
            proof.stored = true; /* by the hot part, before it came here */
            proof.known = true;
            proof.depth = (int64_t)sp_word_length(record->word) + 8;
        }
    }
    read_function(&proof, covered ? row.function_lo : low, high, low, high);
    return !proof.wrong;
}
