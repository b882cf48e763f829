#include <spawn.h>

#if defined(__linux__)
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
