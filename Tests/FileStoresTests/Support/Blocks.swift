import Crypto
import NIOCore

/// A sequence of 1 MB blocks, each filled with its index, so that a long file takes little memory.
struct Blocks: AsyncSequence, Sendable {
    let count: Int

    static let size = 1024 * 1024

    static func block(_ number: Int) -> ByteBuffer {
        ByteBuffer(repeating: UInt8(truncatingIfNeeded: number), count: size)
    }

    /// The hash of all blocks.
    var digest: SHA256.Digest {
        var sum = Sum()
        for number in 0..<count { sum.add(Self.block(number)) }
        return sum.digest
    }

    /// An incremental hash.
    struct Sum {
        private var hash = SHA256()
        var digest: SHA256.Digest { hash.finalize() }

        mutating func add(_ piece: ByteBuffer) {
            piece.readableBytesView.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let count: Int
        var number = 0

        mutating func next() async -> ByteBuffer? {
            guard number < count else { return nil }
            defer { number += 1 }
            return Blocks.block(number)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(count: count) }
}
