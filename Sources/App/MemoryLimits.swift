#if canImport(Glibc)
    import CMalloc
#endif

/// What glibc keeps of memory that was freed.
package enum MemoryLimits {
    /// Makes glibc take large pieces from the system and to give back the ends of its arenas. To be called before there
    /// are other threads.
    ///
    /// Left alone, glibc raises both limits with the largest piece that was ever freed, and keeps what a large answer
    /// took for good.
    package static func set() {
        #if canImport(Glibc)
            mallopt(M_MMAP_THRESHOLD, 1024 * 1024)
            mallopt(M_TRIM_THRESHOLD, 4 * 1024 * 1024)
        #endif
    }
}
