/* SPDX-License-Identifier: MIT */
/* A shared library for process_test.c: functions that .dynsym has, and one that it has not. */
static __attribute__((noinline)) int hidden_function(int x)
{
    __asm__ volatile("" ::: "memory");
    return x * 3;
}

int module_function(int x)
{
    return hidden_function(x) + 1;
}

void *module_hidden_address(void)
{
    return (char *)hidden_function + 1;
}
