/* SPDX-License-Identifier: MIT */
/* For compare_test.py: much that is inlined, in templates, lambdas, cold parts and several threads. */
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
namespace shapes
{
struct base {
    virtual ~base()
    {
    }
    virtual double area() const = 0;
};
template <typename T> struct square : base {
    T side;
    explicit square(T s) : side(s)
    {
    }
    double area() const override
    {
        return side * side;
    }
};
namespace
{
double total(const std::vector<std::unique_ptr<base>> &all)
{
    double sum = 0;
    for (auto &one : all)
        sum += one->area();
    return sum;
}
} // namespace
} // namespace shapes
template <int N> struct fib {
    static int get()
    {
        static int calls;
        return ++calls, fib<N - 1>::get() + fib<N - 2>::get();
    }
};
template <> struct fib<1> {
    static int get()
    {
        return 1;
    }
};
template <> struct fib<0> {
    static int get()
    {
        return 0;
    }
};
int main(int argc, char **argv)
{
    std::vector<std::unique_ptr<shapes::base>> all;
    all.emplace_back(new shapes::square<int>(argc));
    all.emplace_back(new shapes::square<double>(2.5));
    std::map<std::string, std::vector<int>> words;
    std::string line;
    std::regex split("([a-z]+)[0-9]*(x|y|z)?");
    while (std::getline(std::cin, line)) {
        std::smatch match;
        if (std::regex_search(line, match, split))
            words[match[1]].push_back(line.size());
    }
    for (auto &entry : words)
        std::sort(entry.second.begin(), entry.second.end(), [](int a, int b) { return a > b; });
    std::function<int(int)> twice = [&](int v) { return v * 2 + words.size(); };
    std::thread other([&] {
        try {
            if (argc > 5)
                throw std::runtime_error("many");
            std::cout << twice(4);
        } catch (std::exception &e) {
            std::cerr << e.what();
        }
    });
    other.join();
    std::set<std::string> sorted(argv, argv + argc);
    std::stable_sort(all.begin(), all.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
    std::ostringstream out;
    out << shapes::total(all) << fib<20>::get() << *sorted.begin();
    std::cout << out.str() << "\n";
}
