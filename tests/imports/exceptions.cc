// SPDX-License-Identifier: MIT
// Throws through functions that are called by import slots, from a library of its own.
#include <cstdio>
#include <stdexcept>
#include <string>

extern "C" void thrower(int value);
extern "C" long thrower_entered();

int main()
{
    int caught = 0;
    for (int i = 0; i < 25; i++) {
        try {
            std::string text(static_cast<size_t>(i) + 40, 'x');
            thrower(i);
        } catch (const std::runtime_error &error) {
            caught += std::stoi(error.what()) == i;
        }
    }
    std::printf("thrower %ld\ncaught %d\n", thrower_entered(), caught);
    return caught == 25 ? 0 : 1;
}
