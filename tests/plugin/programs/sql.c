/* SPDX-License-Identifier: MIT */
/*
 * Runs the SQL on its standard input and prints all rows, and errors as rows: what SQLite answers, without its shell.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static int print_row(void *unused, int columns, char **values, char **names)
{
    (void)unused;
    (void)names;
    for (int i = 0; i < columns; i++)
        printf("%s%s", i ? "|" : "", values[i] ? values[i] : "NULL");
    putchar('\n');
    return 0;
}

int main(void)
{
    sqlite3 *database;
    char *line = NULL, *message = NULL;
    size_t size = 0;

    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        return 1;
    while (getline(&line, &size, stdin) > 0) {
        if (sqlite3_exec(database, line, print_row, NULL, &message) != SQLITE_OK)
            printf("error: %s\n", message);
        sqlite3_free(message);
        message = NULL;
    }
    free(line);
    return sqlite3_close(database) != SQLITE_OK;
}
