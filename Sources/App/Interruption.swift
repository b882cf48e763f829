import Synchronization
import UnixSignals

/// A command that Ctrl-C or a signal to end cancels, so that it leaves nothing half done behind.
package enum Interruption {
    /// Why a command ended early.
    package struct Signalled: Error, CustomStringConvertible {
        /// The message for the operator who stopped it.
        package var description: String { "stopped by a signal" }
    }

    private static let kept = Mutex<[UnixSignalsSequence]>([])

    /// Runs `body`, and cancels it when the process gets a signal to end.
    ///
    /// - Throws: ``Signalled`` once a cancelled `body` has cleaned up; else what it throws.
    package static func guarding<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        // Until the process ends: without it, the signal that came would still end the process, in the midst of its
        // cleaning up.
        kept.withLock { $0.append(signals) }
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
