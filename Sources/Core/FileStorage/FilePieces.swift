public import NIOCore

/// The bytes of a stored file as a sequence, some megabytes at a time.
public struct FilePieces: AsyncSequence, Sendable {
    let file: any StoredFile

    public init(file: any StoredFile) { self.file = file }

    private static let size: Int64 = 4 * 1024 * 1024

    /// Reads the file in order.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let file: any StoredFile
        var offset: Int64 = 0

        /// The next bytes; nil at the end.
        public mutating func next() async throws -> ByteBuffer? {
            guard offset < file.size else { return nil }
            let range = offset..<Swift.min(offset + FilePieces.size, file.size)
            var buffer = ByteBuffer()
            try await file.give(range) { buffer.writeImmutableBuffer($0) }
            offset = range.upperBound
            return buffer
        }
    }

    /// Begins at the beginning.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file) }
}

/// A content after which something is checked, before it counts as whole.
package struct CheckedContents<Contents: AsyncSequence>: AsyncSequence where Contents.Element == ByteBuffer {
    let contents: Contents
    let check: @Sendable () async throws -> Void

    /// - Parameter check: Runs when all is there and the name has it next; nothing is stored when it throws.
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
