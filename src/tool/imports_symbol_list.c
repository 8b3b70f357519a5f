/* SPDX-License-Identifier: MIT */
#include "imports_profile.h"

#include <errno.h>
#include <string.h>

#include "command.h"

static bool is_candidate(const struct imports_library *library)
{
    return library->functions &&
           (library->verdict == IMPORTS_VERDICT_NEVER || library->verdict == IMPORTS_VERDICT_LATE);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int write_list(const struct imports_profile *profile, const struct imports_library *library, FILE *out)
{
    for (size_t i = 0; i < library->row_count; i++) {
        const struct imports_row *row = &library->rows[i];
        if (!(row->flags & IMPORTS_DATA) && strcmp(row->user, file_name(profile->program)) == 0)
            fprintf(out, "%s\n", row->name);
    }
    int failed = ferror(out);
    return fclose(out) != 0 || failed ? -1 : 0;
}

int imports_write_symbol_lists(const struct imports_profile *profile, const char *folder)
{
    for (size_t i = 0; i < profile->library_count; i++) {
        const struct imports_library *library = &profile->libraries[i];
        char path[4096];
        if (!is_candidate(library))
            continue;
        snprintf(path, sizeof path, "%s/%s.symbols", folder, file_name(library->name));
        FILE *out = fopen(path, "we");
        if (!out || write_list(profile, library, out) != 0) {
            sp_complain("%s: %s", path, strerror(errno));
            return -1;
        }
    }
    return 0;
}
