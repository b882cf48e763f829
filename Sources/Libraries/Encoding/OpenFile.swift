import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A file that is open, by its descriptor. It is closed with its last reference at the latest.
public final class OpenFile: Sendable {
    /// The standard output.
    public static let standardOutput = OpenFile(1)
    /// The standard error.
    public static let standardError = OpenFile(2)

    /// The descriptor, or -1 once the file is closed.
    private let descriptor: Atomic<Int32>

    /// Takes over a descriptor.
    public init(_ descriptor: Int32) { self.descriptor = Atomic(descriptor) }

    /// Opens a file with the flags of `open(2)`.
    ///
    /// - Throws: `SystemError`.
    public convenience init(_ path: String, _ flags: Int32, permissions: mode_t = 0) throws(SystemError) {
        let descriptor = open(path, flags, permissions)
        guard descriptor >= 0 else { throw SystemError() }
        self.init(descriptor)
    }

    deinit { try? close() }

    /// Writes all bytes.
    ///
    /// - Throws: `SystemError`, say for a full disk.
    public func write(_ bytes: some Sequence<UInt8>) throws(SystemError) {
        var rest = ContiguousArray(bytes)[...]
        let descriptor = descriptor.load(ordering: .relaxed)
        while !rest.isEmpty {
            let written = rest.withContiguousStorageIfAvailable {
                systemWrite(descriptor, $0.baseAddress, $0.count)
            }
            if let written, written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EAGAIN {
                // A terminal or a pipe that another program opened so that nobody waits for it.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, -1)
            } else if errno != EINTR {
                throw SystemError()
            }
        }
    }

    /// Reads at most so many bytes. Returns none at the end of the file.
    ///
    /// - Throws: `SystemError`.
    public func read(_ most: Int) throws(SystemError) -> [UInt8] {
        let descriptor = descriptor.load(ordering: .relaxed)
        while true {
            var count = 0
            // The system writes to an address: the array's own, of which no more is taken than was written.
            let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, initialized in
                count = systemRead(descriptor, buffer.baseAddress, most)
                initialized = max(0, count)
            }
            if count >= 0 { return bytes }
            if errno != EINTR { throw SystemError() }
        }
    }

    /// Moves to a position, counted from the beginning of the file.
    ///
    /// - Throws: `SystemError`.
    public func seek(to offset: Int64) throws(SystemError) {
        guard lseek(descriptor.load(ordering: .relaxed), off_t(offset), SEEK_SET) >= 0 else { throw SystemError() }
    }

    /// Waits until the bytes are on the disk.
    ///
    /// - Throws: `SystemError` if the disk fails.
    public func synchronize() throws(SystemError) {
        guard fsync(descriptor.load(ordering: .relaxed)) == 0 else { throw SystemError() }
    }

    /// Closes the file. Another call has no effect.
    ///
    /// - Throws: `SystemError`, say if bytes that were written did not reach the disk.
    public func close() throws(SystemError) {
        let descriptor = descriptor.exchange(-1, ordering: .relaxed)
        guard descriptor < 0 || systemClose(descriptor) == 0 else { throw SystemError() }
    }
}

/// An error of the operating system.
public struct SystemError: Error, CustomStringConvertible {
    /// The number of the error, such as `ENOENT`.
    public let code: Int32

    /// Makes an error from its number, or from the last one of this thread.
    public init(_ code: Int32 = errno) { self.code = code }

    /// The system's text for the error.
    public var description: String { String(cString: strerror(code)) }
}

// Inside of the class, its own functions hide those of the system.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
