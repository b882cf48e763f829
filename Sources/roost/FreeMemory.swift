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

    /// Tells glibc to take large pieces from the system and to give back the ends of its arenas. To be called before there
    /// are other threads.
    ///
    /// Left alone, glibc raises both limits with the largest piece that was ever freed.
    static func limitWhatIsKept() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
            mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)
        #endif
    }

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
