import JSON
import Roost
import TestSupport
import Testing

/// Code with invalid results. Every call gets a response and leaves no partial changes.
@Suite("Hostile Swift cloud code")
struct HostileCodeTests {
    @Test("Rejects statuses and headers that would break the response")
    func responses() async throws {
        try await CloudServer { cloud in
            cloud.define("status") { request in
                let status = request.params["status"]?.numberValue.flatMap { Int(exactly: $0) } ?? 200
                return try FunctionAnswer("x", status: status)
            }
            cloud.define("header") { request in
                let (name, value) = (request.params["name"]?.stringValue, request.params["value"]?.stringValue)
                return try FunctionAnswer("x", headers: [(name: name ?? "", value: value ?? "")])
            }
        }.run { server async throws in
            for status in [-9e15, -1, 0, 99, 100, 101, 199, 600, 99_999, 9e15] {
                let answer = try await server.call("status", ["status": .number(status)])
                #expect(answer.status == 400 && answer.code == 141, "\(status): \(answer.text)")
            }
            for status in [200, 204, 205, 304, 418, 599] {
                #expect(try await server.call("status", ["status": .number(Double(status))]).status == status)
            }
            for name in ["", "a b", "a:b", "a\r\nb", "Content-Length", "TRANSFER-ENCODING", "connection", "é"] {
                let answer = try await server.call("header", ["name": .string(name), "value": "1"])
                #expect(answer.code == 141, "\(name): \(answer.text)")
            }
            let split = try await server.call("header", ["name": "X-A", "value": "a\r\nX-Evil: 1"])
            #expect(split["result"] == "x")
            #expect(split.headers["x-evil"] == nil)
        }
    }

    @Test("Rejects saves of invalid trigger values, and stores canonically equivalent strings exactly")
    func saves() async throws {
        let values: [String: JSONValue] = [
            "nul": "x\u{0}y", "pointer": ["__type": "Pointer"], "operator": ["__op": "Nothing"],
            "increment": ["__op": "Increment", "amount": "x"], "keyword": ["__proto__": 1], "date": ["__type": "Date"],
        ]
        try await CloudServer { cloud in
            cloud.beforeSave("Odd") { request in
                request.object["a"] = values[request.object["kind"]?.stringValue ?? ""]
            }
            cloud.beforeSave("Named") { $0.object["a-b"] = 1 }
            cloud.beforeSave("Composed") { request in
                let text = request.object["text"]?.stringValue ?? ""
                request.object["text"] = .string(text.unicodeScalars.count == 1 ? "e\u{301}" : "\u{E9}")
            }
        }.run { server async throws in
            for kind in values.keys {
                let answer = try await server.post("Odd", ["kind": .string(kind)])
                #expect((400..<500).contains(answer.status) && answer.code != nil, "\(kind): \(answer.text)")
                #expect(try await server.find("Odd", ["where": ["kind": .string(kind)]]).results.isEmpty, "\(kind)")
            }
            #expect(try await server.post("Named", ["a": 1]).code == 105)
            // The two texts look the same, but clients must get the exact characters.
            for text in ["\u{E9}", "e\u{301}"] {
                let made = try await server.post("Composed", ["text": .string(text)])
                let stored = try await server.send("GET", "/classes/Composed/\(made.string("objectId"))")
                #expect(stored["text"] != .string(text))
                #expect(made["text"] == stored["text"])
            }
        }
    }
}
