import Roost
import Synchronization
import TestSupport
import Testing

@Suite struct TriggerScenarioTests {
    private final class Notes: Sendable {
        private let lines = Mutex<[String]>([])
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
        /// Returns the lines since the last call.
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    @Test("beforeSave reverts fields, sees whole objects, keeps constants, and can exempt the master key")
    func beforeSave() async throws {
        let notes = Notes()
        try await CloudServer { cloud in
            cloud.beforeSave("Constant", requires: .field("x", default: 5, constant: true)) { _ in }
            cloud.beforeSave("Reverts") { $0.object.revert("a") }
            cloud.beforeSave("Typed") { request in
                notes.add("called")
                request.object["n"] = "text"
            }
            cloud.beforeSave("Inside") { request in
                notes.add("\(request.object["m"] ?? .null)")
                request.object["m"] = ["whole": true]
            }
            cloud.beforeSave("MasterFree", requires: .exceptMaster) { _ in notes.add("free") }
        }.run { server in
            let constant = try await server.create("Constant", [:])
            let part = try await server.send("PUT", "/classes/Constant/\(constant)", ["x.a": 9])
            #expect(part.status == 200, "25 a part of a constant: \(part.text)")
            #expect(try await server.send("GET", "/classes/Constant/\(constant)")["x"] == 5)

            _ = try await server.send(
                "POST", "/schemas/Reverts", ["className": "Reverts", "fields": ["a": ["type": "Number"]]], as: .master)
            let reverted = try await server.post("Reverts", ["a": 1, "b": 1])
            let reverting = try reverted.string("objectId")
            let read = try await server.send("GET", "/classes/Reverts/\(reverting)")
            #expect(read["a"] == nil)
            #expect(read["b"] == 1)

            _ = try await server.send(
                "POST", "/schemas/Typed", ["className": "Typed", "fields": ["n": ["type": "Number"]]], as: .master)
            #expect(try await server.post("Typed", ["n": 1]).code == 111, "34 wrong type")
            #expect(notes.take() == ["called"])

            let inside = try await server.create("Inside", ["m": ["a": 1]])
            _ = notes.take()
            _ = try await server.send("PUT", "/classes/Inside/\(inside)", ["m.b": 2]).succeeded()
            #expect(notes.take() == [#"{"whole":true,"b":2}"#])
            #expect(try await server.send("GET", "/classes/Inside/\(inside)")["m"] == ["whole": true])

            _ = try await server.create("MasterFree", [:], as: .master)
            #expect(notes.take() == [])
            _ = try await server.create("MasterFree", [:])
            #expect(notes.take() == ["free"])
        }
    }

    @Test("Save triggers get the original, the sent keys and a context that beforeSave can extend")
    func contexts() async throws {
        let notes = Notes()
        try await CloudServer { cloud in
            cloud.beforeSave("Chain") { request in
                let old = request.original?["a"] ?? .null
                notes.add("before \(request.isNew) \(old) \(request.object["a"] ?? .null) \(request.sentKeys)")
                request.context["k"] = "added"
            }
            cloud.afterSave("Chain") { request in
                notes.add(
                    "after \(request.isNew) \(JSONValue.object(request.context)) \(request.object["a"] ?? .null)")
            }
        }.run { server in
            let made = try await server.send(
                "POST", "/classes/Chain", ["a": 1], headers: ["X-Parse-Cloud-Context": "{\"h\":true}"])
            #expect(notes.take() == [#"before true null 1 ["a"]"#, #"after true {"h":true,"k":"added"} 1"#], "36")
            _ = try await server.send("PUT", "/classes/Chain/\(try made.string("objectId"))", ["a": 2]).succeeded()
            #expect(notes.take() == [#"before false 1 2 ["a"]"#, #"after false {"k":"added"} 2"#], "35 original")
        }
    }

    private struct Review: ParseRecord {
        static let className = "Review"
        var objectId: String?
        var stars: Int
        var title: String?
        var note: String?
    }

    @Test("Typed records: rejects fields of wrong types, stores changes and keeps other fields")
    func typed() async throws {
        let notes = Notes()
        try await CloudServer { cloud in
            cloud.beforeSave(Review.self) { request in
                guard (1...5).contains(request.object.stars) else { throw ParseError(142, "stars") }
                request.object.title = (request.object.title ?? "none").uppercased()
                request.object.note = nil
            }
            cloud.afterSave(Review.self) { notes.add("\($0.object.title ?? "") \($0.original?.stars ?? 0)") }
            cloud.beforeDelete(Review.self) { notes.add("deleted \($0.object.stars)") }
            cloud.define("best") { request in
                try await request.data(.anonymous).find(Review.self) { query in
                    query = query.where("stars", .atLeast(4)).order(by: "stars")
                }
            }
            cloud.define("rate") { request in
                try await request.data(.asMaster).save(Review(stars: 4, title: "by code")).objectId
            }
        }.run { server in
            let made = try await server.post("Review", ["stars": 3, "other": "kept", "note": "x"])
            #expect(made.status == 201, "\(made.text)")
            #expect(made["title"] == "NONE")
            let id = try made.string("objectId")
            #expect(try await server.post("Review", ["stars": "3"]).code == 142)
            #expect(try await server.post("Review", [:]).error == "Validation failed. Please specify data for stars.")
            #expect(try await server.post("Review", ["stars": 6]).error == "stars")
            let changed = try await server.send("PUT", "/classes/Review/\(id)", ["stars": .increment(2)])
            #expect(changed["stars"] == 5, "\(changed.text)")
            let read = try await server.send("GET", "/classes/Review/\(id)")
            #expect(read["other"] == "kept")
            #expect(read["title"] == "NONE")
            #expect(read["note"] == nil)
            #expect(notes.take() == ["NONE 0", "NONE 3"])
            #expect(try await server.call("rate")["result"]?.stringValue?.isEmpty == false)
            let best = try await server.call("best")["result"]?.arrayValue ?? []
            #expect(best.map { $0["title"] } == ["BY CODE", "NONE"])
            _ = try await server.send("DELETE", "/classes/Review/\(id)").succeeded()
            #expect(notes.all.last == "deleted 5")
        }
    }
}
