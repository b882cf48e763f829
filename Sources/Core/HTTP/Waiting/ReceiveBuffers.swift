import NIOCore

/// Buffers for the bytes of one connection. Only the smallest stays with the connection while nothing is read.
///
/// SwiftNIO reuses the first buffer of a connection unless the next one may be larger. What a client sends ahead stays
/// with the operating system, so only large bodies get large buffers.
package struct ReceiveBuffers: RecvByteBufferAllocator {
    /// The size of the buffer that is reused, the maximum size, and that for large bodies.
    package static let (smallest, usual, largest) = (2048, ReadPacer.sliceSize, 64 * 1024)

    private let receivesLargeBody: @Sendable () -> Bool
    private var size = smallest

    /// - Parameter receivesLargeBody: Returns whether the next bytes belong to a large body.
    package init(receivesLargeBody: @escaping @Sendable () -> Bool) { self.receivesLargeBody = receivesLargeBody }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: min(size, mostBytes))
    }

    package mutating func record(actualReadBytes count: Int) -> Bool {
        let most = mostBytes
        if count >= min(size, most) {
            size = min(2 * size, most)
        } else if count <= size / 2 {
            size = max(size / 2, Self.smallest)
        }
        return size > Self.smallest
    }

    private var mostBytes: Int { receivesLargeBody() ? Self.largest : Self.usual }
}

extension ReadPacer.Expected {
    /// Whether it is a body that doesn't fit into a few buffers of the usual size.
    var isLargeBody: Bool {
        if case .body(let length) = self { length > 2 * ReceiveBuffers.usual } else { false }
    }
}
