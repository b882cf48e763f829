import JSON
import TestSupport
import Testing

/// The format of webhook calls, and the treatment of their responses.
@Suite struct WebhookTests {
    @Test("A call contains the webhook key, the caller and the client's headers, but no master key or cookie")
    func members() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run(["webhookKey": "open sesame"]) { server in
                try await hooks.function("f", on: server) { _ in .success(1) }
                _ = try await server.send(
                    "POST", "/functions/f", ["a": .date("2016-05-22T09:00:00.000Z")], as: .master,
                    headers: ["Cookie": "c=1", "X-Own": "own"])
                let call = try #require(hooks.calls.first)
                #expect(call.headers["content-type"] == "application/json")
                #expect(call.headers["x-parse-webhook-key"] == "open sesame")
                #expect(call["functionName"] == "f")
                #expect(call["params"] == ["a": .date("2016-05-22T09:00:00.000Z")])
                #expect(call["master"] == true)
                #expect(call["isReadOnly"] == false)
                #expect(call["context"] == [:])
                let told = try #require(call["headers"]?.objectValue)
                #expect(told["x-own"] == "own")
                #expect(told["x-parse-application-id"] == .string(TestServer.applicationID))
                for secret in ["x-parse-master-key", "cookie", "authorization"] as [Name] {
                    #expect(told[secret] == nil)
                }
            }
        }
    }

    @Test("Returns a webhook error's code and message as given, and other error values as text")
    func errors() async throws {
        let cases: [(error: JSONValue, answer: JSONValue)] = [
            (["code": 141], ["code": 141]), (["code": 1337], ["code": 1337]),
            (["code": 1337, "message": .null], ["code": 1337]),
            (["code": 1337, "message": ""], ["code": 1337, "error": ""]),
            (["code": 1337, "message": "x"], ["code": 1337, "error": "x"]),
            (["message": "x"], ["code": 141, "error": "x"]), ("x", ["code": 141, "error": "x"]),
            (5, ["code": 141, "error": "5"]), (["x": 1], ["code": 141, "error": "{\"x\":1}"]),
        ]
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                for (index, one) in cases.enumerated() {
                    try await hooks.function("f\(index)", on: server) { _ in .error(one.error) }
                    let answer = try await server.send("POST", "/functions/f\(index)", [:])
                    #expect(answer.status == 400 && answer.json == one.answer, "\(answer.text)")
                }
                try await hooks.trigger("beforeSave", "Song", on: server) { _ in .error(["code": 141]) }
                #expect(try await server.send("POST", "/classes/Song", [:]).json == ["code": 141])
                let call: JSONValue = ["method": "POST", "path": "/parse/classes/Song"]
                let batch = try await server.send("POST", "/batch", ["requests": [call]])
                #expect(batch.json == [["error": ["code": 141]]], "\(batch.text)")
            }
        }
    }

    @Test("Reuses its connection for later calls")
    func keptConnections() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { _ in .success(1) }
                for _ in 1...5 { _ = try await server.send("POST", "/functions/f", [:]).succeeded() }
                #expect(Set(hooks.calls.map(\.connection)).count == 1)
            }
        }
    }

    @Test("Sends the credentials in a webhook's URL as Basic authentication")
    func userInformation() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                hooks.on("f") { _ in .success(1) }
                let url = hooks.url("f").replacing("http://", with: "http://kim:s%40cret@")
                _ = try await server.send(
                    "POST", "/hooks/functions", ["functionName": "f", "url": .string(url)], as: .master
                ).succeeded()
                #expect(try await server.send("POST", "/functions/f", [:])["result"] == 1)
                // kim:s@cret
                #expect(hooks.calls.first?.headers["authorization"] == "Basic a2ltOnNAY3JldA==")
            }
        }
    }

    @Test("Calls HTTPS webhooks only if their certificates are trusted")
    func encrypted() async throws {
        let answer: IdentityStandIn.Answer = { request in
            .init(["success": .string("\(request.method) \(request.host) \(request.path)")])
        }
        try await IdentityStandIn.run(answer) { internet in
            for isTrusted in [true, false] {
                var options = internet.options
                if !isTrusted { options["trustedCertificates"] = nil }
                try await TestServer.run(options) { server in
                    _ = try await server.send(
                        "POST", "/hooks/functions", ["functionName": "f", "url": "https://hooks.example/f?a=1"],
                        as: .master
                    ).succeeded()
                    let answer = try await server.send("POST", "/functions/f", [:])
                    let expected: JSONValue =
                        isTrusted
                        ? ["result": "POST hooks.example /f?a=1"]
                        : ["code": 141, "error": "Webhook could not be called."]
                    #expect(answer.json == expected)
                }
            }
        }
    }

    @Test("Survives webhooks with ports above 65535", arguments: ["127.0.0.1", "[::1]", "localhost"])
    func largePorts(_ host: String) async throws {
        try await TestServer.run { server in
            let url = JSONValue.string("http://\(host):65536/")
            _ = try await server.send("POST", "/hooks/functions", ["functionName": "f", "url": url], as: .master)
                .succeeded()
            let answer = try await server.send("POST", "/functions/f", [:])
            #expect(answer.json == ["code": 141, "error": "Webhook could not be reached."])
        }
    }

    /// Responses of a webhook, and the resulting responses of its function.
    private static let answers: [(name: String, answer: WebhookServer.Answer, expected: JSONValue)] = [
        ("invalid JSON", .text("hello"), ["code": 141, "error": "Malformed response"]),
        ("a truncated object", .text("{\"success\":1"), ["code": 141, "error": "Malformed response"]),
        ("a JSON string", .text("\"abc\""), ["code": 141, "error": "Malformed response"]),
        ("a number", .text("5"), ["code": 141, "error": "Malformed response"]),
        ("nothing", .text(""), [:]), ("null", .text("null"), [:]), ("false", .text("false"), [:]),
        ("a list", .text("[1]"), [:]), ("status 204", .text("", status: 204), [:]),
        ("status 201", .text("{\"success\":1}", status: 201), ["result": 1]),
        ("an error as text", .error("no"), ["code": 141, "error": "no"]),
        ("an empty error", .error(""), [:]),
        ("an error with a code", .error(["code": 1337, "error": "x"]), ["code": 1337, "error": "x"]),
        ("an error with a message", .error(["code": 1337, "message": "x"]), ["code": 1337, "error": "x"]),
        ("an error without a code", .error(["message": "x"]), ["code": 141, "error": "x"]),
        ("an error as an array", .error([1]), ["code": 141, "error": "[1]"]),
        ("a success and an error", .text("{\"success\":1,\"error\":\"no\"}"), ["code": 141, "error": "no"]),
        (
            "status 500", .text("oh no", status: 500),
            ["code": 141, "error": "Webhook responded with status 500."]
        ),
        ("status 400 with an error", .text("{\"error\":\"why\"}", status: 400), ["code": 141, "error": "why"]),
        (
            "a redirect", .text("", status: 302, headers: [("Location", "http://169.254.169.254/")]),
            ["code": 141, "error": "Webhook responded with status 302."]
        ),
        (
            "a redirect with a success", .text("{\"success\":1}", status: 307),
            ["code": 141, "error": "Webhook responded with status 307."]
        ),
        (
            "a closed connection", .close,
            ["code": 141, "error": "Webhook closed the connection without a response."]
        ),
        (
            "a truncated response", .closeInTheMiddle,
            ["code": 141, "error": "Webhook closed the connection without a response."]
        ),
    ]

    @Test("A webhook's response determines its caller's response")
    func meanings() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.function("f", on: server) { _ in .nothing }
                for (name, answer, expected) in Self.answers {
                    hooks.on("f") { _ in answer }
                    #expect(try await server.send("POST", "/functions/f", [:]).json == expected, "\(name)")
                }
            }
        }
    }

    @Test(
        "Reports unreachable webhooks and invalid URLs without revealing the URL",
        arguments: [
            ("http://127.0.0.1:9/f", "Webhook could not be reached."),
            ("http://nosuch.invalid/f", "Webhook could not be reached."),
            ("ftp://127.0.0.1/f", "The webhook's URL must begin with http:// or https://."),
            ("nothing", "The webhook's URL must begin with http:// or https://."),
            ("http://", "The webhook's URL has no host."),
        ])
    func unreachable(url: String, text: String) async throws {
        try await TestServer.run { server in
            _ = try await server.send(
                "POST", "/hooks/functions", ["functionName": "f", "url": .string(url)], as: .master
            ).succeeded()
            let answer = try await server.send("POST", "/functions/f", [:])
            #expect(answer.status == 400)
            #expect(answer.json == ["code": 141, "error": .string(text)])
        }
    }

    @Test("Metrics distinguish unreachable webhooks from failing ones")
    func measured() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.runMeasured { server, port in
                try await hooks.function("failing", on: server) { _ in .error("broken") }
                let closed = try await FreePort.find()
                _ = try await server.send(
                    "POST", "/hooks/functions",
                    ["functionName": "absent", "url": .string("http://127.0.0.1:\(closed)/absent")], as: .master
                ).succeeded()
                for name in ["failing", "absent", "absent"] {
                    _ = try await server.send("POST", "/functions/\(name)", [:])
                }
                let samples = try await TestServer.metrics(at: port)
                func count(_ result: String) -> Double? {
                    samples[
                        "roost_cloud_call_duration_seconds_count{kind=\"function\",host=\"webhook\",result=\"\(result)\"}"
                    ]
                }
                #expect(count("error") == 1)
                #expect(count("unreachable") == 2)
            }
        }
    }

    /// Responses of a beforeSave webhook, and the stored fields of `{"a": 1}`.
    private static let writes: [(name: String, answer: WebhookServer.Answer, stored: JSONObject)] = [
        ("an empty object", .success([:]), [:]), ("null", .success(.null), ["a": 1]),
        ("true", .success(true), ["a": 1]), ("a number", .success(5), ["a": 1]),
        ("a list", .success(["a"]), ["a": 1]), ("nothing", .nothing, ["a": 1]),
        ("other fields", .success(["b": 2]), ["b": 2]),
        ("an id", .success(["a": 1, "objectId": "chosen"]), ["a": 1]),
        ("another class name", .success(["a": 1, "className": "Other"]), ["a": 1]),
        ("an operation", .success(["a": .increment(3)]), ["a": 3]),
        ("a removed field", .success(["a": ["__op": "Delete"], "b": 1]), ["b": 1]),
    ]

    @Test("Stores the object that a beforeSave webhook returns")
    func beforeSave() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                try await hooks.trigger("beforeSave", "Song", on: server) { _ in .nothing }
                for (name, answer, expected) in Self.writes {
                    hooks.on("Song.beforeSave") { _ in answer }
                    let id = try await server.create("Song", ["a": 1])
                    #expect(id != "chosen")
                    var stored = try await server.send("GET", "/classes/Song/\(id)").json.objectValue ?? [:]
                    for key in ["objectId", "createdAt", "updatedAt"] as [Name] { stored[key] = nil }
                    #expect(same(.object(stored), .object(expected)), "\(name)")
                }
                hooks.on("Song.beforeSave") { _ in .success(["_hashed_password": 1]) }
                #expect(try await server.send("POST", "/classes/Song", ["a": 1]).code == 105)
            }
        }
    }

    @Test("Doesn't write fields that beforeSave returns unchanged, so concurrent changes survive")
    func lostUpdates() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let id = try await server.create("Song", ["a": 1, "n": 1])
                try await hooks.trigger("beforeSave", "Song", on: server) { call in
                    if call["object"]?["a"] == 2 {
                        _ = try await server.send("PUT", "/classes/Song/\(id)", ["n": 5], as: .master)
                    }
                    return .success(call["object"] ?? .null)
                }
                let answer = try await server.send("PUT", "/classes/Song/\(id)", ["a": 2])
                #expect(answer["n"] == 1)
                let stored = try await server.send("GET", "/classes/Song/\(id)")
                #expect(stored["a"] == 2)
                #expect(stored["n"] == 5)
            }
        }
    }

    @Test("Rejects a save if the caller loses access or the object is deleted during its trigger")
    func changedUnderTheTrigger() async throws {
        try await WebhookServer.run { hooks in
            try await TestServer.run { server in
                let locked = try await server.create("Song", ["a": 1])
                let gone = try await server.create("Song", ["a": 1])
                try await hooks.trigger("beforeSave", "Song", on: server) { call in
                    guard call["master"] == false, let id = call["object"]?["objectId"]?.stringValue else {
                        return .nothing
                    }
                    if id == locked {
                        _ = try await server.send("PUT", "/classes/Song/\(id)", ["ACL": [:]], as: .master)
                    } else {
                        _ = try await server.send("DELETE", "/classes/Song/\(id)", as: .master)
                    }
                    return .nothing
                }
                for id in [locked, gone] {
                    let answer = try await server.send("PUT", "/classes/Song/\(id)", ["a": 2])
                    #expect(answer.json == ["code": 101, "error": "Object not found."])
                }
                #expect(try await server.send("GET", "/classes/Song/\(locked)", as: .master)["a"] == 1)
            }
        }
    }
}
