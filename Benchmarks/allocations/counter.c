// Counts calls of glibc's allocator. counter.py preloads this into Roost and reads the counters through the file named
// by ROOST_ALLOCATIONS, which both map.
//
// While the reader has set `recording`, records each allocation with its stack, up to SAMPLES.

#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// counter.py has the same values.
#define SAMPLES 65536
#define FRAMES 62

struct sample {
    uint64_t size;
    uint64_t depth;
    void *frames[FRAMES];
};

struct counters {
    _Atomic uint64_t allocations;
    _Atomic uint64_t bytes;
    _Atomic uint64_t frees;
    _Atomic uint64_t recording;
    _Atomic uint64_t recorded;
    uint64_t unused[59];
    struct sample samples[SAMPLES];
};

// glibc exports these for replacements of malloc. dlsym would itself allocate.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static struct counters *_Atomic counters;
// Unwinding a stack can allocate.
static _Thread_local _Bool busy;

__attribute__((constructor)) static void map_counters(void) {
    const char *path = getenv("ROOST_ALLOCATIONS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory = mmap(NULL, sizeof(struct counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) {
        dprintf(STDERR_FILENO, "counter: the file that ROOST_ALLOCATIONS should name cannot be mapped\n");
        _exit(1);
    }
    close(file);
    // Child processes are not counted.
    unsetenv("LD_PRELOAD");
    unsetenv("ROOST_ALLOCATIONS");
    atomic_store_explicit(&counters, memory, memory_order_release);
}

static void record(struct counters *shared, size_t size) {
    busy = 1;
    uint64_t index = atomic_fetch_add_explicit(&shared->recorded, 1, memory_order_relaxed);
    if (index < SAMPLES) {
        struct sample *sample = &shared->samples[index];
        sample->size = size;
        sample->depth = (uint64_t)backtrace(sample->frames, FRAMES);
    }
    busy = 0;
}

static void count(size_t size) {
    struct counters *shared = atomic_load_explicit(&counters, memory_order_acquire);
    if (!shared || busy) {
        return;
    }
    atomic_fetch_add_explicit(&shared->allocations, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&shared->bytes, size, memory_order_relaxed);
    if (atomic_load_explicit(&shared->recording, memory_order_relaxed)) {
        record(shared, size);
    }
}

static void count_free(void *memory) {
    struct counters *shared = atomic_load_explicit(&counters, memory_order_acquire);
    if (memory && shared && !busy) {
        atomic_fetch_add_explicit(&shared->frees, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

// A reallocation counts as an allocation and a free.
void *realloc(void *memory, size_t size) {
    count(size);
    count_free(memory);
    return __libc_realloc(memory, size);
}

void free(void *memory) {
    count_free(memory);
    __libc_free(memory);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || (alignment & (alignment - 1)) || !alignment) {
        return EINVAL;
    }
    count(size);
    void *new = __libc_memalign(alignment, size);
    if (!new) {
        return ENOMEM;
    }
    *memory = new;
    return 0;
}
