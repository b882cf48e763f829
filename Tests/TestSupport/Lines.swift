import Synchronization

/// Texts collected from several tasks.
package final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}
