import CFile
import NIOCore
import NIOPosix
import Platform
import Synchronization

/// Reads the names in a folder, on Linux in batches of up to 32 KB.
final class FolderEntries: Sendable {
    private let folder: String
    private let descriptor: Int32

    private init(folder: String, descriptor: Int32) {
        self.folder = folder
        self.descriptor = descriptor
    }

    deinit {
        NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
    }

    /// Opens a folder, or returns nil if it doesn't exist.
    static func open(_ folder: String) async throws -> FolderEntries? {
        try await NIOThreadPool.singleton.runIfActive {
            try Disk.descriptorNow(folder, O_DIRECTORY).map { FolderEntries(folder: folder, descriptor: $0) }
        }
    }

    #if os(Linux)
        private static let bufferSize = 32 * 1024

        /// Returns more names, or nil at the end.
        func next() async throws -> [String]? {
            try await NIOThreadPool.singleton.runIfActive { [descriptor] in
                var buffer = ByteBufferAllocator().buffer(capacity: Self.bufferSize)
                var failure: Int32 = 0
                buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.bufferSize) { bytes in
                    let count = roost_read_entries(descriptor, bytes.baseAddress, Self.bufferSize)
                    if count < 0 { failure = errno }
                    return max(0, count)
                }
                if failure != 0 { throw IOError(errnoCode: failure, reason: "getdents") }
                return buffer.readableBytes == 0 ? nil : Self.names(of: &buffer)
            }
        }

        /// Parses entries in the layout of getdents(2): inode (8 bytes), offset (8), entry length (2), type (1),
        /// zero-terminated name.
        private static func names(of buffer: inout ByteBuffer) -> [String] {
            var names: [String] = []
            while let length = buffer.getInteger(at: buffer.readerIndex + 16, endianness: .host, as: UInt16.self),
                var entry = buffer.readSlice(length: Int(length))
            {
                entry.moveReaderIndex(forwardBy: 19)
                let name = String(decoding: entry.readableBytesView.prefix { $0 != 0 }, as: UTF8.self)
                if name != ".", name != ".." { names.append(name) }
            }
            return names
        }
    #else
        private let isRead = Atomic(false)

        /// Returns all names in the first call and nil in the second.
        func next() async throws -> [String]? {
            guard !isRead.exchange(true, ordering: .relaxed) else { return nil }
            return try await NIOThreadPool.singleton.runIfActive { [folder] in
                try FileManager.default.contentsOfDirectory(atPath: folder)
            }
        }
    #endif
}
