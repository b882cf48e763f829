import HTTP
import NIOCore
import NIOPosix

#if canImport(Glibc)
    import CMalloc
#endif

package enum ProcessSettings {
    /// Sets the limits of the process, and runs Swift tasks on NIO's threads, which saves thread switches. Must be called
    /// before other threads start.
    package static func apply() {
        limitFreeMemory()
        DescriptorLimit.raise()
        _ = NIOSingletons.unsafeTryInstallSingletonPosixEventLoopGroupAsConcurrencyGlobalExecutor()
    }

    /// Makes glibc allocate blocks of 1 MB or more directly from the system, and return free memory above 4 MB at the
    /// end of an arena.
    ///
    /// By default, glibc raises both limits with the largest block that was ever freed, so the memory of one large
    /// response would be retained forever.
    private static func limitFreeMemory() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
            mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)
        #endif
    }
}
