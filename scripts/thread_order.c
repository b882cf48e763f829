// Tells ThreadSanitizer about the memory ordering inside Swift's libraries, which aren't instrumented, so that it reports no
// false races. scripts/sanitize.sh loads it before these libraries. The symbol names are those of Swift 6.3.
//
// * ThreadSanitizer sees the fast path of `Mutex`, which is compiled into the caller. The library handles contended locks.
// * The library announces the resumption of a continuation to a waiting task, but not one that precedes the wait.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))
#define ASYNC __attribute__((swiftasynccall))

// Null in processes without ThreadSanitizer.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define AWAIT "swift_continuation_await"

static SWIFT void (*library_lock)(uint32_t, CONTEXT void *);
static SWIFT void (*library_unlock)(CONTEXT void *);
static ASYNC void (*library_await)(void *);

__attribute__((constructor)) static void find_functions(void) {
    *(void **)&library_lock = dlsym(RTLD_NEXT, LOCK);
    *(void **)&library_unlock = dlsym(RTLD_NEXT, UNLOCK);
    *(void **)&library_await = dlsym(RTLD_NEXT, AWAIT);
}

SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) __asm__(LOCK);
SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) {
    library_lock(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(CONTEXT void *mutex) __asm__(UNLOCK);
SWIFT void unlock_slow(CONTEXT void *mutex) {
    if (__tsan_release) __tsan_release(mutex);
    library_unlock(mutex);
}

extern SWIFT void *swift_task_getCurrent(void) __attribute__((weak));

ASYNC void await(void *context) __asm__(AWAIT);
ASYNC void await(void *context) {
    if (__tsan_acquire && swift_task_getCurrent) __tsan_acquire(swift_task_getCurrent());
    __attribute__((musttail)) return library_await(context);
}
