/* SPDX-License-Identifier: MIT */
/* The same from C++: a walk below a library's sort, and after an exception. */
#include <spwalk.h>
#include <spwalk_symbols.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>

namespace
{

struct trace {
    std::vector<sp_frame> frames;
    sp_end end = SP_END_NO_RULE;
};

trace here()
{
    std::array<sp_frame, 100> frames;
    trace result;
    int count = sp_walk(nullptr, frames.data(), static_cast<int>(frames.size()), &result.end);
    result.frames.assign(frames.begin(), frames.begin() + count);
    return result;
}

bool is_whole_by_words(const trace &trace)
{
    auto words = std::count_if(trace.frames.begin(), trace.frames.end(),
                               [](const sp_frame &frame) { return frame.rule == SP_RULE_WORD; });
    std::cout << trace.frames.size() << " frames, " << words << " by word, walk ended: " << sp_end_name(trace.end)
              << '\n';
    return trace.end == SP_END_OUTERMOST && words >= 2;
}

} // namespace

extern "C" __attribute__((noinline)) void thrower(std::vector<int> &numbers)
{
    trace below;
    std::sort(numbers.begin(), numbers.end(), [&below](int a, int b) {
        if (below.frames.empty())
            below = here();
        return a < b;
    });
    throw std::runtime_error(is_whole_by_words(below) ? "" : "the walk below sort");
}

int main()
{
    std::vector<int> numbers{3, 1, 2};
    try {
        thrower(numbers);
    } catch (const std::runtime_error &error) {
        if (*error.what() != '\0' || !is_whole_by_words(here()))
            return 1;
    }
    std::unique_ptr<sp_symbolizer, decltype(&sp_symbolizer_free)> symbolizer(sp_symbolizer_new(SP_DEMANGLE, nullptr),
                                                                             sp_symbolizer_free);
    sp_symbol symbol;
    int found = sp_symbolize(symbolizer.get(), nullptr, reinterpret_cast<uintptr_t>(&thrower), 1, &symbol);
    std::cout << "name: " << (found == 1 ? symbol.function : sp_miss_name(symbol.miss)) << '\n';
    return found == 1 && std::string(symbol.function) == "thrower" ? 0 : 1;
}
