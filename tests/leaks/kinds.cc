// SPDX-License-Identifier: MIT
// kinds CASE: every way to allocate with every way to free, and what is allocated at the second attempt.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/resource.h>

using Align = std::align_val_t;

static constexpr std::size_t size = 24;
static constexpr Align align{16};

static void *(*const allocate[])() = {
    [] { return std::malloc(size); },
    [] { return ::operator new(size); },
    [] { return ::operator new(size, std::nothrow); },
    [] { return ::operator new(size, align); },
    [] { return ::operator new(size, align, std::nothrow); },
    [] { return ::operator new[](size); },
    [] { return ::operator new[](size, std::nothrow); },
    [] { return ::operator new[](size, align); },
    [] { return ::operator new[](size, align, std::nothrow); },
};

static void (*const release[])(void *) = {
    [](void *block) { std::free(block); },
    [](void *block) { ::operator delete(block); },
    [](void *block) { ::operator delete(block, size); },
    [](void *block) { ::operator delete(block, std::nothrow); },
    [](void *block) { ::operator delete(block, align); },
    [](void *block) { ::operator delete(block, size, align); },
    [](void *block) { ::operator delete(block, align, std::nothrow); },
    [](void *block) { ::operator delete[](block); },
    [](void *block) { ::operator delete[](block, size); },
    [](void *block) { ::operator delete[](block, std::nothrow); },
    [](void *block) { ::operator delete[](block, align); },
    [](void *block) { ::operator delete[](block, size, align); },
    [](void *block) { ::operator delete[](block, align, std::nothrow); },
};

static void each_with_each()
{
    for (auto *get : allocate)
        for (auto *give : release) {
            void *volatile block = get();
            give(block);
        }
}

static rlim_t enough;
static int attempts;

static void find_memory()
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = enough;
    setrlimit(RLIMIT_AS, &limit);
    attempts++;
}

static void limit_memory()
{
    struct rlimit limit;
    std::size_t pages = 0;
    FILE *file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages) != 1)
        std::exit(3);
    std::fclose(file);
    getrlimit(RLIMIT_AS, &limit);
    enough = limit.rlim_max;
    limit.rlim_cur = (pages << 12) + (16 << 20);
    setrlimit(RLIMIT_AS, &limit);
}

static void at_second_attempt()
{
    std::set_new_handler(find_memory);
    limit_memory();
    void *volatile one = ::operator new(64 << 20);
    ::operator delete(one);
    limit_memory();
    void *volatile array = ::operator new[](64 << 20);
    ::operator delete[](array);
    std::printf("%d attempts\n", attempts);
}

int main(int argc, char **argv)
{
    if (argc > 1 && std::strcmp(argv[1], "each") == 0)
        each_with_each();
    else
        at_second_attempt();
    return 7;
}
