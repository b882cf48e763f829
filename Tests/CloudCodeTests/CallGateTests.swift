import CloudCode
import JSON
import Limits
import ParseModel
import Testing

/// The limit on concurrent cloud-code calls.
@Suite struct CallGateTests {
    private static func call(depth: Int = 1, isNested: Bool = false) -> CloudCall {
        var call = CloudCall(.function("f"))
        call.depth = depth
        call.isNested = isNested
        return call
    }

    /// Runs `body` on behalf of a sender.
    private static func by(_ address: String, _ body: () async throws -> Void) async throws {
        let presence = CallerPresence(sender: Sender(address: address))
        try await CallerPresence.$current.withValue(presence) { try await body() }
    }

    @Test("Limits a sender to three quarters of the slots and admits others")
    func share() async throws {
        let gate = CallGate(capacity: 4, maxWaiting: 0)
        try await Self.by("192.0.2.1") {
            try await gate.run(Self.call()) {
                try await gate.run(Self.call()) {
                    try await gate.run(Self.call()) {
                        await #expect(throws: CallGate.overloaded) { try await gate.run(Self.call()) {} }
                        try await Self.by("192.0.2.2") { try await gate.run(Self.call()) { #expect(gate.used == 4) } }
                    }
                }
            }
        }
        #expect(gate.used == 0)
    }

    @Test("Admits a new sender even if many others wait for slots")
    func room() async throws {
        let gate = CallGate(capacity: 256)
        let calls = (0..<640).map { number in
            Task {
                try await Self.by("192.0.2.\(number % 32)") {
                    try await gate.run(Self.call()) { try await Task.sleep(for: .seconds(600)) }
                }
            }
        }
        while gate.used < 200 { await Task.yield() }
        try await Self.by("198.51.100.1") { try await gate.run(Self.call()) {} }
        for call in calls { call.cancel() }
        for call in calls { _ = await call.result }
        #expect(gate.used == 0)
    }

    @Test("Nested calls have separate slots for each depth, but a claimed depth alone doesn't count")
    func nested() async throws {
        let gate = CallGate(capacity: 1, maxWaiting: 0)
        try await gate.run(Self.call()) {
            try await gate.run(Self.call(depth: 2, isNested: true)) {
                try await gate.run(Self.call(depth: 16, isNested: true)) { #expect(gate.used == 3) }
            }
            await #expect(throws: CallGate.overloaded) { try await gate.run(Self.call(depth: 2)) {} }
        }
    }

    @Test("Measures a call's parameters at about their serialized size")
    func size() {
        var call = Self.call()
        let empty = call.measured()
        call.params = ["text": .string(String(repeating: "x", count: 100_000)), "list": [1, true, .null, ["a": "b"]]]
        let written = JSONValue.object(call.params).serialized().count
        #expect(abs(call.measured() - empty - written) < 100)
    }
}
