import App
import ServiceLifecycle
import Testing

@Suite("Interruption by signals", .timeLimit(.minutes(1)))
struct InterruptionTests {
    private struct Waiting: Service {
        func run() async throws { try await gracefulShutdown() }
    }

    /// Ignores a graceful shutdown.
    private struct Stubborn: Service {
        func run() async throws {
            while !Task.isCancelled { try? await Task.sleep(for: .milliseconds(10)) }
        }
    }

    private struct Broken: Error {}

    @Test("A signal received during startup stops the services that start afterward")
    func betweenPhases() async throws {
        let interruption = Interruption()
        let value = try await interruption.guarding { () async throws -> Int in
            interruption.record()
            return 1
        }
        #expect(value == 1)
        try await interruption.run([.init(service: Waiting(), successTerminationBehavior: .gracefullyShutdownGroup)])
    }

    @Test("A second signal ends services that ignore a graceful shutdown")
    func second() async throws {
        let interruption = Interruption()
        interruption.record()
        interruption.record()
        await #expect(throws: Interruption.Signalled.self) {
            try await interruption.run([.init(service: Stubborn())])
        }
    }

    @Test("A signal cancels a guarded operation; otherwise the operation's own error is thrown")
    func guarding() async throws {
        let interruption = Interruption()
        await #expect(throws: Broken.self) { try await interruption.guarding { throw Broken() } }
        await #expect(throws: Interruption.Signalled.self) {
            try await interruption.guarding {
                interruption.record()
                try await Task.sleep(for: .seconds(60))
            }
        }
    }

    @Test("Cancelling the caller cancels a guarded operation and the services")
    func cancellation() async throws {
        let interruption = Interruption()
        let guarded = Task { try await interruption.guarding { try await Task.sleep(for: .seconds(60)) } }
        guarded.cancel()
        await #expect(throws: CancellationError.self) { try await guarded.value }
        let running = Task { try await interruption.run([.init(service: Stubborn())]) }
        running.cancel()
        // Ends within the time limit; whether it throws is up to the group.
        _ = await running.result
    }
}
