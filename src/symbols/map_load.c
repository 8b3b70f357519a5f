/* SPDX-License-Identifier: MIT */
#include "map_load.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADED_MAX 64

struct loaded {
    struct sp_map_view view;
    const char *module; /* a path or a file name; NULL: by build-id alone */
};

/* Written by one thread at a time; an entry below the count never changes again, so that readers need no lock. */
static struct loaded loaded[LOADED_MAX];
static atomic_uint loaded_count;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

const char *sp_map_file_open(const char *path, struct sp_map_view *view, const void **bytes, size_t *size)
{
    *bytes = NULL;
    *size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return "it cannot be opened";
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(fd);
        return "it is not a regular file";
    }
    if (status.st_size == 0) {
        close(fd);
        return "it is empty";
    }
    void *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (mapped == MAP_FAILED)
        return "it cannot be mapped";
    const char *wrong = sp_map_view_open(mapped, (uint64_t)status.st_size, view);
    if (wrong != NULL) {
        munmap(mapped, (size_t)status.st_size);
        return wrong;
    }
    *bytes = mapped;
    *size = (size_t)status.st_size;
    return NULL;
}

static const char *add(const struct sp_map_view *view, const char *module)
{
    if (module == NULL && view->build_id.size == 0)
        return "it has no build-id, and no module was given";
    char *name = module == NULL ? NULL : strdup(module);
    if (module != NULL && name == NULL)
        return "out of memory";
    const char *wrong = NULL;
    pthread_mutex_lock(&adding);
    unsigned count = atomic_load_explicit(&loaded_count, memory_order_relaxed);
    if (count == LOADED_MAX) {
        wrong = "64 maps are loaded already";
        free(name);
    } else {
        loaded[count] = (struct loaded){*view, name};
        atomic_store_explicit(&loaded_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&adding);
    return wrong;
}

int sp_map_load(const char *path, const char *module, const char **why)
{
    int error = errno;
    struct sp_map_view view;
    const void *bytes;
    size_t size;
    const char *wrong = path == NULL ? "no path is given" : sp_map_file_open(path, &view, &bytes, &size);
    if (wrong == NULL && (wrong = add(&view, module)) != NULL)
        munmap((void *)bytes, size);
    if (wrong != NULL && why != NULL)
        *why = wrong;
    errno = error;
    return wrong == NULL ? 0 : -1;
}

static bool is_named(const char *path, const char *module)
{
    if (path == NULL || module == NULL)
        return false;
    const char *slash = strrchr(path, '/');
    return strcmp(path, module) == 0 || (slash != NULL && strcmp(slash + 1, module) == 0);
}

const struct sp_map_view *sp_map_loaded(const char *path, const uint8_t *build_id, size_t build_id_size)
{
    unsigned count = atomic_load_explicit(&loaded_count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++) {
        const struct sp_map_bytes *id = &loaded[i].view.build_id;
        bool both = id->size > 0 && build_id != NULL && build_id_size > 0;
        if (both ? id->size == build_id_size && memcmp(id->bytes, build_id, id->size) == 0 &&
                       (loaded[i].module == NULL || is_named(path, loaded[i].module))
                 : is_named(path, loaded[i].module))
            return &loaded[i].view;
    }
    return NULL;
}
