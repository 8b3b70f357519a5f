// SPDX-License-Identifier: MIT
// Exceptions: through frames with alloca, with objects to destroy, rethrown, out of constructors, and counted.
extern "C" {
#include "program.h"
}

#include <alloca.h>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

static int alive;

struct Counted {
    Counted()
    {
        alive++;
    }
    Counted(const Counted &)
    {
        alive++;
    }
    ~Counted()
    {
        alive--;
        leaf(alive);
    }
};

static NOINLINE int thrower(int n)
{
    Counted c;
    if (n == 0)
        throw std::runtime_error("deep");
    return thrower(n - 1) + leaf(n);
}

static NOINLINE int through_alloca(int n)
{
    char *p = static_cast<char *>(alloca(static_cast<size_t>(n) * 16 + 16));
    memset(p, n, 16);
    Counted c;
    return thrower(n) + leaf(p[3]);
}

static NOINLINE int rethrows(int n)
{
    try {
        return through_alloca(n);
    } catch (const std::exception &) {
        Counted c;
        leaf(n);
        throw;
    }
}

struct Fails {
    Counted c;
    explicit Fails(int n)
    {
        if (n >= 0)
            throw n;
    }
};

static NOINLINE int constructs(int n)
{
    try {
        Fails f(n);
        return 0;
    } catch (int v) {
        return leaf(v);
    }
}

struct Polymorphic {
    virtual int call(int n) const
    {
        return rethrows(n);
    }
    virtual ~Polymorphic()
    {
    }
};

static NOINLINE int cleans(int n)
{
    std::string s(40, 'x');
    std::vector<int> v(10, n);
    return Polymorphic().call(n) + v[3] + static_cast<int>(s.size());
}

int main()
{
    fill_stack();
    for (int i = 0; i < 2; i++) {
        bool caught = false;
        try {
            sink = cleans(i + 1);
        } catch (const std::runtime_error &e) {
            caught = std::strcmp(e.what(), "deep") == 0;
            leaf(1);
        }
        CHECK(caught);
        CHECK(constructs(i) == i + 1);
    }
    CHECK(alive == 0);
    return 0;
}
