import Synchronization

/// How far an import is, for the operator who watches it.
package final class ImportProgress: Sendable {
    /// The numbers at one moment.
    package struct Figures: Sendable {
        /// What is being done, in words.
        package var step = "reading the source"
        /// How many bytes there are to read, and how many have been read.
        package var totalBytes: Int64 = 0
        package var bytes: Int64 = 0
        /// How many objects have been looked at by this process.
        package var documents: Int64 = 0
        /// Classes that are done, each with what is told of it.
        package var finished: [String] = []
    }

    private struct State {
        var figures = Figures()
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Nothing is done yet.
    package init() {}

    /// The numbers now.
    package var figures: Figures { state.withLock { $0.figures } }

    /// Asks the import to end at the next place where it can go on later.
    package func stop() { state.withLock { $0.isStopped = true } }

    func check() throws {
        if state.withLock({ $0.isStopped }) { throw CancellationError() }
    }

    func begin(_ step: String, totalBytes: Int64) {
        state.withLock {
            $0.figures.step = step
            $0.figures.totalBytes = totalBytes
            $0.figures.bytes = 0
        }
    }

    func add(bytes: Int64, documents: Int64) {
        state.withLock {
            $0.figures.bytes += bytes
            $0.figures.documents += documents
        }
    }

    func finish(_ line: String) { state.withLock { $0.figures.finished.append(line) } }
}
