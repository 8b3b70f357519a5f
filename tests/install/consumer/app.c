/* SPDX-License-Identifier: MIT */
/* The runtime alone. Exit status 1 where the walk is not whole or no frame was left by its word. */
#include <spwalk.h>

#include <stdio.h>

int main(void)
{
    struct sp_frame frames[50];
    enum sp_end end;
    int count = sp_walk(NULL, frames, 50, &end);
    printf("%d frames, the first by word: %d, walk ended: %s\n", count, frames[0].rule == SP_RULE_WORD,
           sp_end_name(end));
    return !(end == SP_END_OUTERMOST && frames[0].rule == SP_RULE_WORD);
}
