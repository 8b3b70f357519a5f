/* SPDX-License-Identifier: MIT */
/* abseil's GetStackTrace: on x86-64 a frame-pointer walk with checks of its own. */
#include "walker.h"

#include <absl/debugging/stacktrace.h>

static int by_abseil(const void *ucontext, void **pcs, int max)
{
    if (ucontext)
        return absl::GetStackTraceWithContext(pcs, max, 0, ucontext, nullptr);
    return absl::GetStackTrace(pcs, max, 0);
}

extern "C" const struct walker walker_abseil = {"abseil", by_abseil, nullptr, nullptr, nullptr};
