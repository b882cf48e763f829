import Limits
import ServiceLifecycle
import UnixSignals

/// Ctrl-C and SIGTERM. They cancel a command so that it can clean up, and stop a server.
package struct Interruption: Sendable {
    /// The error of a command that was stopped by a signal.
    package struct Signalled: Error, CustomStringConvertible {
        package var description: String { "stopped by a signal" }
    }

    private let first = OneTime<Void>()
    private let second = OneTime<Void>()

    package init() {}

    /// Traps both signals until the process ends, so that a signal is neither lost nor ends the process during its cleanup.
    package static func ofProcess() async -> Interruption {
        let (signals, interruption) = (await UnixSignalsSequence(trapping: .sigint, .sigterm), Interruption())
        Task { for await _ in signals { interruption.record() } }
        return interruption
    }

    package func record() { if first.value == nil { first.set(()) } else { second.set(()) } }

    /// Runs `body`, and cancels it on a signal.
    ///
    /// - Throws: ``Signalled`` after a cancelled `body` has cleaned up, and the errors of `body`.
    package func guarding<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
        let work = Task { try await body() }
        Task {
            _ = await first.wait()
            work.cancel()
        }
        do {
            return try await Self.value(of: work)
        } catch {
            throw first.value == nil ? error : Signalled()
        }
    }

    /// Runs services. The first signal shuts them down gracefully, even if it came earlier. The second one cancels them
    /// without waiting for requests in progress.
    ///
    /// - Throws: ``Signalled`` after a second signal, and the errors of the services.
    package func run(_ services: [ServiceGroupConfiguration.ServiceConfiguration]) async throws {
        let group = ServiceGroup(configuration: .init(services: services, logger: LogOutput.quiet))
        let work = Task { try await group.run() }
        Task {
            _ = await first.wait()
            await group.triggerGracefulShutdown()
            _ = await second.wait()
            work.cancel()
        }
        do {
            try await Self.value(of: work)
            guard second.value != nil else { return }
        } catch {
            guard second.value != nil else { throw error }
        }
        throw Signalled()
    }

    /// Waits for a task, and cancels it with the caller.
    private static func value<Value: Sendable>(of work: Task<Value, any Error>) async throws -> Value {
        try await withTaskCancellationHandler {
            try await work.value
        } onCancel: {
            work.cancel()
        }
    }
}
