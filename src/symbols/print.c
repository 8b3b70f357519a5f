/* SPDX-License-Identifier: MIT */
/* A stack as text, from inside a signal handler: nothing here allocates by malloc, locks or uses stdio. */
#include <spwalk.h>
#include <spwalk_symbols.h>

#include <errno.h>
#include <sys/mman.h>

#include "line_buffer.h"
#include "mapped_place.h"

enum {
    ON_STACK = 100,    /* frames that a handler's stack has room for */
    INNERMOST = 192,   /* of a deeper stack these are written, */
    OUTERMOST = 64,    /* and these */
    DEEPEST = 1 << 20, /* and more frames than these are not looked for */
};

static bool write_frame(const struct sp_frame *frame, int number, int fd)
{
    struct sp_line_buffer line = {.length = 0};
    struct sp_mapped_place place;
    unsigned before = frame->interrupted || frame->rule == SP_RULE_SIGNAL ? 0 : 1;
    sp_line_put(&line, "#");
    sp_line_put_number(&line, (uint64_t)number, 10, 1);
    sp_line_put(&line, number < 10 ? "  0x" : " 0x");
    sp_line_put_number(&line, frame->pc, 16, 16);
    if (sp_mapped_place_find(frame->pc, before, &place)) {
        sp_line_put(&line, "  ");
        sp_line_put(&line, place.module);
        sp_line_put(&line, "+0x");
        sp_line_put_number(&line, place.module_offset, 16, 1);
        if (place.function[0] != '\0') {
            sp_line_put(&line, "  ");
            sp_line_put(&line, place.function);
            sp_line_put(&line, "+0x");
            sp_line_put_number(&line, place.function_offset, 16, 1);
        }
    }
    return sp_line_write(&line, fd);
}

static bool write_gap(int count, int fd)
{
    struct sp_line_buffer line = {.length = 0};
    sp_line_put(&line, "... ");
    sp_line_put_number(&line, (uint64_t)count, 10, 1);
    sp_line_put(&line, " frames are left out ...");
    return sp_line_write(&line, fd);
}

static bool write_frames(const struct sp_frame *frames, int count, enum sp_end end, int fd)
{
    for (int i = 0; i < count; i++) {
        if (i == INNERMOST && count > INNERMOST + OUTERMOST) {
            if (!write_gap(count - INNERMOST - OUTERMOST, fd))
                return false;
            i = count - OUTERMOST;
        }
        if (!write_frame(&frames[i], i, fd))
            return false;
    }
    if (end == SP_END_OUTERMOST)
        return true;
    struct sp_line_buffer line = {.length = 0};
    sp_line_put(&line, "the stack goes on, but the walk ended here: ");
    sp_line_put(&line, sp_end_name(end));
    return sp_line_write(&line, fd);
}

/*
 * Inlined into both functions, so that each has one frame to leave out. A stack that is too deep for frames on this one
 * is walked again into memory of its own, as a signal stack may be small.
 */
static inline __attribute__((always_inline)) int print(const void *ucontext, int fd)
{
    int error = errno;
    struct sp_frame some[ON_STACK], *frames = some;
    enum sp_end end = SP_END_NO_RULE;
    int count = sp_walk(ucontext, some, ON_STACK, &end);
    if (end == SP_END_FULL) {
        void *more = mmap(NULL, DEEPEST * sizeof *frames, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (more != MAP_FAILED) {
            frames = more;
            count = sp_walk(ucontext, frames, DEEPEST, &end);
        }
    }
    int own = ucontext == NULL && count > 0 ? 1 : 0;
    bool written = write_frames(frames + own, count - own, end, fd);
    if (frames != some)
        munmap(frames, DEEPEST * sizeof *frames);
    errno = error;
    return written ? count - own : -1;
}

int sp_print_backtrace_context(const void *ucontext, int fd)
{
    return print(ucontext, fd);
}

int sp_print_backtrace(int fd)
{
    return print(NULL, fd);
}
