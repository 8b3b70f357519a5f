/* SPDX-License-Identifier: MIT */
#ifndef SPWALK_JSON_TEXT_H
#define SPWALK_JSON_TEXT_H

#include <jansson.h>

/*
 * A name or a path as a JSON string. Those are bytes and JSON is UTF-8: in one that is not UTF-8 each byte above 127
 * becomes \xNN. NULL becomes null. Returns a new reference, or NULL where memory is short.
 */
json_t *sp_json_text(const char *bytes);

#endif
