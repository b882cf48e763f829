import Crypto
import NIOCore

/// Megabytes, each filled with its number, so that a long file takes no memory of a test.
struct Blocks: AsyncSequence, Sendable {
    /// How many there are.
    let count: Int

    static let size = 1024 * 1024

    static func block(_ number: Int) -> ByteBuffer {
        ByteBuffer(repeating: UInt8(truncatingIfNeeded: number), count: size)
    }

    /// The sum of all bytes.
    var digest: SHA256.Digest {
        var sum = Sum()
        for number in 0..<count { sum.add(Self.block(number)) }
        return sum.digest
    }

    /// A sum that grows with what is read.
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
