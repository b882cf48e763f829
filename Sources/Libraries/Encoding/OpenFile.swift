import Platform
import Synchronization

/// An open file descriptor, which is closed with the last reference.
public final class OpenFile: Sendable {
    public static let standardOutput = OpenFile(1)
    public static let standardError = OpenFile(2)

    /// The descriptor, or -1 after closing.
    private let descriptor: Atomic<Int32>

    /// Takes ownership of a descriptor.
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
    /// - Throws: `SystemError`, for example if the disk is full.
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
                // Another program set the terminal or pipe to non-blocking mode.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, -1)
            } else if errno != EINTR {
                throw SystemError()
            }
        }
    }

    /// Reads up to `limit` bytes. Returns an empty array at the end of the file.
    ///
    /// - Throws: `SystemError`.
    public func read(_ limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = descriptor.load(ordering: .relaxed)
        while true {
            var count = 0
            // Reads directly into the array's uninitialized memory.
            let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
                count = systemRead(descriptor, buffer.baseAddress, limit)
                initialized = max(0, count)
            }
            if count >= 0 { return bytes }
            if errno != EINTR { throw SystemError() }
        }
    }

    /// Sets the position, in bytes from the start of the file.
    ///
    /// - Throws: `SystemError`.
    public func seek(to offset: Int64) throws(SystemError) {
        guard lseek(descriptor.load(ordering: .relaxed), off_t(offset), SEEK_SET) >= 0 else { throw SystemError() }
    }

    /// Waits until the bytes are written to disk.
    ///
    /// - Throws: `SystemError` if writing fails.
    public func synchronize() throws(SystemError) {
        guard fsync(descriptor.load(ordering: .relaxed)) == 0 else { throw SystemError() }
    }

    /// Closes the file. Further calls have no effect.
    ///
    /// - Throws: `SystemError`, for example if bytes written before couldn't be stored.
    public func close() throws(SystemError) {
        let descriptor = descriptor.exchange(-1, ordering: .relaxed)
        guard descriptor < 0 || systemClose(descriptor) == 0 else { throw SystemError() }
    }
}

/// An error of the operating system.
public struct SystemError: Error, CustomStringConvertible {
    /// The error number, such as `ENOENT`.
    public let code: Int32

    /// Creates an error from its number, by default the current thread's `errno`.
    public init(_ code: Int32 = errno) { self.code = code }

    /// The system's text for the error.
    public var description: String { String(cString: strerror(code)) }
}

// Inside the class, its methods would shadow the system functions.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}

private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }
