public import NIOCore

/// The content of a stored file as a sequence of pieces of up to 4 MB.
public struct FilePieces: AsyncSequence, Sendable {
    let file: any StoredFile

    public init(file: any StoredFile) { self.file = file }

    private static let size: Int64 = 4 * 1024 * 1024

    public struct AsyncIterator: AsyncIteratorProtocol {
        let file: any StoredFile
        var offset: Int64 = 0

        /// Reads the next piece, or returns nil at the end.
        public mutating func next() async throws -> ByteBuffer? {
            guard offset < file.size else { return nil }
            let range = offset..<Swift.min(offset + FilePieces.size, file.size)
            var buffer = ByteBuffer()
            try await file.give(range) { buffer.writeImmutableBuffer($0) }
            offset = range.upperBound
            return buffer
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}

/// File contents that run a check after the last byte, before the storage makes the file visible.
package struct CheckedContents<Contents: AsyncSequence>: AsyncSequence where Contents.Element == ByteBuffer {
    let contents: Contents
    let check: @Sendable () async throws -> Void

    /// - Parameter check: Runs after the last byte. If it throws, nothing is stored.
    package init(contents: Contents, check: @escaping @Sendable () async throws -> Void) {
        self.contents = contents
        self.check = check
    }

    package struct AsyncIterator: AsyncIteratorProtocol {
        var contents: Contents.AsyncIterator
        let check: @Sendable () async throws -> Void

        package mutating func next(isolation: isolated (any Actor)?) async throws(any Error) -> ByteBuffer? {
            if let piece = try await contents.next(isolation: isolation) { return piece }
            try await check()
            return nil
        }
    }

    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(contents: contents.makeAsyncIterator(), check: check)
    }
}
