/* SPDX-License-Identifier: MIT */
#ifndef STEP_REPORT_H
#define STEP_REPORT_H

#include "../area.h"

#include <stdio.h>

/* The counts and the walkers' rates. */
void step_report_rates(FILE *out, const struct step_area *area, const char *title);

/* Each distinct finding of these walkers (a bit each) with its instruction and both chains, at most `most` of them a
 * verdict; the most frequent first. */
void step_report_findings(FILE *out, const struct step_area *area, unsigned walkers, int most);

/* Appends one line: title, steps, and for each walker the verdicts on its own steps and on the sampled ones. Columns
 * are separated by tabs. */
void step_report_line(FILE *out, const struct step_area *area, const char *title);

/* Walks of spwalk's that are marked as cut where listed.h's list does not say so, and findings that were not kept. */
uint64_t step_report_unlisted(const struct step_area *area);

/* Walks of spwalk's that are neither right nor marked. */
uint64_t step_report_wrong(const struct step_area *area);

#endif
