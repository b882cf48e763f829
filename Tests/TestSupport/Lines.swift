import Synchronization

/// Texts that a test collects from several tasks.
package final class Lines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    /// All of them, in their order.
    package var all: [String] { lines.withLock { $0 } }

    /// Adds one.
    package func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}
