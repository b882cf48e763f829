import Synchronization

#if canImport(Glibc)
    import CMalloc
#endif

/// Memory that was freed in many small pieces, as rows and values are.
///
/// glibc keeps what a thread freed for what that thread asks for next, and gives back by itself only what lies at the end of
/// all that the thread has.
public enum FreedMemory {
    private struct State {
        var bytes = 0
        var isBeingReturned = false
    }

    private static let state = Mutex(State())

    /// Bytes freed before they are returned to the system.
    private static let most = 16 * 1024 * 1024
    /// The minimum time between two releases, since other threads wait meanwhile.
    private static let pause = Duration.milliseconds(500)

    /// Notes that so many bytes were freed. When they are many, they go back to the system.
    public static func note(_ bytes: Int) {
        #if canImport(Glibc)
            let isDue = state.withLock { state in
                state.bytes += bytes
                guard state.bytes >= most, !state.isBeingReturned else { return false }
                state = State(isBeingReturned: true)
                return true
            }
            guard isDue else { return }
            Task.detached(executorPreference: HeavyWork.executor) {
                repeat {
                    _ = malloc_trim(0)
                    try? await Task.sleep(for: pause)
                } while isDueAgain()
            }
        #endif
    }

    #if canImport(Glibc)
        /// Whether enough was freed since the last release. Noted memory may be freed a little later.
        private static func isDueAgain() -> Bool {
            state.withLock { state in
                guard state.bytes >= most else {
                    state.isBeingReturned = false
                    return false
                }
                state.bytes = 0
                return true
            }
        }
    #endif
}
