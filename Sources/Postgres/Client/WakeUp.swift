#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What gets a thread out of `poll`: a pipe, as every system has it.
final class WakeUp: Sendable {
    /// What to poll for reading; -1 when the system gave no pipe.
    let descriptor: Int32
    private let writer: Int32

    init() {
        var ends: [Int32] = [-1, -1]
        if pipe(&ends) == 0 {
            for end in ends {
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            }
        }
        (descriptor, writer) = (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(writer)
    }

    /// Makes the descriptor readable.
    func signal() {
        var byte: UInt8 = 1
        // A full pipe is as good: it is readable.
        _ = write(writer, &byte, 1)
    }

    /// Makes the descriptor unreadable again.
    func clear() {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { buffer in
            while read(descriptor, buffer.baseAddress, buffer.count) == buffer.count {}
        }
    }
}
