/* SPDX-License-Identifier: MIT */
/* The library that is called: functions that do next to nothing. */
#define FUNCTION(number)                                                                                               \
    long function_##number(long value)                                                                                 \
    {                                                                                                                  \
        return value + number;                                                                                         \
    }
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)
FUNCTION(5)
FUNCTION(6)
FUNCTION(7)
