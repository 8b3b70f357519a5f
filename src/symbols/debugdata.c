/* SPDX-License-Identifier: MIT */
#include <lzma.h>
#include <stdlib.h>

#include "separate_debug.h"
#include "why.h"

/* A symbol table of half a million functions; what is larger is a trap. */
#define SIZE_LIMIT ((size_t)64 << 20)
#define MEMORY_LIMIT ((uint64_t)128 << 20)

static const char *problem_of(lzma_ret status)
{
    switch (status) {
    case LZMA_MEM_ERROR:
        return "out of memory";
    case LZMA_MEMLIMIT_ERROR:
        return "needs too much memory";
    case LZMA_FORMAT_ERROR:
        return "not in xz format";
    case LZMA_OK:
        return "larger than 64 MiB";
    default:
        return "damaged xz data";
    }
}

struct sp_elf *sp_debugdata_open(const struct sp_elf *module, char **why)
{
    GElf_Shdr header;
    Elf_Scn *section = sp_elf_section(module, ".gnu_debugdata", &header);
    Elf_Data *data = section == NULL ? NULL : elf_rawdata(section, NULL);
    if (data == NULL || data->d_buf == NULL)
        return NULL;
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret status = lzma_stream_decoder(&stream, MEMORY_LIMIT, 0);
    uint8_t *output = NULL;
    size_t size = 0;
    stream.next_in = data->d_buf;
    stream.avail_in = data->d_size;
    while (status == LZMA_OK && size < SIZE_LIMIT) {
        size_t larger = size == 0 ? 64 << 10 : 2 * size;
        uint8_t *moved = realloc(output, larger);
        if (moved == NULL) {
            status = LZMA_MEM_ERROR;
            break;
        }
        output = moved;
        stream.next_out = output + size;
        stream.avail_out = larger - size;
        size = larger;
        status = lzma_code(&stream, LZMA_FINISH);
    }
    struct sp_elf *file = NULL;
    if (status == LZMA_STREAM_END)
        file = sp_elf_from_memory(output, size - stream.avail_out, "its .gnu_debugdata", why);
    else
        sp_why(why, "%s: .gnu_debugdata: %s", module->path, problem_of(status));
    lzma_end(&stream);
    free(output);
    return file;
}
