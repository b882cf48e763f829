// Tells ThreadSanitizer of Swift's `Mutex`. Its fast path is compiled into the caller and seen; what a contended lock does lies
// in the standard library, which is not instrumented, so that everything behind such a lock looked like a race. Loaded before
// that library by scripts/sanitize.sh; the names are those of Swift 6.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))

// Missing in the processes that are not under test.
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

typedef SWIFT void (*Lock)(uint32_t, CONTEXT void *);
typedef SWIFT void (*Unlock)(CONTEXT void *);

static void *next(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    if (!function) abort();
    return function;
}

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) __asm__(LOCK);
SWIFT void unlock_slow(CONTEXT void *mutex) __asm__(UNLOCK);

SWIFT void lock_slow(uint32_t thread, CONTEXT void *mutex) {
    static Lock function;
    if (!function) function = (Lock)next(LOCK);
    function(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(CONTEXT void *mutex) {
    static Unlock function;
    if (!function) function = (Unlock)next(UNLOCK);
    if (__tsan_release) __tsan_release(mutex);
    function(mutex);
}
