import App
import Foundation
import Roost
import TestSupport

struct SwiftFixture: CloudFixture {
    private struct Text: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    private struct Dated: Decodable { let d: JSONValue }

    private static func functions(_ cloud: Cloud) {
        cloud.define("echo") { $0.params }
        cloud.define("nothing") { _ in }
        cloud.define("null") { _ in JSONValue.null }
        cloud.define("date") { (request: FunctionRequest<Dated>) in request.params.d }
        cloud.define("dateOut") { _ in Date(timeIntervalSince1970: 1_463_907_600) }
        cloud.define("objectOut") { request in
            var note = ParseObject("Note")
            note["text"] = "x"
            return try await request.data(.asMaster).save(note)
        }
        cloud.define("failText") { _ in throw Text("no") }
        cloud.define("failCode") { _ in throw ParseError(101, "gone") }
        cloud.define("context") { $0.context }
        cloud.define("dotted.name") { _ in 2 }
        cloud.define("caller") { request in
            [
                "user": request.user?["username"] ?? .null, "token": request.user?["sessionToken"] ?? .null,
                "master": .bool(request.isMaster),
                "installationId": request.details.installationId.map { .string($0) } ?? .null,
                "ip": .string(request.details.ip),
                "header": request.details.headers["x-own-header"].map { .string($0) } ?? .null,
            ] as [String: JSONValue]
        }
    }

    private static func saves(_ cloud: Cloud) {
        cloud.beforeSave("SetsB") { $0.object["b"] = 2 }
        cloud.beforeSave("SetsSame") { $0.object["a"] = $0.object["a"] }
        cloud.beforeSave("Unsets") { $0.object.unset("a") }
        cloud.beforeSave("Defaulted") { $0.object["saw"] = .bool($0.object["d"] != nil) }
        cloud.beforeSave("Increments") { $0.object.increment("n") }
        cloud.beforeSave("Refuses") { _ in throw Text("no") }
        cloud.beforeSave("RefusesCode") { request in
            if request.object["a"] == 1 { throw ParseError(1337, "x") }
        }
        cloud.beforeSave("Guarded") { _ in throw Text("called") }
        cloud.beforeSave("Owned") { if !$0.isNew { throw Text("called") } }
        cloud.beforeSave("Typed") { _ in }
        cloud.beforeSave("Original") { request in
            guard let original = request.original else { return }
            request.object["was"] = original["a"]
            request.object["is"] = request.object["a"]
        }
        cloud.beforeSave("Chain") { $0.context["k"] = 1 }
        cloud.afterSave("Chain") { $0.answer = ["context": .object($0.context)] }
        cloud.afterSave("AfterFails") { _ in throw Text("no") }
        cloud.afterSave("AfterReplaces") { $0.answer = ["x": 1] }
        cloud.beforeSave("_User") { request in
            request.object["seen"] = .bool(request.object["password"] != nil)
            request.object.increment("saves")
        }
        cloud.beforeLogin { if $0.object["nick"] == "barred" { throw Text("no") } }
        cloud.afterLogin { if $0.object["nick"] == "late" { throw Text("too late") } }
    }

    private static func deletionsAndFinds(_ cloud: Cloud) {
        cloud.beforeDelete("Kept") { if $0.object["kept"] == true { throw Text("no") } }
        cloud.afterDelete("TooLate") { _ in throw Text("too late") }
        cloud.beforeFind("NoFinds") { _ in throw Text("no") }
        cloud.beforeDelete("NoFinds") { _ in }
        cloud.beforeFind("LimitOne") { $0.query.limit = 1 }
        cloud.beforeFind("Made") { request in
            var made = ParseObject("Made")
            made["made"] = true
            request.results = [made]
        }
        cloud.afterFind("Emptied") { $0.objects = [] }
        cloud.beforeFind("Inner") { $0.query.filter["secret"] = ["$ne": true] }
        cloud.afterFind("Inner") { request in
            for index in request.objects.indices { request.objects[index]["seen"] = true }
        }
        cloud.beforeFind("Counted") { request in
            var counted = ParseObject("Counted")
            counted["counted"] = .bool(request.isCount)
            request.results = [counted]
        }
    }

    private static func code(_ cloud: Cloud) {
        cloud.define("dirtyOut") { request in
            var note = try await request.data(.asMaster).save(ParseObject("Note"))
            note["text"] = "y"
            return note
        }
        cloud.define("failError") { _ in throw Text("no") }
        cloud.define("failSilently") { _ in throw Text("") }
        cloud.beforeSave("FailsSilently") { _ in throw Text("") }
        cloud.beforeSave("AfterSets") { $0.object["b"] = 2 }
        cloud.afterSave("AfterSets") { request in
            request.object["c"] = 3
            request.object["a"] = request.object["a"]
            request.object["p"] = ["__type": "Pointer", "className": "Note", "objectId": "abcdefghij"]
            request.object.increment("n")
        }
        cloud.afterFind("AfterFinds") { request in
            for index in request.objects.indices {
                request.objects[index].increment("n")
                request.objects[index]["m"] = 2
                request.objects[index].unset("o")
            }
        }
        cloud.job("work") { request in
            request.message("working")
            return "ok"
        }
        let checks: [(String, Requirements)] = [
            ("needsUser", .user), ("needsFoo", [.alsoForMaster, .field("foo", required: true)]),
            ("needsRole", .anyRole("Admins")), ("needsNumber", .field("n", type: .number)),
            ("needsOption", .field("o", options: ["a", "b"])), ("needsNickname", .userFields("nickname")),
            ("twice", .rateLimit(2, per: .seconds(60), countsThisMachine: true)),
        ]
        for (name, requirements) in checks { cloud.define(name, requires: requirements) { _ in "ran" } }
        cloud.beforeSave("Constant", requires: .field("x", default: 5, constant: true)) { _ in }
        cloud.beforeSave("Once", requires: .rateLimit(1, per: .seconds(60), countsThisMachine: true, error: "slower")) {
            _ in
        }
    }

    /// Includes scenarios that need no code.
    var scenarios: Set<String> {
        [
            "dateOut", "objectOut", "Unsets", "Defaulted", "dirtyOut", "failError", "failSilently", "FailsSilently",
            "AfterSets", "AfterFinds", "work", "needsUser", "needsFoo", "needsRole", "needsNumber", "needsOption",
            "needsNickname",
            "twice", "Constant", "Once",
            "echo", "nothing", "null", "date", "failText", "failCode", "context", "dotted.name", "caller", "SetsB",
            "SetsSame", "Increments", "Refuses", "RefusesCode", "Guarded", "Owned", "Typed", "Original", "Chain",
            "AfterFails", "AfterReplaces", "_User", "Kept", "TooLate", "NoFinds", "LimitOne", "Made", "Emptied",
            "Inner", "Counted", "unknown", "names of JavaScript",
        ]
    }

    func run(_ body: @escaping @Sendable (TestServer) async throws -> Void) async throws {
        let cloud = Cloud()
        Self.functions(cloud)
        Self.saves(cloud)
        Self.deletionsAndFinds(cloud)
        Self.code(cloud)
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        try await TestServer.run(extensions: extensions, body)
    }
}
