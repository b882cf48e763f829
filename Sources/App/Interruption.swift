import Synchronization
import UnixSignals

/// Cancels a command on Ctrl-C or SIGTERM, so that it can clean up.
package enum Interruption {
    /// The error of a command that was stopped by a signal.
    package struct Signalled: Error, CustomStringConvertible {
        package var description: String { "stopped by a signal" }
    }

    private static let retained = Mutex<[UnixSignalsSequence]>([])

    /// Runs `body`, and cancels it on SIGINT or SIGTERM.
    ///
    /// - Throws: ``Signalled`` after a cancelled `body` has cleaned up, and the errors of `body`.
    package static func guarding<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // Retained until the process ends. If the sequence were released, the signal would end the process during its
        // cleanup.
        retained.withLock { $0.append(signals) }
        return try await withThrowingTaskGroup(of: R?.self) { tasks in
            tasks.addTask { try await body() }
            tasks.addTask {
                for await _ in signals { return nil }
                return nil
            }
            defer { tasks.cancelAll() }
            if let result = try await tasks.next() ?? nil { return result }
            tasks.cancelAll()
            while let rest = await tasks.nextResult() { if case .success(let result?) = rest { return result } }
            throw Signalled()
        }
    }
}
