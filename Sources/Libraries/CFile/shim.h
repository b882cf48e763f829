#include <errno.h>
#include <sys/types.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

/// Reads what the system has of a file in memory (preadv2(2), RWF_NOWAIT), and does not wait for the disk. Swift cannot call
/// preadv2 by itself: headers show it to GNU C alone.
///
/// Gives the number of bytes, or -1: EAGAIN where it would wait, EOPNOTSUPP where the file system cannot tell.
static inline ssize_t roost_read_cached(int descriptor, void *bytes, size_t count, off_t offset) {
#if defined(__linux__) && defined(SYS_preadv2) && defined(__LP64__)
    struct iovec vector = {bytes, count};
    // The upper half of the offset is for machines of 32 bits; 8 is RWF_NOWAIT.
    return syscall(SYS_preadv2, descriptor, &vector, 1L, (long)offset, 0L, 8L);
#else
    (void)descriptor, (void)bytes, (void)count, (void)offset;
    errno = EOPNOTSUPP;
    return -1;
#endif
}

/// Reads entries of an open folder (getdents64(2)), which older C libraries do not declare.
///
/// Returns the number of bytes, 0 at the end, or -1.
static inline long roost_read_entries(int descriptor, void *bytes, size_t count) {
#if defined(__linux__)
    return syscall(SYS_getdents64, descriptor, bytes, count);
#else
    (void)descriptor, (void)bytes, (void)count;
    errno = EOPNOTSUPP;
    return -1;
#endif
}
