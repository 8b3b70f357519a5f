/* SPDX-License-Identifier: MIT */
/* From STEP_ON to STEP_OFF a SIGTRAP comes at each instruction. No CFI tells where they move the stack pointer. */
#ifndef TESTS_SINGLE_STEP_H
#define TESTS_SINGLE_STEP_H

#define STEP_ON                                                                                                        \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushf\n orl $256, (%%rsp)\n popf\n lea 128(%%rsp), %%rsp" ::            \
                         : "memory", "cc")
#define STEP_OFF                                                                                                       \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushf\n andl $~256, (%%rsp)\n popf\n lea 128(%%rsp), %%rsp" ::          \
                         : "memory", "cc")

#endif
