#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// System calls whose functions the system's headers declare only for _GNU_SOURCE, which Swift does not set, or not at all.

struct processor_set {
    unsigned long bits[1024 / (8 * sizeof(unsigned long))];
};

/// sched_getaffinity(2): how many processors this process may use, 0 when the system does not tell. The first ones are
/// written, as many as there is room for.
static inline int usable_processors(unsigned int *processors, int room) {
    struct processor_set set = {{0}};
    const unsigned int width = 8 * sizeof(set.bits[0]);
    int count = 0;
    if (syscall(SYS_sched_getaffinity, 0, sizeof(set), &set) <= 0) return 0;
    for (unsigned int processor = 0; processor < 1024; processor++) {
        if (!(set.bits[processor / width] >> processor % width & 1)) continue;
        if (count < room) processors[count] = processor;
        count++;
    }
    return count;
}

/// sched_setaffinity(2): leaves one processor to this process; 0 when the system refuses.
static inline int stay_on_processor(unsigned int processor) {
    struct processor_set set = {{0}};
    const unsigned int width = 8 * sizeof(set.bits[0]);
    if (processor >= 1024) return 0;
    set.bits[processor / width] = 1UL << processor % width;
    return syscall(SYS_sched_setaffinity, 0, sizeof(set), &set) == 0;
}

/// sched_setattr(2): turns of a tenth of a millisecond, so that this process need not wait for the end of another's longer
/// one. Linux before 6.12 takes no notice.
static inline int take_short_turns(void) {
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {0};
    attributes.size = sizeof(attributes);
    attributes.runtime = 100000;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

/// sched_setscheduler(2): whether this thread, when it wakes up, waits until whoever has the processor leaves it or has had
/// his turn (SCHED_BATCH), or may take it from him (SCHED_OTHER); 0 when the system refuses.
static inline int wait_for_others(int waits) {
    const int policy = waits ? 3 : 0, priority = 0;
    return syscall(SYS_sched_setscheduler, 0, policy, &priority) == 0;
}

/// setpriority(2), and the same for the group of the process's session, by which Linux divides processors first: about a
/// tenth of a processor is left to it when all are busy. 0 when the system refuses, as it does for processes of others.
static inline int take_little_weight(pid_t process) {
    char path[64];
    if (setpriority(PRIO_PROCESS, (id_t)process, 10) != 0) return 0;
    snprintf(path, sizeof(path), "/proc/%d/autogroup", (int)process);
    int group = open(path, O_WRONLY | O_CLOEXEC);
    // There are no such groups everywhere.
    if (group < 0) return errno == ENOENT;
    int done = write(group, "10", 2) == 2;
    close(group);
    return done;
}
#endif
