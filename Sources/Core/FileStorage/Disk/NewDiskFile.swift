import NIOCore
import NIOPosix
import Platform

final class NewDiskFile: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) { self.descriptor = descriptor }

    deinit {
        NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
    }

    /// Creates a file that its owner may read and write and its group may read.
    ///
    /// - Throws: `IOError`, also if the file exists.
    static func create(_ path: String) async throws -> NewDiskFile {
        try await NIOThreadPool.singleton.runIfActive {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR | S_IRGRP)
            guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "open") }
            return NewDiskFile(descriptor: descriptor)
        }
    }

    func append(_ bytes: ByteBuffer) async throws {
        try await NIOThreadPool.singleton.runIfActive { [descriptor] in
            var rest = bytes
            while rest.readableBytes > 0 {
                let written = rest.readWithUnsafeReadableBytes { max(0, write(descriptor, $0.baseAddress, $0.count)) }
                if written == 0, errno != EINTR { throw IOError(errnoCode: errno, reason: "write") }
            }
        }
    }

    /// Waits until the bytes are written to disk.
    func synchronize() async throws {
        try await NIOThreadPool.singleton.runIfActive { [descriptor] in
            guard fsync(descriptor) == 0 else { throw IOError(errnoCode: errno, reason: "fsync") }
        }
    }
}
