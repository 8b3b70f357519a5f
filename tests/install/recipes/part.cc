// SPDX-License-Identifier: MIT
#include "part.h"

#include <string>

extern "C" int part_compare(int a, int b)
{
    return std::to_string(a).compare(std::to_string(b));
}
