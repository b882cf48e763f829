#if canImport(Glibc)
    import CMalloc
#endif

/// Limits on the freed memory that glibc retains.
package enum MemoryLimits {
    /// Makes glibc allocate blocks of 1 MB or more directly from the system, and return free memory above 4 MB at the
    /// end of an arena. Must be called before other threads start.
    ///
    /// By default, glibc raises both limits with the largest block that was ever freed, so the memory of one large
    /// response would be retained forever.
    package static func set() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
            mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)
        #endif
    }
}
