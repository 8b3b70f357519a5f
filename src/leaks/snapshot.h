/* SPDX-License-Identifier: MIT */
/* What is held at one moment: the other threads are stopped while it is listed and searched. */
#ifndef SPWALK_LEAKS_SNAPSHOT_H
#define SPWALK_LEAKS_SNAPSHOT_H

#include "leaks/live.h"

struct leaks_snapshot {
    struct leaks_live_list list;
    uint32_t unanswered; /* threads that could not be stopped */
    bool is_scanned;     /* the blocks have their classes */
};

enum leaks_aim {
    LEAKS_MARK, /* all blocks are marked as reported */
    LEAKS_SCAN, /* they have their classes, if any is to be shown */
    LEAKS_CHECK /* the same where the options ask for that, and guard words that were overwritten are errors */
};

/* sp: from where on the calling thread's stack counts. Async-signal-safe. false where memory is short. */
bool leaks_snapshot_take(struct leaks_snapshot *snapshot, uintptr_t sp, enum leaks_aim aim);
void leaks_snapshot_free(struct leaks_snapshot *snapshot);

/* Whether a report shows a block: it has no mark, and is not a parent process's. */
static inline bool leaks_is_shown(const struct leaks_live *live)
{
    return !live->is_hidden && !live->is_inherited;
}

#endif
