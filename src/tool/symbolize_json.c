/* SPDX-License-Identifier: MIT */
#include "json_text.h"
#include "symbolize.h"

static json_t *hex(uint64_t value)
{
    return json_sprintf("0x%llx", (unsigned long long)value);
}

static json_t *number_or_null(uint64_t value)
{
    return value == 0 ? json_null() : json_integer((json_int_t)value);
}

static json_t *build_id(const struct sp_symbol *symbol)
{
    char digits[2 * 64 + 1] = "";
    if (symbol->build_id == NULL)
        return json_null();
    for (size_t i = 0; i < symbol->build_id_size && i < 64; i++)
        sprintf(digits + 2 * i, "%02x", symbol->build_id[i]);
    return json_string(digits);
}

static json_t *function(const struct sp_symbol *symbol)
{
    if (symbol->function == NULL)
        return json_null();
    return json_pack("{s:o, s:I, s:o, s:s}", "name", sp_json_text(symbol->function), "offset",
                     (json_int_t)symbol->function_offset, "size", number_or_null(symbol->function_size), "source",
                     sp_source_name(symbol->source));
}

static json_t *locations(const struct sp_symbol *symbol)
{
    json_t *array = json_array();
    for (size_t i = 0; i < symbol->location_count; i++) {
        const struct sp_location *at = &symbol->locations[i];
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "function", sp_json_text(at->function), "file",
                                               sp_json_text(at->file), "line", number_or_null(at->line), "column",
                                               number_or_null(at->column)));
    }
    return array;
}

int sp_show_json(FILE *out, const struct sp_symbol *symbol)
{
    json_t *object = json_object();
    int status = json_object_set_new(object, "address", hex(symbol->pc));
    status |= json_object_set_new(object, "module", sp_json_text(symbol->module));
    status |= json_object_set_new(object, "build_id", build_id(symbol));
    status |= json_object_set_new(object, "offset", symbol->module == NULL ? json_null() : hex(symbol->module_offset));
    status |= json_object_set_new(object, "function", function(symbol));
    status |= json_object_set_new(object, "miss",
                                  symbol->miss == SP_MISS_NONE ? json_null() : json_string(sp_miss_name(symbol->miss)));
    status |= json_object_set_new(object, "locations", locations(symbol));
    status |= json_object_set_new(object, "note", sp_json_text(symbol->note));
    if (status == 0)
        status = json_dumpf(object, out, JSON_COMPACT);
    json_decref(object);
    fputc('\n', out);
    return status == 0 ? 0 : -1;
}
