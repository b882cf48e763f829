import Foundation
import Roost
import TestSupport
import Testing

@Suite struct FunctionScenarioTests {
    private struct Told: Error, CustomStringConvertible {
        let description: String
    }

    private struct WithDate: Decodable { let d: Date }

    private static func register(_ cloud: Cloud) {
        cloud.define("echo") { $0.params }
        cloud.define("nothing") { _ in }
        cloud.define("null") { _ in JSONValue.null }
        cloud.define("dateIn") { (request: FunctionRequest<WithDate>) in request.params.d.timeIntervalSince1970 }
        cloud.define("dateOut") { _ in Date(timeIntervalSince1970: 1) }
        cloud.define("saved") { request in
            var note = ParseObject("Note")
            note["text"] = "x"
            return try await request.data(.asMaster).save(note)
        }
        cloud.define("dirty") { request in
            var note = try await request.data(.asMaster).save(ParseObject("Note"))
            note["text"] = "y"
            return ["note": note]
        }
        cloud.define("text") { _ in throw Told(description: "no") }
        cloud.define("code") { _ in throw ParseError(101, "gone") }
        cloud.define("silent") { _ in throw Told(description: "") }
        cloud.define("negative") { _ in throw ParseError(-42, "odd") }
        cloud.define("a.b") { _ in "dotted" }
        cloud.define("who") { request in
            [
                "user": JSONValue.string(request.user?["username"]?.stringValue ?? "nobody"),
                "master": .bool(request.isMaster), "ip": .string(request.details.ip),
                "header": .string(request.details.headers["x-note"] ?? ""),
                "keys": .bool(request.details.headers["x-parse-master-key"] != nil),
                "context": .object(request.context), "installation": .string(request.details.installationId ?? ""),
                "function": .string(request.functionName),
            ]
        }
        cloud.define("teapot") { _ in try FunctionAnswer("short", status: 418, headers: [("X-Stout", "yes")]) }
    }

    @Test("Function scenarios: parameters, results, errors and names")
    func functions() async throws {
        try await CloudServer([:], Self.register).run { server in
            let date: JSONValue = ["__type": "Date", "iso": "1970-01-01T00:00:01.000Z"]
            let scenarios: [(name: String, function: String, params: JSONValue, status: Int, answer: JSONValue)] = [
                ("1 returns its parameters", "echo", ["a": 1], 200, ["result": ["a": 1]]),
                ("2 returns nothing", "nothing", [:], 200, [:]),
                ("3 returns null", "null", [:], 200, ["result": nil]),
                ("4 gets a date", "dateIn", ["d": date], 200, ["result": 1]),
                (
                    "4 invalid date", "dateIn", ["d": 1], 400,
                    ["code": 142, "error": "Validation failed. Invalid value for d."]
                ),
                (
                    "4 missing date", "dateIn", [:], 400,
                    ["code": 142, "error": "Validation failed. Please specify data for d."]
                ),
                ("5 returns a date", "dateOut", [:], 200, ["result": date]),
                ("8 unknown function", "x", [:], 400, ["code": 141, "error": "Invalid function: \"x\""]),
                (
                    "9 unknown function named like an Object.prototype member", "constructor", [:], 400,
                    ["code": 141, "error": "Invalid function: \"constructor\""]
                ),
                ("10 query parameters override the body", "echo?a=2", ["a": 1], 200, ["result": ["a": "2"]]),
                ("11 throws a text", "text", [:], 400, ["code": 141, "error": "no"]),
                ("13 throws a ParseError", "code", [:], 404, ["code": 101, "error": "gone"]),
                ("14 throws an empty text", "silent", [:], 400, ["code": 141, "error": "Script failed."]),
                ("negative code", "negative", [:], 400, ["code": -42, "error": "odd"]),
                ("name with a dot", "a.b", [:], 200, ["result": "dotted"]),
                ("names are case-sensitive", "Echo", [:], 400, ["code": 141, "error": "Invalid function: \"Echo\""]),
                ("custom status", "teapot", [:], 418, ["result": "short"]),
            ]
            for scenario in scenarios {
                let answer = try await server.call(scenario.function, scenario.params)
                #expect(answer.status == scenario.status, "\(scenario.name): \(answer.text)")
                #expect(same(answer.json, scenario.answer), "\(scenario.name): \(answer.text)")
            }
            let saved = try await server.call("saved")
            #expect(saved["result"]?["__type"] == "Object", "6 object out: \(saved.text)")
            #expect(saved["result"]?["className"] == "Note")
            #expect(saved["result"]?["text"] == "x")
            let dirty = try await server.call("dirty")
            #expect(dirty["result"]?["note"]?["__type"] == "Pointer", "7 dirty object out: \(dirty.text)")
            #expect(try await server.call("teapot").headers["x-stout"] == "yes")
        }
    }

    @Test("Functions get the caller, address, headers and context, but no keys")
    func caller() async throws {
        try await CloudServer([:], Self.register).run { server in
            let kim = try await server.signUp("kim")
            let answer = try await server.send(
                "POST", "/functions/who", [:], as: .session(kim.token),
                headers: [
                    "X-Note": "hi", "X-Parse-Cloud-Context": "{\"a\":1}", "X-Parse-Installation-Id": "phone",
                ])
            let expected: JSONValue = [
                "user": "kim", "master": false, "ip": "127.0.0.1", "header": "hi", "keys": false,
                "context": ["a": 1], "installation": "phone", "function": "who",
            ]
            #expect(same(answer["result"], expected), "\(answer.text)")
            let master = try await server.call("who", as: .master)
            #expect(master["result"]?["master"] == true)
            #expect(master["result"]?["keys"] == false)
            #expect(master["result"]?["user"] == "nobody")
        }
    }

    @Test("Validator scenarios: users, roles, master key and fields")
    func checks() async throws {
        try await CloudServer { cloud in
            cloud.define("user", requires: .user) { _ in "ran" }
            cloud.define("masterOnly", requires: .master) { _ in "ran" }
            cloud.define("strict", requires: [.alsoForMaster, .field("foo", required: true)]) { _ in "ran" }
            cloud.define("role", requires: .anyRole("A", "C")) { _ in "ran" }
            cloud.define("allRoles", requires: .allRoles("A", "C")) { _ in "ran" }
            cloud.define("twiceAll", requires: [.allRoles("C"), .allRoles("A")]) { _ in "ran" }
            cloud.define("twiceAny", requires: [.anyRole("C", "D"), .anyRole("A", "B")]) { _ in "ran" }
            cloud.define("twiceHeld", requires: [.anyRole("C", "B"), .anyRole("A"), .allRoles("B")]) { _ in "ran" }
            cloud.define("number", requires: .field("n", type: .number)) { _ in "ran" }
            cloud.define("options", requires: .field("o", options: ["a", "b"])) { _ in "ran" }
            cloud.define("ownText", requires: .field("o", options: ["a"], error: "Take a.")) { _ in "ran" }
            cloud.define("default", requires: .field("d", default: 5)) { $0.params }
            cloud.define("keys", requires: .userFields("phone")) { _ in "ran" }
        }.run { server in
            let (kim, lee) = (try await server.signUp("kim"), try await server.signUp("lee"))
            func role(_ name: String, _ members: String, _ objects: [JSONValue]) async throws -> String {
                var role: JSONObject = ["name": .string(name), "ACL": ["*": ["read": true]]]
                role[members] = .operation("AddRelation", objects)
                return try await server.create("_Role", role, as: .master)
            }
            // Members of B inherit A.
            let inner = try await role("B", "users", [.pointer("_User", kim.id)])
            _ = try await role("A", "roles", [.pointer("_Role", inner)])
            let (asKim, asLee) = (TestServer.Identity.session(kim.token), TestServer.Identity.session(lee.token))
            let login = "Validation failed. Please login to continue."
            let scenarios: [(String, String, JSONValue, TestServer.Identity, String?)] = [
                ("18 requireUser", "user", [:], .anonymous, login), ("18 with a user", "user", [:], asKim, nil),
                ("19 requireUser master", "user", [:], .master, nil),
                (
                    "requireMaster", "masterOnly", [:], asKim,
                    "Validation failed. Master key is required to complete this request."
                ),
                ("20 validateMasterKey", "strict", [:], .master, "Validation failed. Please specify data for foo."),
                ("20 fulfilled", "strict", ["foo": 1], .master, nil),
                ("21 roles", "role", [:], asLee, "Validation failed. User does not match the required roles."),
                ("21 no user", "role", [:], .anonymous, login), ("22 role inheritance", "role", [:], asKim, nil),
                (
                    "all roles", "allRoles", [:], asKim,
                    "Validation failed. User does not match all the required roles."
                ),
                (
                    "each of several allRoles counts", "twiceAll", [:], asKim,
                    "Validation failed. User does not match all the required roles."
                ),
                (
                    "each of several anyRole counts", "twiceAny", [:], asKim,
                    "Validation failed. User does not match the required roles."
                ), ("several, all of which hold", "twiceHeld", [:], asKim, nil),
                (
                    "23 type", "number", ["n": "1"], .anonymous,
                    "Validation failed. Invalid type for n. Expected: number"
                ),
                ("23 fulfilled", "number", ["n": 1], .anonymous, nil), ("23 absent", "number", [:], .anonymous, nil),
                (
                    "24 options", "options", ["o": "c"], .anonymous,
                    "Validation failed. Invalid option for o. Expected: a, b"
                ),
                ("24 own text", "ownText", ["o": "c"], .anonymous, "Take a."),
                ("26 userKeys no user", "keys", [:], .anonymous, "Please login to make this request."),
                ("userKeys", "keys", [:], asKim, "Validation failed. Please set data for phone on your account."),
            ]
            for (name, function, params, identity, error) in scenarios {
                let answer = try await server.call(function, params, as: identity)
                if let error {
                    #expect(answer.code == 142, "\(name): \(answer.text)")
                    #expect(answer.error == error, "\(name)")
                } else {
                    #expect(answer["result"] == "ran", "\(name): \(answer.text)")
                }
            }
            #expect(try await server.call("default")["result"] == ["d": 5])
            #expect(try await server.call("default", ["d": 6])["result"] == ["d": 6])
        }
    }

    @Test("Times out slow calls with 124, even if the code ignores cancellation")
    func timeLimit() async throws {
        try await CloudServer { cloud in
            cloud.timeLimit = .milliseconds(100)
            cloud.define("slow") { _ in try await Task.sleep(for: .seconds(90)) }
            cloud.define("deaf") { _ in
                await Task.detached { try? await Task.sleep(for: .seconds(90)) }.value
            }
            cloud.define("quick") { _ in 1 }
        }.run { server in
            let start = ContinuousClock.now
            for name in ["slow", "deaf"] {
                let answer = try await server.call(name)
                #expect(answer.code == 124)
                #expect(answer.error == "Cloud code timed out.")
            }
            #expect(ContinuousClock.now - start < .seconds(80))
            #expect(try await server.call("quick")["result"] == 1)
        }
    }

    private static let hostileParams: [JSONValue] = [
        ["a": ["__type": "Date", "iso": "x"]], ["a": ["__op": "Delete"]], ["__proto__": 1], ["": ""],
    ]

    @Test("Passes hostile parameters to the code unchanged or rejects them", arguments: hostileParams)
    func hostile(params: JSONValue) async throws {
        try await CloudServer([:], Self.register).run { server in
            let answer = try await server.call("echo", params)
            #expect(answer.status == 200 || answer.code != nil, "\(answer.text)")
            if answer.status == 200 { #expect(same(answer["result"], params)) }
        }
    }
}
