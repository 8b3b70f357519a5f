// SPDX-License-Identifier: MIT
// map N: a map of strings that is filled, searched and emptied: as heavy on the allocator as C++ programs get.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 200000;
    unsigned long sum = 0;
    for (int round = 0; round < 5; round++) {
        std::map<std::string, std::string> map;
        unsigned state = 1;
        for (unsigned i = 0; i < count; i++) {
            state = state * 1103515245 + 12345;
            std::string key = "a key that is longer than a small string's room " + std::to_string(state % count);
            map[key] = key + " and its value";
        }
        for (const auto &entry : map)
            sum += entry.second.size();
    }
    std::printf("%lu\n", sum);
}
