/* SPDX-License-Identifier: MIT */
/* step: libs=-lm */
/* Parts of libc with loops and assembly of their own: printf, scanf, regex, strings, numbers, time, wide characters. */
#include "program.h"

#include <locale.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <wchar.h>

static NOINLINE void strings(void)
{
    char a[300], b[300];
    memset(a, 'x', sizeof a);
    a[299] = 0;
    memcpy(b, a, sizeof a);
    memmove(b + 1, b, 200);
    CHECK(strlen(b) == 299 && strchr(a, 'y') == NULL && memchr(b, 0, 300) != NULL);
    CHECK(strcmp(a, b) == 0 && strcasecmp("ABC", "abc") == 0 && strstr("haystack", "st") != NULL);
    CHECK(strrchr(a, 'x') == a + 298 && strspn(a, "x") == 299 && strncmp(a, b, 40) == 0);
}

static NOINLINE void numbers(void)
{
    char text[200];
    snprintf(text, sizeof text, "%d %5.3f %s %lx %c %e %Lf", 42, 3.14159, "text", 255L, 'c', 1e100, 2.5L);
    int i;
    double d;
    CHECK(sscanf(text, "%d %lf", &i, &d) == 2 && i == 42);
    CHECK(strtod("1.7976931348623157e308", NULL) > 1e300 && pow(2.0, 0.5) > sin(1.0) && fmod(7.5, 2.0) == 1.5);
    wchar_t wide[32];
    CHECK(swprintf(wide, 32, L"%ls %d", L"wide", 7) == 6 && wcslen(wide) == 6);
}

static NOINLINE void expressions(void)
{
    regex_t r;
    regmatch_t m[3];
    CHECK(regcomp(&r, "([a-c]+)x*(d|e)", REG_EXTENDED) == 0);
    CHECK(regexec(&r, "zzabcxxe", 3, m, 0) == 0 && m[1].rm_so == 2);
    CHECK(regexec(&r, "zzzz", 0, NULL, 0) == REG_NOMATCH);
    regfree(&r);
}

static NOINLINE void times(void)
{
    time_t t = 86400 * 365;
    struct tm tm;
    char text[64];
    CHECK(gmtime_r(&t, &tm) != NULL && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm) == 16);
}

int main(void)
{
    fill_stack();
    setlocale(LC_ALL, "C");
    strings();
    numbers();
    expressions();
    times();
    return 0;
}
