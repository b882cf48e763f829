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

    @Test("beforeSave scenarios: stores and returns what the trigger sets, removes, increments and reverts")
    func beforeSave() async throws {
        let notes = Notes()
        try await CloudServer { cloud in
            cloud.beforeSave("Sets") { $0.object["b"] = 2 }
            cloud.beforeSave("Same") { $0.object["a"] = 1 }
            cloud.beforeSave("Unsets") { $0.object.unset("a") }
            cloud.beforeSave("Counts") { $0.object.increment("n") }
            cloud.beforeSave("Constant", requires: .field("x", default: 5, constant: true)) { _ in }
            cloud.beforeSave("Reverts") { $0.object.revert("a") }
            cloud.beforeSave("Refuses") { _ in throw ParseError(1337, "Not this.") }
            cloud.beforeSave("Typed") { request in
                notes.add("called")
                request.object["n"] = "text"
            }
            cloud.beforeSave("Inside") { request in
                notes.add("\(request.object["m"] ?? .null)")
                request.object["m"] = ["whole": true]
            }
        }.run { server in
            let set = try await server.post("Sets", ["a": 1])
            #expect(set.status == 201)
            #expect(set["b"] == 2, "27 sets")
            #expect(set["a"] == nil)
            let same = try await server.post("Same", ["a": 1])
            #expect(same.json.objectValue?.keys.texts.sorted() == ["createdAt", "objectId"], "28 same: \(same.text)")
            let unset = try await server.post("Unsets", ["a": 1])
            #expect(unset["a"] == ["__op": "Delete"], "29 unset: \(unset.text)")
            let unsetId = try unset.string("objectId")
            #expect(try await server.send("GET", "/classes/Unsets/\(unsetId)")["a"] == nil)

            let id = try await server.create("Counts", ["n": 0], as: .master)
            #expect(try await server.send("GET", "/classes/Counts/\(id)")["n"] == 1)
            let counts = try await withThrowingTaskGroup(of: JSONValue?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await server.send("PUT", "/classes/Counts/\(id)", ["other": .number(Double(number))])["n"]
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(try await server.send("GET", "/classes/Counts/\(id)")["n"] == 21, "30 increment")
            #expect(Set(counts.compactMap { $0 }).count == 20, "30 each response has its own count")

            let constant = try await server.create("Constant", [:])
            let kept = try await server.send("PUT", "/classes/Constant/\(constant)", ["x": 9])
            #expect(kept["x"] == 5, "25 constant: \(kept.text)")
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

            let refused = try await server.post("Refuses", ["a": 1])
            #expect(refused.code == 1337)
            #expect(refused.error == "Not this.")
            #expect(try await server.send("GET", "/schemas/Refuses", as: .master).code == 103, "nothing is left behind")

            _ = try await server.send(
                "POST", "/schemas/Typed", ["className": "Typed", "fields": ["n": ["type": "Number"]]], as: .master)
            #expect(try await server.post("Typed", ["n": 1]).code == 111, "34 wrong type")
            #expect(notes.take() == ["called"])

            let inside = try await server.create("Inside", ["m": ["a": 1]])
            _ = notes.take()
            _ = try await server.send("PUT", "/classes/Inside/\(inside)", ["m.b": 2]).succeeded()
            #expect(notes.take() == [#"{"whole":true,"b":2}"#])
            #expect(try await server.send("GET", "/classes/Inside/\(inside)")["m"] == ["whole": true])
        }
    }

    @Test("Permission scenarios: doesn't call triggers for callers who can't save")
    func permissions() async throws {
        let notes = Notes()
        try await CloudServer { cloud in
            for name in ["Closed", "Guarded"] { cloud.beforeSave(name) { _ in notes.add(name) } }
            cloud.beforeSave("Default") { notes.add($0.object["d"] == nil ? "absent" : "there") }
            cloud.beforeSave("MasterFree", requires: .exceptMaster) { _ in notes.add("free") }
        }.run { server in
            let kim = try await server.signUp("kim")
            let closed = try await server.create("Closed", ["a": 1])
            _ = try await server.send(
                "PUT", "/schemas/Closed",
                [
                    "className": "Closed",
                    "classLevelPermissions": ["update": [:], "get": ["*": true], "find": ["*": true]],
                ],
                as: .master
            ).succeeded()
            let guarded = try await server.create("Guarded", ["a": 1, "ACL": ["*": ["read": true]]], as: .master)
            _ = notes.take()
            let first = try await server.send("PUT", "/classes/Closed/\(closed)", ["a": 2], as: .session(kim.token))
            #expect(first.code == 119, "31 forbidden: \(first.text)")
            let second = try await server.send("PUT", "/classes/Guarded/\(guarded)", ["a": 2], as: .session(kim.token))
            #expect(second.status == 404, "32 ACL: \(second.text)")
            #expect(notes.take() == [])
            _ = try await server.send(
                "POST", "/schemas/Default",
                ["className": "Default", "fields": ["d": ["type": "String", "defaultValue": "x"]]], as: .master
            ).succeeded()
            let made = try await server.post("Default", [:])
            #expect(made["d"] == "x", "33 default later: \(made.text)")
            #expect(notes.take() == ["absent"])
            _ = try await server.create("MasterFree", [:], as: .master)
            #expect(notes.take() == [])
            _ = try await server.create("MasterFree", [:])
            #expect(notes.take() == ["free"])
        }
    }

    @Test("afterSave scenarios: original object, context, ignored errors and custom responses")
    func afterSave() async throws {
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
            cloud.afterSave("Fails") { _ in throw ParseError(1, "unheard") }
            cloud.afterSave("Answers") { $0.answer = ["x": 1] }
        }.run { server in
            let made = try await server.send(
                "POST", "/classes/Chain", ["a": 1], headers: ["X-Parse-Cloud-Context": "{\"h\":true}"])
            #expect(notes.take() == [#"before true null 1 ["a"]"#, #"after true {"h":true,"k":"added"} 1"#], "36")
            _ = try await server.send("PUT", "/classes/Chain/\(try made.string("objectId"))", ["a": 2]).succeeded()
            #expect(notes.take() == [#"before false 1 2 ["a"]"#, #"after false {"k":"added"} 2"#], "35 original")
            let bad = try await server.send(
                "POST", "/classes/Chain", ["a": 1], headers: ["X-Parse-Cloud-Context": "1"])
            #expect(bad.code == 107, "37 bad context")
            #expect(bad.error == "Invalid object for context.")
            #expect(try await server.post("Fails", [:]).status == 201, "38 error after")
            let answered = try await server.post("Answers", [:])
            #expect(answered.json == ["x": 1], "39 answer: \(answered.text)")
        }
    }

    @Test("Deletion scenarios: veto, error after the deletion and rejected find")
    func deletions() async throws {
        try await CloudServer { cloud in
            cloud.beforeDelete("Kept") { request in throw ParseError(141, "\(request.object["a"] ?? .null) stays") }
            cloud.afterDelete("Gone") { _ in throw ParseError(141, "too late") }
            cloud.beforeDelete("Hidden") { _ in }
            cloud.beforeFind("Hidden") { _ in throw ParseError(141, "not found here") }
        }.run { server in
            for (name, className, error, stays) in [
                ("40 veto", "Kept", "1 stays", true), ("41 error after", "Gone", nil, false),
                ("42 find refuses", "Hidden", "not found here", true),
            ] as [(String, String, String?, Bool)] {
                let id = try await server.create(className, ["a": 1])
                let answer = try await server.send("DELETE", "/classes/\(className)/\(id)")
                #expect(answer.code == (error == nil ? nil : 141), "\(name): \(answer.text)")
                #expect(answer.error == error, "\(name)")
                let rows = try await server.texts("SELECT \"objectId\" FROM \"\(className)\"")
                #expect(rows.isEmpty != stays, "\(name)")
            }
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
