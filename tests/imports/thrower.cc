// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <string>

static long entered;

extern "C" void thrower(int value)
{
    entered++;
    throw std::runtime_error(std::to_string(value));
}

extern "C" long thrower_entered()
{
    return entered;
}
