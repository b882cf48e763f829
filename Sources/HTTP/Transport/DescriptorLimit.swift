#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How many descriptors this process may have: for connections of clients and of the database, and for files.
public enum DescriptorLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        /// More than any table of connections needs; a system without a limit says far larger numbers.
        private static let most: rlim_t = 1_048_576
    #else
        private static let resource = RLIMIT_NOFILE
        /// macOS takes no more.
        private static let most = rlim_t(OPEN_MAX)
    #endif

    /// Raises the limit in force to what the process may have at most. Shells begin with 1,024, for the sake of programs
    /// that use `select`.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        let wanted = min(limit.rlim_max, most)
        guard limit.rlim_cur < wanted else { return }
        limit.rlim_cur = wanted
        _ = setrlimit(resource, &limit)
    }

    /// The limit in force.
    package static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        return Int(min(limit.rlim_cur, most))
    }

    /// How many connections of clients there may be beside those of the database: each may read a file, too.
    ///
    /// - Parameters:
    ///   - wanted: How many the deployment wants at most.
    ///   - database: How many connections of the database there may be.
    package static func connections(wanted: Int, database: Int) -> Int {
        max(16, min(wanted, (current - database - reserve) / 2))
    }

    /// Descriptors of the process itself: event loops, the log, pipes, files that are being written.
    private static let reserve = 128
}
