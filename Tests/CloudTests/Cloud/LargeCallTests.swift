import App
import CloudCode
import JSON
import Limits
import Synchronization
import TestSupport
import Testing

/// Large cloud-code calls are decoded one after the other, so that only one at a time occupies memory.
@Suite(.serialized) struct LargeCallTests {
    /// Blocks its first call until a number of others wait for memory.
    private final class Code: CloudHost {
        let kind = CloudHostKind.swift
        private let target: CloudTarget
        private let others: Int
        private let calls = Mutex((open: 0, most: 0))

        init(_ target: CloudTarget, others: Int) {
            self.target = target
            self.others = others
        }

        /// The maximum number of concurrent calls.
        var most: Int { calls.withLock { $0.most } }

        func start(_ services: CloudServices) async throws { services.offer([CloudRegistration(target)]) }

        func call(_ call: CloudCall) async throws -> CloudResult {
            let isFirst = calls.withLock { calls in
                defer { calls = (calls.open + 1, max(calls.most, calls.open + 1)) }
                return calls.most == 0
            }
            defer { calls.withLock { $0.open -= 1 } }
            if isFirst {
                let budget = MemoryBudget.values.gate(depth: 0)
                let othersWait = try await eventually { budget.waiting == others }
                #expect(othersWait, "\(budget.waiting) wait")
            }
            var result = CloudResult(value: true)
            if !call.objects.isEmpty { result.found = .objects(call.objects) }
            return result
        }

        func extensions() -> ServerExtensions {
            var extensions = ServerExtensions()
            extensions.cloudHosts = [self]
            return extensions
        }
    }

    /// More than half of a sender's memory limit.
    private static let text = JSONValue.string(String(repeating: "x", count: 3_400_000))

    @Test("Calls of a user with a large record run one at a time")
    func callers() async throws {
        let code = Code(.function("f"), others: 5)
        try await TestServer.run(extensions: code.extensions()) { server in
            let kim = try await server.signUp("kim", password: "p", ["notes": Self.text])
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await server.send("POST", "/functions/f", [:], as: .session(kim.token)).status }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
        #expect(code.most == 1)
    }

    @Test("maxTriggerSize limits a client's find with a trigger, but not one with the master key")
    func limit() async throws {
        let code = Code(.trigger(.afterFind, "Large"), others: 0)
        try await TestServer.run(["maxTriggerSize": "1mb"], extensions: code.extensions()) { server in
            let text = JSONValue.string(String(repeating: "x", count: 400_000))
            for _ in 0..<3 { _ = try await server.create("Large", ["text": text]) }
            let refused = try await server.find("Large")
            #expect(refused.status == 400 && refused.code == 116, "\(refused.text.prefix(200))")
            #expect(try await server.find("Large", ["limit": 2]).succeeded().results.count == 2)
            #expect(try await server.find("Large", as: .master).succeeded().results.count == 3)
        }
    }

    @Test("Large finds with an afterFind trigger call it one at a time and return all objects")
    func finds() async throws {
        let code = Code(.trigger(.afterFind, "Note"), others: 5)
        try await TestServer.run(extensions: code.extensions()) { server in
            _ = try await server.create("Note", ["text": Self.text])
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<6 {
                    group.addTask { try await server.send("GET", "/classes/Note").bytes.count }
                }
                for try await size in group { #expect(size > 3_400_000) }
            }
        }
        #expect(code.most == 1)
    }

    @Test("A batch waits for memory to assemble its responses, and returns them in order")
    func batches() async throws {
        try await TestServer.run { server in
            _ = try await server.create("Note", ["text": Self.text])
            let held = HeldMemory(in: .answers, depth: 0)
            let budget = MemoryBudget.answers.gate(depth: 0)
            try await CallerPresence.$current.withValue(CallerPresence(sender: Sender(address: "192.0.2.1"))) {
                try await held.hold(32 * 1024 * 1024)
            }
            let calls: [JSONValue] = ["/parse/classes/Note", "/parse/classes/None", "/parse/classes/Note"].map {
                ["method": "GET", "path": $0]
            }
            async let answer = server.send("POST", "/batch", ["requests": .array(calls)])
            let waits = try await eventually { budget.waiting == 1 }
            #expect(waits)
            held.leave()
            let counts = try await answer.json.arrayValue?.map { $0["success"]?["results"]?.arrayValue?.count }
            #expect(counts == [1, 0, 1])
        }
    }
}
