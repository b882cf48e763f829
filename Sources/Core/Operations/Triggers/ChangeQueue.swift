import JSON
import Limits
import ParseStorage
import Synchronization

/// Serializes this process's writes of each object, so that followers receive its versions in order.
package final class ChangeQueue: Sendable {
    private struct Key: Hashable {
        let className: Name
        let objectId: Name
    }

    private struct Line {
        let gate = Gate(capacity: 1, maxWaiting: maxWaiting)
        var count = 0
    }

    /// The maximum number of waiting writes per object. Each may wait for the lock of its row.
    private static let maxWaiting = 200

    private let lines = Mutex<[Key: Line]>([:])

    package init() {}

    /// Runs `body` when the object's earlier writes are finished.
    ///
    /// - Throws: ``ObjectStore/tooBusy`` if too many writes are waiting, as when a row's lock times out;
    ///   `CancellationError` if the caller disconnects first.
    package func run<R: Sendable>(_ className: String, _ objectId: String, _ body: () async throws -> R) async throws
        -> R
    {
        let key = Key(className: Name(className), objectId: Name(objectId))
        let gate = enter(key)
        defer { leave(key) }
        do {
            try await gate.enter()
        } catch is Gate.Full {
            throw ObjectStore.tooBusy
        }
        defer { gate.leave() }
        return try await body()
    }

    private func enter(_ key: Key) -> Gate {
        lines.withLock { lines in
            var line = lines[key] ?? Line()
            line.count += 1
            lines[key] = line
            return line.gate
        }
    }

    private func leave(_ key: Key) {
        lines.withLock { lines in
            guard var line = lines[key] else { return }
            line.count -= 1
            lines[key] = line.count == 0 ? nil : line
        }
    }
}
