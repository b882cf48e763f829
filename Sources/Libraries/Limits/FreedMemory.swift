import Synchronization

#if canImport(Glibc)
    import CMalloc
#endif

/// Returns memory to the system that was freed in many small pieces, such as rows and values.
///
/// glibc keeps freed memory for the thread that freed it, and only returns memory at the end of a thread's heap.
public enum FreedMemory {
    private struct State {
        var bytes = 0
        var isBeingReturned = false
    }

    private static let state = Mutex(State())

    /// Bytes freed before memory is returned to the system.
    private static let maxBytes = 16 * 1024 * 1024
    /// The same shortly after a release, so connections that close one after another leave little.
    private static let maxBytesAfterRelease = 4 * 1024 * 1024
    /// The minimum time between two releases, because malloc_trim blocks other threads.
    private static let pause = Duration.milliseconds(500)

    /// Records that a number of bytes were freed, and returns memory to the system once there are many.
    public static func record(_ bytes: Int) {
        #if canImport(Glibc)
            let isDue = state.withLock { state in
                state.bytes += bytes
                guard state.bytes >= maxBytes, !state.isBeingReturned else { return false }
                state = State(isBeingReturned: true)
                return true
            }
            guard isDue else { return }
            Task.detached(executorPreference: HeavyWork.executor) {
                repeat {
                    _ = malloc_trim(0)
                    try? await Task.sleep(for: pause)
                } while isDueAgain()
                // Recorded memory may be freed only after the release that follows.
                _ = malloc_trim(0)
            }
        #endif
    }

    #if canImport(Glibc)
        /// Returns whether enough was freed since the last release.
        private static func isDueAgain() -> Bool {
            state.withLock { state in
                guard state.bytes >= maxBytesAfterRelease else {
                    state.isBeingReturned = false
                    return false
                }
                state.bytes = 0
                return true
            }
        }
    #endif
}
