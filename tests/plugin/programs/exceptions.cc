// SPDX-License-Identifier: MIT
//
// C++: exceptions through frames of all kinds, destructors, virtual calls, templates, threads. What it prints is the
// same with and without the plugin.
#include <alloca.h>
#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "probe.h"

static int destroyed;

struct guard {
    ~guard()
    {
        destroyed++;
    }
};

ALONE int thrower(int n)
{
    EXPECT_WORD();
    if (n == 1)
        throw std::runtime_error("one");
    if (n == 2)
        throw n;
    return n;
}

ALONE int through_dynamic_frame(int n)
{
    guard here;
    char *text = (char *)alloca(n * 16 + 16);
    strcpy(text, "dynamic");
    return thrower(n) + (int)strlen(text);
}

ALONE int through_aligned_frame(int n)
{
    alignas(64) volatile int values[16] = {n};
    guard here;
    return thrower(values[0]);
}

ALONE int through_pushed_arguments(int n)
{
    guard here;
    std::function<int(int)> call = [n](int x) { return thrower(n) + x; };
    EXPECT_WORD();
    char text[64];
    return snprintf(text, sizeof text, "%d %d %d %d %d %d %d %d", n, 1, 2, 3, 4, 5, call(6), thrower(n));
}

ALONE int catches(int n)
{
    int caught = 0;
    EXPECT_WORD();
    for (auto function : {through_dynamic_frame, through_aligned_frame, through_pushed_arguments}) {
        try {
            guard here;
            caught += function(n);
        } catch (const std::exception &e) {
            EXPECT_WORD();
            caught += 100 + (int)strlen(e.what());
        } catch (int i) {
            EXPECT_WORD();
            try {
                throw;
            } catch (...) {
                EXPECT_WORD();
                caught += 1000 * i;
            }
        }
        EXPECT_WORD();
    }
    return caught;
}

struct base {
    virtual int answer(int n) = 0;
    virtual ~base() = default;
};
struct other {
    virtual int second(int n) = 0;
    virtual ~other() = default;
};
struct derived : base, other {
    std::string name = "derived";
    int answer(int n) override
    {
        EXPECT_WORD();
        return (int)name.size() + thrower(n + 10);
    }
    int second(int n) override
    {
        EXPECT_WORD();
        return (int)name.size() * 2 + thrower(n + 20);
    }
};

template <class T> ALONE int counts(const std::vector<T> &values)
{
    EXPECT_WORD();
    std::map<T, int> seen;
    for (const T &value : values)
        seen[value]++;
    return (int)seen.size();
}

static std::string made_before_main = std::string("before") + " main";

int main()
{
    for (int n = 0; n < 3; n++) {
        int caught = catches(n);
        printf("%d %d\n", caught, destroyed);
    }
    std::unique_ptr<base> object(new derived);
    printf("%d %d\n", object->answer(1), dynamic_cast<other *>(object.get())->second(1));
    printf("%d %d\n", counts(std::vector<int>{1, 2, 2, 3}), counts(std::vector<std::string>{"a", "b", "a"}));
    int results[4];
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([i, &results] {
            EXPECT_WORD();
            for (int k = 0; k < 100; k++)
                results[i] = catches(k % 2 + 1);
        });
    for (auto &thread : threads)
        thread.join();
    std::sort(results, results + 4, [](int a, int b) { return thrower(a + 3) < thrower(b + 3); });
    printf("%d %d %s\n", results[0], results[3], made_before_main.c_str());
    return 0;
}
