#include <errno.h>
#include <sys/types.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

/// Reads the part of a file that is in the page cache, without waiting for the disk (preadv2(2), RWF_NOWAIT). Swift can't
/// call preadv2 directly, because the headers declare it only for GNU C.
///
/// Returns the number of bytes, or -1 with EAGAIN if reading would block, or EOPNOTSUPP if not supported by the file system.
static inline ssize_t roost_read_cached(int descriptor, void *bytes, size_t count, off_t offset) {
#if defined(__linux__) && defined(SYS_preadv2) && defined(__LP64__)
    struct iovec vector = {bytes, count};
    // The upper half of the offset is only used on 32-bit machines. 8 is RWF_NOWAIT.
    return syscall(SYS_preadv2, descriptor, &vector, 1L, (long)offset, 0L, 8L);
#else
    (void)descriptor, (void)bytes, (void)count, (void)offset;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

/// Reads entries of an open folder (getdents64(2)). Older C libraries don't declare this system call.
///
/// Returns the number of bytes, 0 at the end, or -1 with errno.
static inline long roost_read_entries(int descriptor, void *bytes, size_t count) {
#if defined(__linux__)
    return syscall(SYS_getdents64, descriptor, bytes, count);
#else
    (void)descriptor, (void)bytes, (void)count;
    errno = EOPNOTSUPP;
    return -1;
#endif
}
