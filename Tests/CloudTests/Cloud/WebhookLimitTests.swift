import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

/// Webhook hosts that are slow, down or send too much affect only their own callers.
@Suite struct WebhookLimitTests {
    @Test("Calls to a silent host time out, and hold no database connection meanwhile")
    func silence() async throws {
        try await WebhookServer.run { hooks in
            let options: JSONObject = [
                "webhookTimeout": 20_000, "databaseOptions": ["poolSize": 2, "sharedConnections": 1],
            ]
            try await TestServer.run(options) { server in
                try await hooks.trigger("beforeSave", "Slow", on: server) { _ in .silence }
                let id = try await server.create("Quick", ["n": 1])
                let answered = Lines()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 1...40 {
                        group.addTask {
                            let answer = try await server.send("POST", "/classes/Slow", ["a": 1])
                            answered.append("")
                            #expect(answer.status == 400)
                            #expect(answer.json == ["code": 124, "error": "Cloud code timed out."])
                        }
                    }
                    #expect(try await eventually { hooks.calls.count == 40 })
                    // All forty calls are waiting.
                    #expect(try await server.send("PUT", "/classes/Quick/\(id)", ["n": 2]).status == 200)
                    let create: JSONValue = ["method": "POST", "path": "/parse/classes/Quick", "body": [:]]
                    let batch = try await server.send(
                        "POST", "/batch", ["requests": [create], "transaction": true])
                    #expect(batch.status == 200)
                    #expect(answered.all.isEmpty)
                    try await group.waitForAll()
                }
                #expect(try await server.find("Slow").results.isEmpty)
            }
        }
    }

    @Test("Excess calls to a busy host wait or are rejected, while other hosts are called")
    func openCalls() async throws {
        try await WebhookServer.run { slow in
            try await WebhookServer.run { quick in
                try await TestServer.run(["webhookConnections": 1, "webhookTimeout": 20_000]) { server in
                    try await slow.function("slow", on: server) { _ in .silence }
                    try await quick.function("quick", on: server) { _ in .success(1) }
                    let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
                        for _ in 1...20 {
                            group.addTask { try await server.send("POST", "/functions/slow", [:]).code }
                        }
                        #expect(try await eventually { slow.calls.count == 1 })
                        #expect(try await server.send("POST", "/functions/quick", [:])["result"] == 1)
                        return try await group.reduce(into: [:] as [Int: Int]) { $0[$1 ?? 0, default: 0] += 1 }
                    }
                    // An address may use three quarters of the ten queue slots.
                    #expect(codes == [124: 9, 155: 11])
                    #expect(slow.calls.count < 11)
                }
            }
        }
    }

    @Test("Cuts off an oversized response")
    func flood() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { _ in .flood(bytes: 1 << 30) }
                let answer = try await server.send("POST", "/functions/f", [:])
                #expect(answer.json == ["code": 141, "error": "The webhook's response is larger than 20971520 bytes."])
                #expect(hooks.floodedBytes < 64 << 20)
            }
        }
    }

    @Test("Doesn't send a call that is larger than the limit")
    func largeCall() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["maxUploadSize": "30mb"]) { server in
                try await hooks.function("f", on: server) { .success(.number(Double($0.size))) }
                func call(_ megabytes: Int) async throws -> TestAnswer {
                    let text = String(repeating: "x", count: megabytes << 20)
                    return try await server.send("POST", "/functions/f", ["text": .string(text)])
                }
                #expect(try await call(9)["result"] != nil)
                let refused = try await call(20)
                #expect(refused.json == ["code": 141, "error": "Request body larger than maxBodyLength limit"])
                #expect(hooks.calls.count == 1)
            }
        }
    }

    @Test(
        "Stops a recursive trigger at a depth of 16 if it passes on X-Parse-Cloud-Depth, as master or user",
        arguments: [true, false])
    func recursion(isMaster: Bool) async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let kim = try await server.signUp("kim")
                try await hooks.trigger("beforeSave", "Echo", on: server) { call in
                    let depth = call.headers["x-parse-cloud-depth"] ?? ""
                    let inner = try await server.send(
                        "POST", "/classes/Echo", [:], as: isMaster ? .master : .session(kim.token),
                        headers: ["X-Parse-Cloud-Depth": depth])
                    return inner.error.map { .error(.string($0)) } ?? .nothing
                }
                let answer = try await server.send("POST", "/classes/Echo", [:])
                #expect(answer.json == ["code": 141, "error": "Trigger recursion is too deep."])
                #expect(hooks.calls.count == 16)
                #expect(try await server.find("Echo").results.isEmpty)
            }
        }
    }

    @Test("Nested large saves don't deadlock, even with more saves than webhook connections")
    func nestedSaves() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookConnections": 4, "webhookTimeout": 20_000]) { server in
                let text = JSONValue.string(String(repeating: "x", count: 20_000))
                try await hooks.trigger("beforeSave", "Outer", on: server) { call in
                    let depth = call.headers["x-parse-cloud-depth"] ?? ""
                    let inner = try await server.send(
                        "POST", "/classes/Inner", ["text": text], as: .master,
                        headers: ["X-Parse-Cloud-Depth": depth])
                    return inner.error.map { .error(.string($0)) } ?? .nothing
                }
                try await hooks.trigger("beforeSave", "Inner", on: server) { _ in .nothing }
                let codes = try await withThrowingTaskGroup(of: Int?.self) { group in
                    for _ in 0..<32 {
                        group.addTask { try await server.send("POST", "/classes/Outer", ["text": text]).code }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(codes.allSatisfy { $0 == nil }, "\(codes)")
                #expect(try await server.find("Inner", ["limit": 100]).results.count == 32)
            }
        }
    }

    @Test("Large saves succeed while functions with large bodies wait for their webhooks")
    func slowFunctions() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("slow", on: server) { _ in .silence }
                let text = JSONValue.string(String(repeating: "x", count: 1 << 20))
                let calls = (0..<4).map { _ in
                    Task { try await server.send("POST", "/functions/slow", ["text": text]) }
                }
                // The same threads also read large bodies of other tests.
                #expect(try await eventually(within: .seconds(90)) { hooks.calls.count == 4 })
                #expect(try await server.send("POST", "/classes/Song", ["text": text]).status == 201)
                for call in calls { call.cancel() }
            }
        }
    }

    @Test("Continues counting from any client's X-Parse-Cloud-Depth, and rejects requests beyond a depth of 16")
    func claimedDepth() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { .success(.string($0.headers["x-parse-cloud-depth"] ?? "")) }
                func depth(_ claimed: String, as identity: TestServer.Identity) async throws -> TestAnswer {
                    try await server.send(
                        "POST", "/functions/f", [:], as: identity, headers: ["X-Parse-Cloud-Depth": claimed])
                }
                let kim = try await server.signUp("kim")
                for identity in [TestServer.Identity.anonymous, .session(kim.token)] {
                    #expect(try await depth("15", as: identity)["result"] == "16")
                    for claimed in ["16", "1000"] {
                        let answer = try await depth(claimed, as: identity)
                        #expect(answer.error == "Trigger recursion is too deep.", "\(claimed)")
                    }
                }
                #expect(try await depth("15", as: .master)["result"] == "16")
                #expect(try await depth("16", as: .master).error == "Trigger recursion is too deep.")
            }
        }
    }

    @Test("A trigger can update the object that a transaction is saving or deleting")
    func noLocks() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let id = try await server.create("Song", ["a": 1])
                try await hooks.trigger("beforeSave", "Song", on: server) { call in
                    guard call["master"] == false else { return .nothing }
                    let answer = try await server.send("PUT", "/classes/Song/\(id)", ["b": 1], as: .master)
                    return answer.status == 200 ? .nothing : .error("not saved")
                }
                try await hooks.trigger("beforeDelete", "Song", on: server) { _ in
                    let answer = try await server.send("PUT", "/classes/Song/\(id)", ["c": 1], as: .master)
                    return answer.status == 200 ? .nothing : .error("not saved")
                }
                let update: JSONValue = [
                    "method": "PUT", "path": .string("/parse/classes/Song/\(id)"), "body": ["a": 2],
                ]
                let deletion: JSONValue = ["method": "DELETE", "path": .string("/parse/classes/Song/\(id)")]
                let batch = try await server.send(
                    "POST", "/batch", ["requests": [update, deletion], "transaction": true])
                #expect(batch.json.arrayValue?.map { $0["success"] != nil } == [true, true], "\(batch.text)")
                #expect(try await server.send("GET", "/classes/Song/\(id)").code == 101)
            }
        }
    }

    @Test("Calls the triggers of a batch concurrently")
    func batches() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookTimeout": 30_000]) { server in
                try await hooks.trigger("beforeSave", "Song", on: server) { call in
                    // No call gets a response before all have arrived.
                    guard try await eventually({ hooks.calls.count == 20 }) else { return .error("alone") }
                    return call["object"]?["n"] == 3 ? .error("no") : .nothing
                }
                let calls: [JSONValue] = (1...20).map { number in
                    ["method": "POST", "path": "/parse/classes/Song", "body": ["n": .number(Double(number))]]
                }
                let answer = try await server.send("POST", "/batch", ["requests": .array(calls)])
                let outcomes = answer.json.arrayValue ?? []
                #expect(outcomes.count == 20)
                #expect(outcomes.filter { $0["success"] != nil }.count == 19)
                #expect(outcomes[2]["error"] == ["code": 141, "error": "no"])
            }
        }
    }

    @Test("A batch of 200 saves makes at most 50 concurrent calls, so other calls get through")
    func largeBatches() async throws {
        let open = Mutex((now: 0, most: 0))
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("other", on: server) { _ in .success(1) }
                try await hooks.trigger("beforeSave", "Song", on: server) { _ in
                    open.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                    try await Task.sleep(for: .milliseconds(100))
                    open.withLock { $0.now -= 1 }
                    return .nothing
                }
                let calls = [JSONValue](
                    repeating: ["method": "POST", "path": "/parse/classes/Song", "body": [:]], count: 200)
                async let batch = server.send("POST", "/batch", ["requests": .array(calls)])
                #expect(try await eventually { open.withLock { $0.now } > 0 })
                #expect(try await server.send("POST", "/functions/other", [:])["result"] == 1)
                let outcomes = try await batch.json.arrayValue ?? []
                #expect(outcomes.count == 200 && outcomes.allSatisfy { $0["success"]?["objectId"] != nil })
                #expect(open.withLock { $0.most } <= 50)
            }
        }
    }

    @Test("Declaring, changing and removing a webhook applies in every process within a second")
    func processes() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await server.alongside { other in
                    hooks.on("two") { _ in .success(2) }
                    try await hooks.function("f", on: server) { _ in .success(1) }
                    func becomes(_ result: JSONValue?) async throws -> Bool {
                        try await withinOneSecond {
                            try await other.send("POST", "/functions/f", [:])["result"] == result
                        }
                    }
                    #expect(try await becomes(1))
                    _ = try await server.send(
                        "PUT", "/hooks/functions/f", ["url": .string(hooks.url("two"))], as: .master
                    ).succeeded()
                    #expect(try await server.send("POST", "/functions/f", [:])["result"] == 2)
                    #expect(try await becomes(2))
                    _ = try await server.send("PUT", "/hooks/functions/f", ["__op": "Delete"], as: .master)
                    #expect(try await server.send("POST", "/functions/f", [:]).code == 141)
                    #expect(try await becomes(nil))
                }
            }
        }
    }
}
