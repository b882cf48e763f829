#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What tells a file from itself once something was written to it: its size, and when that was.
struct FileVersion: Sendable, Equatable {
    /// How many bytes it has.
    let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// The version of a file as it is now.
    ///
    /// - Throws: ``SourceDamage`` when it cannot be looked at.
    init(of path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw SourceDamage(place: path, reason: String(cString: strerror(errno)))
        }
        self.init(status)
    }

    /// What the system says of a file.
    init(_ status: stat) {
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let changed = status.st_mtimespec
        #else
            let changed = status.st_mtim
        #endif
        seconds = Int(changed.tv_sec)
        nanoseconds = Int(changed.tv_nsec)
    }
}
