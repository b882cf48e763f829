#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>

// Declared by the system's headers only for _GNU_SOURCE, which Swift does not set.
ssize_t preadv2(int, const struct iovec *, int, off_t, int);
// Since glibc 2.34.
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *, int) __attribute__((weak));
#endif

/// Has a program that is started close all descriptors from one on; not 0 when the system cannot do that.
static inline int close_descriptors_from(posix_spawn_file_actions_t *actions, int first) {
#if defined(__linux__)
    if (posix_spawn_file_actions_addclosefrom_np) return posix_spawn_file_actions_addclosefrom_np(actions, first);
#endif
    return -1;
}

/// open(2) for reading; when only_cached is set, of what the system finds without waiting for a disk, and EAGAIN when it
/// does not or cannot tell (RESOLVE_CACHED, openat2(2)). Does not wait for whoever writes into what turns out to be a pipe.
static inline int open_file(const char *path, int only_cached) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
    if (!only_cached) return open(path, flags);
#if defined(SYS_openat2)
    struct {
        uint64_t flags, mode, resolve;
    } how = {flags, 0, 0x20 /* RESOLVE_CACHED */};
    return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
#else
    errno = EAGAIN;
    return -1;
#endif
}

/// pread(2); when only_cached is set, no more than what needs no waiting for the disk, and EAGAIN when there is nothing
/// such or the system cannot tell (RWF_NOWAIT, preadv2(2)).
static inline ssize_t read_file_part(int descriptor, void *bytes, size_t length, off_t offset, int only_cached) {
    if (!only_cached) return pread(descriptor, bytes, length, offset);
#if defined(__linux__)
    struct iovec part = {bytes, length};
    return preadv2(descriptor, &part, 1, offset, 0x00000008 /* RWF_NOWAIT */);
#else
    errno = EAGAIN;
    return -1;
#endif
}

/// Whether the system has a part of a file in memory; 0 when it cannot tell (cachestat(2), since Linux 6.5).
static inline int is_file_part_cached(int descriptor, off_t offset, size_t length) {
#if defined(__linux__)
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = (uint64_t)offset / page;
    const uint64_t pages = ((uint64_t)offset + length - 1) / page - first + 1;
    struct {
        uint64_t offset, length;
    } range = {(uint64_t)offset, length};
    struct {
        uint64_t cached, dirty, written_back, evicted, recently_evicted;
    } pages_of = {0};
    return length > 0 && syscall(451 /* cachestat */, descriptor, &range, &pages_of, 0) == 0 && pages_of.cached == pages;
#else
    return 0;
#endif
}
