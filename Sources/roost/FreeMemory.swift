#if canImport(Glibc)
    import CMalloc
    import NIOPosix
#endif

/// Gives memory that large answers took back to the system.
///
/// glibc keeps what is freed for later. After one answer of many megabytes the process would stay that large for good.
enum FreeMemory {
    /// How much freed memory may stay, in bytes: what requests of usual size use again and again.
    private static let kept = 8 * 1024 * 1024

    private static let pause: Duration = .seconds(1)

    /// Looks every second, until the task is cancelled. Elsewhere than on glibc there is nothing to do.
    static func giveBackRegularly() async {
        #if canImport(Glibc)
            while (try? await Task.sleep(for: pause)) != nil {
                // On a thread of its own: it takes milliseconds, which an event loop does not have.
                try? await NIOThreadPool.singleton.runIfActive {
                    if mallinfo2().fordblks > kept { malloc_trim(0) }
                }
            }
        #endif
    }
}
