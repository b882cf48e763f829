import CloudCode
import JSON
import Operations
import ParseModel
import Testing

/// Dispatching of cloud-code calls: the choice of the host, time limits and errors.
@Suite struct CloudEngineTests {
    private static let target = CloudTarget.function("f")

    @Test("Prefers webhooks to Swift code, and Swift code to cloud/main.js")
    func precedence() async throws {
        let hosts = CloudHostKind.allCases.map { kind in
            PlainHost([CloudRegistration(Self.target)], kind: kind) { _ in CloudResult(value: .string(kind.name)) }
        }
        let engine = try await CloudEngine.with(hosts[2], hosts[0], hosts[1])
        func called() async throws -> JSONValue? { try await engine.call(CloudCall(Self.target))?.value }
        #expect(try await called() == "a webhook")
        hosts[0].offer([])
        #expect(try await called() == "Swift code")
        hosts[1].offer([])
        #expect(try await called() == "cloud/main.js")
        hosts[1].offer([CloudRegistration(Self.target)])
        #expect(try await called() == "Swift code")
        hosts[1].offer([])
        hosts[2].offer([])
        #expect(try await engine.call(CloudCall(Self.target)) == nil)
        #expect(engine.functionNames.isEmpty)
    }

    @Test("Compares function names by their bytes")
    func names() async throws {
        let host = PlainHost([CloudRegistration(.function("caf\u{E9}"))]) { _ in CloudResult(value: 1) }
        let engine = try await CloudEngine.with(host)
        #expect(engine.offers(.function("caf\u{E9}")))
        #expect(!engine.offers(.function("cafe\u{301}")))
    }

    @Test("Times out a slow call, whether or not its code handles cancellation", arguments: [true, false])
    func timeLimit(heeds: Bool) async throws {
        let host = PlainHost([CloudRegistration(Self.target)], limit: .milliseconds(50)) { _ in
            if heeds {
                try await Task.sleep(for: .seconds(60))
            } else {
                await withCheckedContinuation { continuation in
                    Task.detached {
                        try? await Task.sleep(for: .seconds(30))
                        continuation.resume()
                    }
                }
            }
            return CloudResult()
        }
        let engine = try await CloudEngine.with(host)
        let start = ContinuousClock.now
        await #expect(throws: ParseError(124, "Cloud code timed out.")) {
            try await engine.call(CloudCall(Self.target))
        }
        #expect(ContinuousClock.now - start < .seconds(15))
    }

    @Test("Rejects calls nested more than 16 deep")
    func depth() async throws {
        let host = PlainHost([CloudRegistration(Self.target)]) { CloudResult(value: .number(Double($0.depth))) }
        let engine = try await CloudEngine.with(host)
        var call = CloudCall(Self.target)
        call.depth = 16
        #expect(try await engine.call(call)?.value == 16)
        call.depth = 17
        let deeper = call
        await #expect(throws: ParseError(141, "Trigger recursion is too deep.")) { try await engine.call(deeper) }
    }

    @Test(
        "An error without a code or message gets the defaults for its function or trigger",
        arguments: [
            (CloudTarget.function("f"), "no", 141, "no"), (.function("f"), nil, 141, "Script failed."),
            (.trigger(.beforeSave, "Song"), "", 141, "Script failed. Unknown error."),
            (.trigger(.beforeSave, "@Config"), nil, 141, "Script failed. Unknown error."),
            (.trigger(.beforeSave, "@File"), "no", 130, "no"),
            (.trigger(.beforeSave, "@File"), nil, 130, "Could not store file: a.txt."),
            (.trigger(.beforeDelete, "@File"), nil, 153, "Could not delete file."),
        ] as [(CloudTarget, String?, Int, String)])
    func failures(target: CloudTarget, text: String?, code: Int, expected: String) async throws {
        let host = PlainHost([CloudRegistration(target)]) { _ in throw CloudFailure(text) }
        let engine = try await CloudEngine.with(host)
        var call = CloudCall(target)
        call.file = TriggerFile(name: "a.txt")
        let sent = call
        await #expect(throws: ParseError(code, expected)) { try await engine.call(sent) }
    }

    @Test("isActive and hasFindTriggers reflect the registered triggers")
    func isActive() async throws {
        let host = PlainHost([CloudRegistration(Self.target)]) { _ in CloudResult() }
        let engine = try await CloudEngine.with(host)
        #expect(!engine.isActive && !engine.hasFindTriggers)
        host.offer([CloudRegistration(.trigger(.beforeSave, "Song"))])
        #expect(engine.isActive && !engine.hasFindTriggers)
        #expect(engine.trigger(for: .beforeSave, of: "Song") != nil)
        #expect(engine.trigger(for: .afterSave, of: "Song") == nil)
        host.offer([CloudRegistration(.trigger(.afterFind, "Song"))])
        #expect(engine.hasFindTriggers)
        host.offer([])
        #expect(!engine.isActive && !engine.hasFindTriggers)
    }
}
