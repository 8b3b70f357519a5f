/* SPDX-License-Identifier: MIT */
#include "walk/run.h"

/* Not in the loop, since few walks ask for it. The words have been read once, and are read with the same care. */
void sp_run_look_back(const struct sp_run *run, uintptr_t sp, int count, uintptr_t *rbp_at, uintptr_t *left_sp)
{
    for (; count > 0 && sp <= run->last_sp; count--) {
        uint64_t word = sp_load(sp);
        uintptr_t pc_at = sp + sp_word_length(word);
        if (sp_word_rbp_slot(word) != 0)
            *rbp_at = pc_at - 8 * (uintptr_t)sp_word_rbp_slot(word);
        *left_sp = sp;
        sp = pc_at + 8;
    }
}

/* Functions of their own, so that the loop has all registers to itself. */
int sp_run_put_pcs(struct sp_run *run, void **pcs, int room)
{
    return sp_run_put(run, pcs, NULL, room, NULL, 0);
}

int sp_run_keep_pcs(struct sp_run *run, void **pcs, int room, struct sp_kept_row *row, unsigned at)
{
    return sp_run_put(run, pcs, NULL, room, row, at);
}

int sp_run_put_frames(struct sp_run *run, struct sp_frame *frames, int room)
{
    return sp_run_put(run, NULL, frames, room, NULL, 0);
}

int sp_run_keep_frames(struct sp_run *run, struct sp_frame *frames, int room, struct sp_kept_row *row, unsigned at)
{
    return sp_run_put(run, NULL, frames, room, row, at);
}
