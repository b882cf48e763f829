import NIOCore

/// The bytes of one file of a source, piece by piece, read on a thread that may wait.
struct FileReading: AsyncSequence, Sendable {
    let entry: SourceEntry
    let thread: ThreadExecutor

    /// One reading: the file while it is open, confined to the thread.
    actor Reader {
        private let entry: SourceEntry
        private let thread: ThreadExecutor
        private var source: (any ByteSource)?

        init(_ entry: SourceEntry, _ thread: ThreadExecutor) {
            self.entry = entry
            self.thread = thread
        }

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// The next bytes; nil at the end.
        func next() throws -> ByteBuffer? {
            let opened = try source ?? entry.open()
            source = opened
            let bytes = try opened.read(256 * 1024)
            return bytes.isEmpty ? nil : ByteBuffer(bytes: bytes)
        }
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader

        mutating func next() async throws -> ByteBuffer? { try await reader.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: Reader(entry, thread)) }
}
