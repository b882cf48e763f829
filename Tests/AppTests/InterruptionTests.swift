import App
import ServiceLifecycle
import Testing

@Suite("Signals between the phases of a command", .timeLimit(.minutes(1)))
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

    @Test("A signal that comes when the start has ended stops the services, although they began later")
    func betweenPhases() async throws {
        let interruption = Interruption()
        let value = try await interruption.guarding { () async throws -> Int in
            interruption.record()
            return 1
        }
        #expect(value == 1)
        try await interruption.run([.init(service: Waiting(), successTerminationBehavior: .gracefullyShutdownGroup)])
    }

    @Test("A second signal ends services that don't stop by themselves")
    func second() async throws {
        let interruption = Interruption()
        interruption.record()
        interruption.record()
        await #expect(throws: Interruption.Signalled.self) {
            try await interruption.run([.init(service: Stubborn())])
        }
    }

    @Test("A signal cancels what is guarded; without one, its own error is thrown")
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

    @Test("A caller that is cancelled cancels what is guarded, and the services")
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
