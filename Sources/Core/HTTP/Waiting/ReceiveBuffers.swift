import NIOCore

/// Allocates the receive buffers of one connection. Only the smallest one is kept while nothing is read.
///
/// SwiftNIO reuses the first buffer of a connection unless the next one may be larger. Input that a client sends ahead
/// stays in the operating system, so only large bodies get large buffers.
package struct ReceiveBuffers: RecvByteBufferAllocator {
    /// The size of the reused buffer, the usual maximum and the maximum for large bodies, in bytes.
    package static let (smallest, usual, largest) = (2048, ReadPacer.sliceSize, 64 * 1024)

    private let receivesLargeBody: @Sendable () -> Bool
    private var size = smallest

    /// - Parameter receivesLargeBody: Returns whether the next bytes belong to a large body.
    package init(receivesLargeBody: @escaping @Sendable () -> Bool) { self.receivesLargeBody = receivesLargeBody }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: min(size, maxBytes))
    }

    package mutating func record(actualReadBytes count: Int) -> Bool {
        let limit = maxBytes
        if count >= min(size, limit) {
            size = min(2 * size, limit)
        } else if count <= size / 2 {
            size = max(size / 2, Self.smallest)
        }
        return size > Self.smallest
    }

    private var maxBytes: Int { receivesLargeBody() ? Self.largest : Self.usual }
}

extension ReadPacer.Expected {
    /// Whether this is a body larger than two buffers of the usual size.
    var isLargeBody: Bool {
        if case .body(let length) = self { length > 2 * ReceiveBuffers.usual } else { false }
    }
}
