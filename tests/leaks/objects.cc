// SPDX-License-Identifier: MIT
// objects CASE: the same in C++.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string>

static void *volatile sink;

struct alignas(64) Aligned {
    char bytes[64];
};

template <class T> [[gnu::noinline]] static void forget(T *block)
{
    sink = block;
    sink = nullptr;
}

struct Global {
    char *block;
    Global()
    {
        forget(new char[77]);
    }
    ~Global()
    {
        forget(new int[3]);
    }
};

static Global global;

[[gnu::noinline]] static void leak_by_each()
{
    forget(new int);
    forget(new char[21]);
    forget(new Aligned);
    forget(new (std::nothrow) double);
    forget(new (std::nothrow) char[33]);
    forget(new Aligned[2]);
}

[[gnu::noinline]] static void mismatch()
{
    char *volatile a = static_cast<char *>(malloc(5)), *volatile b = new char[6], *volatile c = new char;
    delete a;
    delete b;
    free(c);
}

[[gnu::noinline]] static void clean()
{
    std::map<int, std::string> map;
    for (int i = 0; i < 1000; i++)
        map[i] = std::string(static_cast<size_t>(i % 100), 'x');
    try {
        sink = ::operator new(~static_cast<size_t>(0) / 2 - 4096);
    } catch (const std::bad_alloc &) {
        std::puts("bad_alloc");
    }
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (std::strcmp(name, "each") == 0)
        leak_by_each();
    else if (std::strcmp(name, "mismatch") == 0)
        mismatch();
    else if (std::strcmp(name, "clean") == 0)
        clean();
}
