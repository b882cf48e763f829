import App
import TestSupport

@testable import Roost

/// Cloud code for the scenarios, in Swift.
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
        cloud.beforeSave("_User") { $0.object["seen"] = .bool($0.object["password"] != nil) }
        cloud.beforeLogin { if $0.object["username"] == "login-eve" { throw Text("no") } }
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

    /// Those of the table that need no behaviour are played by every host.
    var scenarios: Set<String> {
        [
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
        var extensions = ServerExtensions()
        extensions.cloudHosts = [SwiftHost(cloud, logger: TestServer.quietLogger)]
        try await TestServer.run(extensions: extensions, body)
    }
}
