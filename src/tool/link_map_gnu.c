/* SPDX-License-Identifier: MIT */
/*
 * The memory map of GNU ld's -Map file:
 *
 *     .text           0x0000000000001040      0x1d3                         an output section
 *      .text          0x0000000000001040       0x22 crt1.o                  an input section, one space in
 *                     0x0000000000001040                _start              a symbol in it
 *      .text.a_name_that_takes_its_own_line
 *                     0x0000000000001070       0x10 a.o
 *      *fill*         0x0000000000001080        0x8                         no one's
 *                     0x0000000000002000                PROVIDE (etext = .) an assignment
 */
#include <ctype.h>
#include <string.h>

#include "link_map.h"

/* A word of a line, and all after it. */
struct word {
    const char *text;
    size_t size;
};

static struct word next_word(struct word *rest)
{
    while (rest->size > 0 && isblank((unsigned char)*rest->text)) {
        rest->text++;
        rest->size--;
    }
    struct word word = {rest->text, 0};
    while (word.size < rest->size && !isblank((unsigned char)rest->text[word.size]))
        word.size++;
    rest->text += word.size;
    rest->size -= word.size;
    return word;
}

enum number { IS_NUMBER, IS_NO_NUMBER, IS_TOO_LARGE };

static enum number parse_hex(struct word word, uint64_t *value)
{
    *value = 0;
    if (word.size < 3 || word.text[0] != '0' || word.text[1] != 'x')
        return IS_NO_NUMBER;
    for (size_t i = 2; i < word.size; i++) {
        unsigned char digit = (unsigned char)word.text[i];
        if (!isxdigit(digit))
            return IS_NO_NUMBER;
        if (*value >> 60 != 0)
            return IS_TOO_LARGE;
        *value = *value << 4 | (uint64_t)(isdigit(digit) ? digit - '0' : tolower(digit) - 'a' + 10);
    }
    return IS_NUMBER;
}

struct reader {
    struct sp_link_map *map;
    struct word name; /* of a section, whose addresses may be on the next line */
    bool output;      /* name is an output section's */
    bool code;        /* within an output section of code */
    bool open;        /* within an input section, or fill, of these addresses: */
    uint64_t start, end;
    const char *what;
};

static bool begins(struct word word, const char *text)
{
    return word.size >= strlen(text) && memcmp(word.text, text, strlen(text)) == 0;
}

/* What -ffunction-sections put into a section's name, or an empty word. */
static struct word function_of_section(struct word name)
{
    static const char *const prefixes[] = {".text.unlikely.", ".text.startup.", ".text.exit.", ".text.hot.", ".text."};
    static const char *const kinds[] = {"unlikely", "startup", "exit", "hot", "sorted", "split"};
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t length = strlen(prefixes[i]);
        if (!begins(name, prefixes[i]))
            continue;
        struct word function = {name.text + length, name.size - length};
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            if (begins(function, kinds[k]) &&
                (function.size == strlen(kinds[k]) || function.text[strlen(kinds[k])] == '.'))
                return (struct word){0};
        return function;
    }
    return (struct word){0};
}

static int open_section(struct reader *reader, uint64_t start, uint64_t size)
{
    struct word name = reader->name;
    reader->name = (struct word){0};
    if (size > UINT64_MAX - start) {
        reader->what = "a section ends past the last address";
        return -1;
    }
    if (reader->output) {
        reader->code = sp_is_code_section(name.text, name.size);
        reader->open = false;
        return 0;
    }
    reader->open = reader->code && start != 0 && size != 0 && !begins(name, "*");
    reader->start = start;
    reader->end = start + size;
    struct word function = function_of_section(name);
    if (!reader->open || function.size == 0)
        return 0;
    /* Without a type, so that a symbol there is preferred. */
    return sp_link_map_add(reader->map, function.text, function.size, start, 0, reader->end, STT_NOTYPE);
}

static bool is_assignment(struct word text)
{
    return begins(text, "PROVIDE") || begins(text, "HIDDEN") || begins(text, "ASSERT") || begins(text, "(") ||
           begins(text, "[") || memmem(text.text, text.size, " = ", 3) != NULL ||
           memmem(text.text, text.size, " += ", 4) != NULL;
}

static int read_addresses(struct reader *reader, uint64_t address, struct word rest)
{
    struct word after = rest;
    uint64_t size;
    enum number kind = parse_hex(next_word(&after), &size);
    if (kind == IS_TOO_LARGE) {
        reader->what = "a number of more than 64 bits";
        return -1;
    }
    if (kind == IS_NUMBER)
        return reader->name.size > 0 ? open_section(reader, address, size) : 0;
    while (rest.size > 0 && isblank((unsigned char)*rest.text)) {
        rest.text++;
        rest.size--;
    }
    while (rest.size > 0 && isblank((unsigned char)rest.text[rest.size - 1]))
        rest.size--;
    if (!reader->open || rest.size == 0 || address < reader->start || address >= reader->end || is_assignment(rest))
        return 0;
    return sp_link_map_add(reader->map, rest.text, rest.size, address, 0, reader->end, STT_FUNC);
}

static int read_line(struct reader *reader, const struct sp_map_line *line)
{
    struct word rest = {line->text, line->size}, first = next_word(&rest);
    uint64_t address;
    size_t indent = (size_t)(first.text - line->text);
    if (first.size == 0)
        return 0;
    switch (parse_hex(first, &address)) {
    case IS_NUMBER:
        return read_addresses(reader, address, rest);
    case IS_TOO_LARGE:
        reader->what = "a number of more than 64 bits";
        return -1;
    case IS_NO_NUMBER:
        break;
    }
    reader->name = (struct word){0};
    if (indent > 1 || first.text[0] == '[' || first.text[0] == '(' || (begins(first, "*") && !begins(first, "*fill*")))
        return 0;
    reader->name = first;
    reader->output = indent == 0;
    struct word second = next_word(&rest);
    if (second.size == 0)
        return 0;
    switch (parse_hex(second, &address)) {
    case IS_NUMBER:
        return read_addresses(reader, address, rest);
    case IS_TOO_LARGE:
        reader->what = "a number of more than 64 bits";
        return -1;
    case IS_NO_NUMBER:
        reader->name = (struct word){0}; /* LOAD file, and the like */
    }
    return 0;
}

int sp_gnu_map_read(struct sp_link_map *map, struct sp_map_line *(*next)(void *), void *lines, const char **what)
{
    struct reader reader = {.map = map, .what = "out of memory"};
    const struct sp_map_line *line;
    while ((line = next(lines)) != NULL) {
        if (line->size == 21 && memcmp(line->text, "Cross Reference Table", 21) == 0)
            break;
        if (read_line(&reader, line) != 0) {
            *what = reader.what;
            return -1;
        }
    }
    return 0;
}
