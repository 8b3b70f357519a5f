/* SPDX-License-Identifier: MIT */
/* The list of places where a walk is marked as cut for a known reason (listed.txt). */
#ifndef STEP_RUNNER_LISTED_H
#define STEP_RUNNER_LISTED_H

#include "../area.h"

#include <stdbool.h>

/* Reads the list; ends the program with status 2 and one line where it can't be read. */
void step_list_read(const char *path);

/* Whether a finding, of marked walks, is of a listed place. */
bool step_list_has(const struct step_area *area, const struct step_finding *finding);

#endif
