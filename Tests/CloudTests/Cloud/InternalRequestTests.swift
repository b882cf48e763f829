import App
import CloudCode
import JSON
import Synchronization
import TestSupport
import Testing

/// Requests of in-process cloud code to its own server.
@Suite struct InternalRequestTests {
    private final class Code: CloudHost {
        let kind = CloudHostKind.swift
        private let services = Mutex<CloudServices?>(nil)
        private let registrations: [CloudRegistration]
        private let body: @Sendable (CloudCall, CloudServices) async throws -> CloudResult

        init(
            _ targets: [CloudTarget], _ body: @escaping @Sendable (CloudCall, CloudServices) async throws -> CloudResult
        ) {
            registrations = targets.map { CloudRegistration($0) }
            self.body = body
        }

        func start(_ services: CloudServices) async throws {
            self.services.withLock { $0 = services }
            services.offer(registrations)
        }

        func call(_ call: CloudCall) async throws -> CloudResult {
            guard let services = services.withLock({ $0 }) else { return CloudResult() }
            return try await body(call, services)
        }

        func extensions() -> ServerExtensions {
            var extensions = ServerExtensions()
            extensions.cloudHosts = [self]
            return extensions
        }
    }

    private static func result(_ reply: InternalReply) -> CloudResult {
        CloudResult(
            value: ["status": .number(Double(reply.status)), "body": (try? JSONValue(parsing: reply.body)) ?? .null])
    }

    @Test("Requests of cloud code bypass keys, rate limits and routeAllowList, and state their authority")
    func authorities() async throws {
        let code = Code([.function("ask")]) { call, services in
            let authority: InternalRequest.Authority =
                switch call.params["as"] {
                case "master": .master
                case "user": .session(call.caller.sessionToken ?? "")
                case "sent": .asSent
                default: .anonymous
                }
            let key = call.params["key"]?.stringValue.map { [(name: "X-Parse-Master-Key", value: $0)] } ?? []
            return Self.result(
                await services.perform(
                    InternalRequest(
                        "GET", "/classes/Secret", headers: key, authority: authority, parent: .init(call))))
        }
        let options: JSONObject = [
            "routeAllowList": ["functions/ask", "classes/Open", "users"],
            "rateLimit": [
                [
                    "requestPath": "/classes/Secret", "requestTimeWindow": 60_000, "requestCount": 1,
                    "errorResponseMessage": "x", "includeInternalRequests": true,
                ]
            ],
        ]
        try await TestServer.run(options, extensions: code.extensions()) { server in
            let kim = try await server.signUp("kim")
            _ = try await server.create(
                "Secret", ["of": "kim", "ACL": [Name(kim.id): ["read": true]]], as: .master)
            func count(_ params: JSONValue, as identity: TestServer.Identity = .anonymous) async throws -> Int? {
                let answer = try await server.send("POST", "/functions/ask", params, as: identity)
                #expect(answer["result"]?["status"] == 200, "\(answer.text)")
                return answer["result"]?["body"]?["results"]?.arrayValue?.count
            }
            #expect(try await server.send("GET", "/classes/Secret").code == 119)
            #expect(try await count([:], as: .session(kim.token)) == 0)
            #expect(try await count(["as": "user"], as: .session(kim.token)) == 1)
            #expect(try await count(["as": "master"]) == 1)
            #expect(try await count(["as": "sent"]) == 0)
            #expect(try await count(["as": "sent", "key": "wrong"]) == 0)
            #expect(try await count(["as": "sent", "key": .string(TestServer.masterKey)]) == 1)
        }
    }

    @Test("Requests of cloud code get the same error responses as a client's")
    func errors() async throws {
        let code = Code([.function("ask")]) { call, services in
            Self.result(
                await services.perform(
                    InternalRequest(
                        call.params["method"]?.stringValue ?? "", call.params["path"]?.stringValue ?? "",
                        body: call.params["body"]?.objectValue ?? [:])))
        }
        try await TestServer.run(extensions: code.extensions()) { server in
            let cases: [(String, String, JSONValue, JSONValue, JSONValue)] = [
                ("GET", "/classes/Song/nobody", [:], 404, ["code": 101, "error": "Object not found."]),
                ("POST", "/classes/Song", ["_method": "GET"], 200, ["results": []]),
                ("GET", "/nosuch", [:], 404, .null), ("BREW", "/classes/Song", [:], 404, .null),
                ("GET", "nothing", [:], 404, .null), ("GET", "/schemas", [:], 403, .null),
                ("GET", "/classes/%zz", [:], 400, ["error": "Failed to decode param '%zz'"]),
                ("GET", "/classes/Song?where=%00", [:], 400, ["error": "NUL characters are not allowed."]),
            ]
            for (method, path, body, status, expected) in cases {
                let answer = try await server.send(
                    "POST", "/functions/ask", ["method": .string(method), "path": .string(path), "body": body])
                #expect(answer["result"]?["status"] == status, "\(method) \(path) \(answer.text)")
                if !expected.isNull { #expect(answer["result"]?["body"] == expected) }
            }
        }
    }

    @Test("Bodies sent by cloud code have a client's limits and are stored like a client's")
    func bodies() async throws {
        let sent: [Name: JSONObject] = [
            "nan": ["n": .number(.nan)], "nul": ["t": "a\0b"],
            "large": ["t": .string(String(repeating: "x", count: 10_240))],
            "fits": ["t": .string(String(repeating: "\n", count: 4_000))],
        ]
        let code = Code([.function("ask")]) { call, services in
            let body = call.params["body"]?.nameValue.flatMap { sent[$0] } ?? [:]
            return Self.result(await services.perform(InternalRequest("POST", "/classes/Song", body: body)))
        }
        try await TestServer.run(["maxUploadSize": "10kb"], extensions: code.extensions()) { server in
            func ask(_ name: JSONValue) async throws -> JSONValue {
                try await server.send("POST", "/functions/ask", ["body": name])["result"] ?? .null
            }
            let nul = try await ask("nul")
            #expect(nul == ["status": 400, "body": ["error": "NUL characters are not allowed."]])
            let large = try await ask("large")
            #expect(large == ["status": 413, "body": ["error": "request entity too large"]])
            let fits = try await ask("fits")
            #expect(fits["status"] == 201, "\(fits)")
            let nan = try await ask("nan")
            #expect(nan["status"] == 201, "\(nan)")
            let numbers = try await server.find("Song", ["where": ["n": ["$exists": true]]])
            #expect(numbers.results.isEmpty, "\(numbers.text)")
        }
    }

    @Test("Nested saves carry the client's address and headers, and stop at a depth of 16")
    func recursion() async throws {
        let seen = Mutex<[CloudCall]>([])
        let code = Code([.trigger(.beforeSave, "Echo")]) { call, services in
            seen.withLock { $0.append(call) }
            let reply = await services.perform(
                InternalRequest(
                    "POST", "/classes/Echo", authority: .anonymous,
                    context: ["from": .number(Double(call.depth))], parent: .init(call)))
            guard reply.status == 201 else {
                throw CloudFailure((try? JSONValue(parsing: reply.body))?["error"]?.stringValue)
            }
            return CloudResult()
        }
        try await TestServer.run(extensions: code.extensions()) { server in
            let answer = try await server.send("POST", "/classes/Echo", [:], headers: ["X-Own": "own"])
            #expect(answer.json == ["code": 141, "error": "Trigger recursion is too deep."])
            let calls = seen.withLock { $0 }
            #expect(calls.map(\.depth) == Array(1...16))
            #expect(calls.allSatisfy { $0.headers["x-own"] == "own" && $0.ip == "127.0.0.1" })
            #expect(calls.dropFirst().allSatisfy { $0.caller.installationId == "cloud" })
            #expect(calls[1].context == ["from": 1])
        }
    }

    @Test(
        "Every trigger and function call carries the record of its request's user, and of no other",
        arguments: [1, 20_000])
    func users(size: Int) async throws {
        let seen = Mutex<[CloudCall]>([])
        let events: [CloudEvent] = [.beforeSave, .afterSave, .beforeFind, .afterFind, .beforeDelete, .afterDelete]
        let targets = events.map { CloudTarget.trigger($0, "Song") } + [.trigger(.afterLogin, "_User"), .function("f")]
        let code = Code(targets) { call, _ in
            seen.withLock { $0.append(call) }
            return CloudResult()
        }
        try await TestServer.run(extensions: code.extensions()) { server in
            let notes = String(repeating: "x", count: size)
            let kim = try await server.signUp("kim", password: "p", ["notes": .string(notes)])
            let lou = try await server.signUp("lou")
            seen.withLock { $0 = [] }
            let id = try await server.create("Song", [:], as: .session(kim.token))
            _ = try await server.send("GET", "/classes/Song/\(id)", as: .session(kim.token)).succeeded()
            _ = try await server.send("POST", "/functions/f", [:], as: .session(kim.token)).succeeded()
            _ = try await server.send("DELETE", "/classes/Song/\(id)", as: .session(kim.token)).succeeded()
            let ofKim = seen.withLock { $0 }
            // A deletion includes a find.
            #expect(ofKim.count == 9, "\(ofKim.map(\.target))")
            for call in ofKim {
                #expect(call.caller.user?["objectId"] == .string(kim.id))
                #expect(call.caller.user?["notes"]?.stringValue?.utf8.count == size)
                #expect(call.caller.user?["sessionToken"] == .string(kim.token))
            }
            seen.withLock { $0 = [] }
            _ = try await server.send("POST", "/login", ["username": "kim", "password": "p"], as: .session(lou.token))
                .succeeded()
            _ = try await server.create("Song", [:])
            let others = seen.withLock { $0.map { ($0.target, $0.caller.user?["objectId"]?.stringValue) } }
            #expect(others.map(\.1) == [kim.id, nil, nil], "\(others)")
        }
    }

    @Test("Triggers of a user's own save get the caller's record from before the save")
    func changedUser() async throws {
        let seen = Mutex<[JSONValue?]>([])
        let code = Code([.trigger(.beforeSave, "_User"), .trigger(.afterSave, "_User")]) { call, _ in
            seen.withLock { $0.append(call.caller.user?["songs"]) }
            return CloudResult()
        }
        try await TestServer.run(extensions: code.extensions()) { server in
            let kim = try await server.signUp("kim", password: "p", ["songs": 1])
            seen.withLock { $0 = [] }
            _ = try await server.send("PUT", "/users/\(kim.id)", ["songs": 2], as: .session(kim.token)).succeeded()
            #expect(seen.withLock { $0 } == [1, 1])
        }
    }

    @Test("Applies operations from beforeSave atomically, and returns reverted fields as stored")
    func operations() async throws {
        let code = Code([.trigger(.beforeSave, "Song")]) { call, _ in
            var result = CloudResult()
            result.write = .operations(["n": ["__op": "Increment", "amount": 1]], reverted: ["fixed"])
            result.context = ["k": 1]
            return result
        }
        try await TestServer.run(extensions: code.extensions()) { server in
            let id = try await server.create("Song", ["n": 5])
            _ = try await server.send("POST", "/classes/Song", ["fixed": 1], as: .master)
            let answer = try await server.send("PUT", "/classes/Song/\(id)", ["a": 1, "n": 10])
            #expect(answer["n"] == 2)
            let fixed = try await server.send("PUT", "/classes/Song/\(id)", ["fixed": 9])
            #expect(fixed["fixed"] == ["__op": "Delete"])
            #expect(try await server.send("GET", "/classes/Song/\(id)")["fixed"] == nil)
        }
    }
}
