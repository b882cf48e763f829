import Foundation
import Roost
import TestSupport
import Testing

@Suite struct FunctionScenarioTests {
    private struct WithDate: Decodable { let d: Date }

    @Test("Functions decode parameters, set codes, statuses and headers, and get no keys")
    func functions() async throws {
        try await CloudServer { cloud in
            cloud.define("echo") { $0.params }
            cloud.define("dateIn") { (request: FunctionRequest<WithDate>) in request.params.d.timeIntervalSince1970 }
            cloud.define("negative") { _ in throw ParseError(-42, "odd") }
            cloud.define("teapot") { _ in try FunctionAnswer("short", status: 418, headers: [("X-Stout", "yes")]) }
            cloud.define("who") { request in
                [
                    "keys": JSONValue.bool(request.details.headers["x-parse-master-key"] != nil),
                    "function": JSONValue.string(request.functionName),
                ]
            }
        }.run { server in
            let date: JSONValue = ["__type": "Date", "iso": "1970-01-01T00:00:01.000Z"]
            let scenarios: [(name: String, function: String, params: JSONValue, status: Int, answer: JSONValue)] = [
                ("gets a date", "dateIn", ["d": date], 200, ["result": 1]),
                (
                    "invalid date", "dateIn", ["d": 1], 400,
                    ["code": 142, "error": "Validation failed. Invalid value for d."]
                ),
                (
                    "missing date", "dateIn", [:], 400,
                    ["code": 142, "error": "Validation failed. Please specify data for d."]
                ),
                ("negative code", "negative", [:], 400, ["code": -42, "error": "odd"]),
                ("custom status", "teapot", [:], 418, ["result": "short"]),
            ]
            for scenario in scenarios {
                let answer = try await server.call(scenario.function, scenario.params)
                #expect(answer.status == scenario.status, "\(scenario.name): \(answer.text)")
                #expect(same(answer.json, scenario.answer), "\(scenario.name): \(answer.text)")
            }
            #expect(try await server.call("teapot").headers["x-stout"] == "yes")
            let master = try await server.call("who", as: .master)
            #expect(same(master["result"], ["keys": false, "function": "who"]), "\(master.text)")
            for params in Self.hostileParams {
                let answer = try await server.call("echo", params)
                #expect(answer.status == 200 || answer.code != nil, "\(answer.text)")
                if answer.status == 200 { #expect(same(answer["result"], params)) }
            }
        }
    }

    private static let hostileParams: [JSONValue] = [
        ["a": ["__type": "Date", "iso": "x"]], ["a": ["__op": "Delete"]], ["__proto__": 1], ["": ""],
    ]

    @Test("Requires roles, each of several requirements, the master key, and fields with defaults and own errors")
    func checks() async throws {
        try await CloudServer { cloud in
            cloud.define("masterOnly", requires: .master) { _ in "ran" }
            cloud.define("allRoles", requires: .allRoles("A", "C")) { _ in "ran" }
            cloud.define("twiceAll", requires: [.allRoles("C"), .allRoles("A")]) { _ in "ran" }
            cloud.define("twiceAny", requires: [.anyRole("C", "D"), .anyRole("A", "B")]) { _ in "ran" }
            cloud.define("twiceHeld", requires: [.anyRole("C", "B"), .anyRole("A"), .allRoles("B")]) { _ in "ran" }
            cloud.define("ownText", requires: .field("o", options: ["a"], error: "Take a.")) { _ in "ran" }
            cloud.define("default", requires: .field("d", default: 5)) { $0.params }
        }.run { server in
            let kim = try await server.signUp("kim")
            func role(_ name: String, _ members: String, _ objects: [JSONValue]) async throws -> String {
                var role: JSONObject = ["name": .string(name), "ACL": ["*": ["read": true]]]
                role[members] = .operation("AddRelation", objects)
                return try await server.create("_Role", role, as: .master)
            }
            // Members of B inherit A.
            let inner = try await role("B", "users", [.pointer("_User", kim.id)])
            _ = try await role("A", "roles", [.pointer("_Role", inner)])
            let scenarios: [(String, JSONValue, error: String?)] = [
                ("masterOnly", [:], "Validation failed. Master key is required to complete this request."),
                ("allRoles", [:], "Validation failed. User does not match all the required roles."),
                ("twiceAll", [:], "Validation failed. User does not match all the required roles."),
                ("twiceAny", [:], "Validation failed. User does not match the required roles."),
                ("twiceHeld", [:], nil), ("ownText", ["o": "c"], "Take a."),
            ]
            for (function, params, error) in scenarios {
                let answer = try await server.call(function, params, as: .session(kim.token))
                if let error {
                    #expect(answer.code == 142, "\(function): \(answer.text)")
                    #expect(answer.error == error, "\(function)")
                } else {
                    #expect(answer["result"] == "ran", "\(function): \(answer.text)")
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
}
