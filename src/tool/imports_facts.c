/* SPDX-License-Identifier: MIT */
#include "imports_facts.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct imports_facts {
    int file;
    Elf *elf;
    Elf_Data *dynamic, *symbols, *versions, *needed_versions, *defined_versions;
    bool *referenced; /* a flag a dynamic symbol */
    size_t dynamic_count, symbol_count, dynamic_strings, symbol_strings, needed_strings, defined_strings;
};

static void take_section(struct imports_facts *facts, Elf_Scn *section, const GElf_Shdr *header)
{
    Elf_Data *data = elf_getdata(section, NULL);
    bool table = header->sh_type == SHT_DYNAMIC || header->sh_type == SHT_DYNSYM;
    if (!data || (table && !header->sh_entsize))
        return;
    switch (header->sh_type) {
    case SHT_DYNAMIC:
        facts->dynamic = data;
        facts->dynamic_count = header->sh_size / header->sh_entsize;
        facts->dynamic_strings = header->sh_link;
        break;
    case SHT_DYNSYM:
        facts->symbols = data;
        facts->symbol_count = header->sh_size / header->sh_entsize;
        facts->symbol_strings = header->sh_link;
        break;
    case SHT_GNU_versym:
        facts->versions = data;
        break;
    case SHT_GNU_verneed:
        facts->needed_versions = data;
        facts->needed_strings = header->sh_link;
        break;
    case SHT_GNU_verdef:
        facts->defined_versions = data;
        facts->defined_strings = header->sh_link;
        break;
    default:
        break;
    }
}

static void note_references(struct imports_facts *facts)
{
    GElf_Shdr header;
    GElf_Rela relocation;
    facts->referenced = calloc(facts->symbol_count + 1, sizeof *facts->referenced);
    for (Elf_Scn *section = NULL; facts->referenced && (section = elf_nextscn(facts->elf, section));) {
        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC))
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        for (int i = 0; data && gelf_getrela(data, i, &relocation); i++)
            if (GELF_R_SYM(relocation.r_info) < facts->symbol_count)
                facts->referenced[GELF_R_SYM(relocation.r_info)] = true;
    }
}

struct imports_facts *imports_facts_open(const char *path)
{
    struct imports_facts *facts = calloc(1, sizeof *facts);
    elf_version(EV_CURRENT);
    if (!facts)
        return NULL;
    facts->file = open(path, O_RDONLY | O_CLOEXEC);
    facts->elf = facts->file < 0 ? NULL : elf_begin(facts->file, ELF_C_READ_MMAP, NULL);
    if (!facts->elf || elf_kind(facts->elf) != ELF_K_ELF) {
        imports_facts_close(facts);
        return NULL;
    }
    GElf_Shdr header;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(facts->elf, section));)
        if (gelf_getshdr(section, &header))
            take_section(facts, section, &header);
    note_references(facts);
    return facts;
}

void imports_facts_close(struct imports_facts *facts)
{
    if (!facts)
        return;
    elf_end(facts->elf);
    if (facts->file >= 0)
        close(facts->file);
    free(facts->referenced);
    free(facts);
}

const char *imports_facts_needed(const struct imports_facts *facts, size_t index)
{
    GElf_Dyn entry;
    for (size_t i = 0; i < facts->dynamic_count && gelf_getdyn(facts->dynamic, (int)i, &entry); i++)
        if (entry.d_tag == DT_NEEDED && index-- == 0)
            return elf_strptr(facts->elf, facts->dynamic_strings, entry.d_un.d_val);
    return NULL;
}

bool imports_facts_static_tls(const struct imports_facts *facts)
{
    GElf_Dyn entry;
    for (size_t i = 0; i < facts->dynamic_count && gelf_getdyn(facts->dynamic, (int)i, &entry); i++)
        if (entry.d_tag == DT_FLAGS)
            return entry.d_un.d_val & DF_STATIC_TLS;
    return false;
}

/* The file's bytes at a virtual address; *size becomes how many follow. */
static const unsigned char *bytes_at(const struct imports_facts *facts, uint64_t address, size_t *size)
{
    size_t count, file_size;
    const char *file = elf_rawfile(facts->elf, &file_size);
    GElf_Phdr segment;
    if (!file || elf_getphdrnum(facts->elf, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count && gelf_getphdr(facts->elf, (int)i, &segment); i++) {
        uint64_t into = address - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || into >= segment.p_filesz || segment.p_offset > file_size ||
            segment.p_filesz > file_size - segment.p_offset)
            continue;
        *size = segment.p_filesz - into;
        return (const unsigned char *)file + segment.p_offset + into;
    }
    return NULL;
}

/* A pattern of instruction bytes; -1 stands for any byte. */
static bool has(const unsigned char *bytes, size_t size, const short *pattern, size_t length)
{
    if (size < length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (pattern[i] >= 0 && bytes[i] != pattern[i])
            return false;
    return true;
}

#define ANY4 -1, -1, -1, -1
#define HAS(bytes, size, pattern) has(bytes, size, pattern, sizeof(pattern) / sizeof(pattern)[0])

bool imports_facts_plain_constructor(const struct imports_facts *facts, uint64_t address)
{
    static const short endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    static const short ret[] = {0xc3};
    /* sub $8,%rsp; mov __gmon_start__@GOT,%rax; test %rax,%rax; je; call *%rax; add $8,%rsp; ret */
    static const short init[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x8b, 0x05, ANY4, 0x48, 0x85,
                                 0xc0, 0x74, 0x02, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    static const short empty_init[] = {0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3};
    static const short near_jump[] = {0xe9, ANY4}, short_jump[] = {0xeb, -1};
    /* register_tm_clones: lea __TMC_END__,%rdi; lea the same,%rsi; sub %rdi,%rsi */
    static const short register_clones[] = {0x48, 0x8d, 0x3d, ANY4, 0x48, 0x8d, 0x35, ANY4, 0x48, 0x29, 0xfe};
    size_t size = 0;
    const unsigned char *code = bytes_at(facts, address, &size);
    if (!code)
        return false;
    if (HAS(code, size, endbr64)) {
        code += 4;
        size -= 4;
        address += 4;
    }
    if (HAS(code, size, ret) || HAS(code, size, init) || HAS(code, size, empty_init))
        return true;
    int64_t jump = 0;
    int32_t displacement;
    if (HAS(code, size, near_jump)) {
        memcpy(&displacement, code + 1, sizeof displacement);
        jump = displacement + 5;
    } else if (HAS(code, size, short_jump)) {
        jump = (signed char)code[1] + 2;
    }
    code = jump ? bytes_at(facts, address + (uint64_t)jump, &size) : NULL;
    return code && HAS(code, size, register_clones);
}

static const char *needed_version(const struct imports_facts *facts, unsigned index)
{
    GElf_Verneed file;
    GElf_Vernaux version;
    for (int at = 0; facts->needed_versions && gelf_getverneed(facts->needed_versions, at, &file);
         at += (int)file.vn_next) {
        int entry = at + (int)file.vn_aux;
        for (unsigned i = 0; i < file.vn_cnt && gelf_getvernaux(facts->needed_versions, entry, &version);
             i++, entry += (int)version.vna_next)
            if ((version.vna_other & 0x7fff) == index)
                return elf_strptr(facts->elf, facts->needed_strings, version.vna_name);
        if (!file.vn_next)
            break;
    }
    return NULL;
}

static const char *defined_version(const struct imports_facts *facts, unsigned index)
{
    GElf_Verdef definition;
    GElf_Verdaux name;
    for (int at = 0; facts->defined_versions && gelf_getverdef(facts->defined_versions, at, &definition);
         at += (int)definition.vd_next) {
        if ((definition.vd_ndx & 0x7fff) == index)
            return gelf_getverdaux(facts->defined_versions, at + (int)definition.vd_aux, &name)
                       ? elf_strptr(facts->elf, facts->defined_strings, name.vda_name)
                       : NULL;
        if (!definition.vd_next)
            break;
    }
    return NULL;
}

bool imports_facts_symbol(const struct imports_facts *facts, size_t index, struct imports_fact_symbol *symbol)
{
    GElf_Sym entry;
    GElf_Versym number = VER_NDX_GLOBAL;
    if (index >= facts->symbol_count || !gelf_getsym(facts->symbols, (int)index, &entry))
        return false;
    if (facts->versions)
        gelf_getversym(facts->versions, (int)index, &number);
    unsigned binding = GELF_ST_BIND(entry.st_info), own = number & 0x7fff;
    symbol->defined = entry.st_shndx != SHN_UNDEF && binding != STB_LOCAL;
    symbol->strong = binding == STB_GLOBAL;
    symbol->referenced = facts->referenced && facts->referenced[index];
    symbol->name = binding == STB_LOCAL ? NULL : elf_strptr(facts->elf, facts->symbol_strings, entry.st_name);
    symbol->version = own <= VER_NDX_GLOBAL ? NULL
                      : symbol->defined     ? defined_version(facts, own)
                                            : needed_version(facts, own);
    if (!symbol->name)
        symbol->name = "";
    if (!symbol->version)
        symbol->version = "";
    return true;
}
