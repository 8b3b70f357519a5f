/* SPDX-License-Identifier: MIT */
/* Case 6: a call that does not return is a function's last instruction, so that its return address is the next one's.
 */
#include "tap.h"
#include "walks.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static struct walk walked;
static sigjmp_buf back;

static NOINLINE void stop(void)
{
    walked.n = sp_walk(NULL, walked.frames, WALK_MOST, &walked.end);
    siglongjmp(back, 1);
}

static void on_abort(int number, void *info, void *context)
{
    (void)number;
    (void)info;
    walked.n = sp_walk(context, walked.frames, WALK_MOST, &walked.end);
    siglongjmp(back, 1);
}

/* Where each of them ends another begins, with a frame of another size. */
__asm__(
    ".text\n"
    ".type last_call, @function\n"
    "last_call: .cfi_startproc\n subq $8, %rsp\n .cfi_def_cfa_offset 16\n call *noreturn_called(%rip)\n .cfi_endproc\n"
    "last_call_end:\n"
    "large: .cfi_startproc\n .cfi_def_cfa_offset 4112\n nop\n .cfi_endproc\n"
    ".type last_in_text, @function\n"
    "last_in_text: .cfi_startproc\n subq $24, %rsp\n .cfi_def_cfa_offset 32\n call *noreturn_called(%rip)\n "
    ".cfi_endproc\n"
    "last_in_text_end:\n"
    "no_frame: ud2\n");
void last_call(void) __asm__("last_call");
void last_in_text(void) __asm__("last_in_text");
extern char last_call_end[] __asm__("last_call_end"), last_in_text_end[] __asm__("last_in_text_end");

void (*noreturn_called)(void);

static NOINLINE void expect_whole(void (*f)(void), uintptr_t return_address)
{
    struct walk here;

    here.n = sp_walk(NULL, here.frames, WALK_MOST, &here.end);
    for (volatile int i = 0; i < 4; i++) {
        if (sigsetjmp(back, 1) == 0)
            f();
        bool is_found = false;
        for (int k = 0; k < walked.n; k++)
            is_found = is_found || walked.frames[k].pc == return_address;
        EXPECT(walked.end == SP_END_OUTERMOST && walk_ends_with(&walked, &here, 1), "%d frames, end: %s", walked.n,
               sp_end_name(walked.end));
        EXPECT(return_address == 0 || is_found, "the frame of the last call is missing");
    }
}

static NOINLINE _Noreturn void aborts(void)
{
    abort();
}

static NOINLINE int after_aborts(int n)
{
    volatile char block[4096];
    block[n] = 1;
    return block[0];
}

static void in_assembly(void)
{
    noreturn_called = stop;
    expect_whole(last_call, (uintptr_t)last_call_end);
    expect_whole(last_in_text, (uintptr_t)last_in_text_end);
}

static void by_abort(void)
{
    handle(SIGABRT, on_abort, 0);
    expect_whole(aborts, 0);
    noreturn_called = aborts;
    expect_whole(last_call, (uintptr_t)last_call_end);
    EXPECT(after_aborts(0) == 1, "a function changed");
}

int main(void)
{
    tap_case("a call without return at a function's end", in_assembly);
    tap_case("abort called last, walked from SIGABRT", by_abort);
    return tap_end();
}
