import JSON
import TestSupport
import Testing

/// Messages of live-query clients, and the server's responses.
@Suite struct LiveQueryProtocolTests {
    private static let options = TestServer.publishing("Song")

    @Test("A client connects, subscribes, updates and unsubscribes, and every response contains its ids")
    func course() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery { client in
                let id = try await client.connect(["installationId": "i1"])
                #expect(id.utf8.count == 36)
                let named: JSONObject = ["clientId": .string(id), "installationId": "i1", "requestId": 1]
                func answer(_ operation: String) -> JSONObject {
                    (["op": .string(operation)] as JSONObject).merging(named) { $1 }
                }
                #expect(try await client.subscribe(1, "Song") == answer("subscribed"))
                #expect(
                    try await client.subscribe(1, "Song", ["where": ["plays": 2]], operation: "update")
                        == answer("subscribed"))
                _ = try await server.create("Song", ["plays": 1])
                let song = try await server.create("Song", ["plays": 2])
                let event = try await client.next()
                #expect(event["op"] == "create" && event["object"]?["objectId"]?.stringValue == song)
                #expect(event["clientId"]?.stringValue == id && event["installationId"] == "i1")
                #expect(event["requestId"] == 1)
                try await client.send(["op": "unsubscribe", "requestId": 1])
                #expect(try await client.next() == answer("unsubscribed"))
                _ = try await server.create("Song", ["plays": 2])
                // Events of earlier saves may follow the subscription.
                _ = try await client.subscribe(2, "Song", ["where": ["plays": 3]])
                _ = try await server.create("Song", ["plays": 3])
                let last = try await client.next()
                #expect(last["requestId"] == 2 && last["object"]?["plays"] == 3, "\(last.text)")
            }
        }
    }

    @Test("Answers protocol errors with their codes and keeps the connection open")
    func errors() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery { client in
                func error(_ text: String, _ code: JSONValue, _ reconnect: JSONValue? = true) async throws {
                    try await client.send(text: text)
                    let answer = try await client.next()
                    #expect(
                        answer["op"] == "error" && answer["code"] == code && answer["reconnect"] == reconnect,
                        "\(text): \(answer.text)")
                    #expect(answer["error"]?.stringValue?.isEmpty == false)
                }
                try await error("no JSON", 1)
                try await error("[]", 1)
                try await error("{}", 1)
                try await error(#"{"op":"connect"}"#, 1)
                try await error(#"{"op":"dance"}"#, 3)
                try await error(#"{"op":"unsubscribe","requestId":1}"#, 2)
                try await error(#"{"op":"update","requestId":1,"query":{"className":"Song"}}"#, 2)
                try await error(#"{"op":"connect","applicationId":"another"}"#, 4, false)
                try await error(#"{"op":"connect","applicationId":5}"#, 1)
                try await error(#"{"op":"connect","applicationId":"a","installationId":5}"#, 1)
                try await error(#"{"op":"connect","applicationId":"a","sessionToken":{}}"#, 1)
                try await client.connect()
                try await error(#"{"op":"subscribe","query":{"className":"Song"}}"#, 1)
                try await error(#"{"op":"subscribe","requestId":1,"query":{}}"#, 1)
                try await error(#"{"op":"subscribe","requestId":1,"query":{"className":"Song","where":7}}"#, 102, false)
                try await error(
                    #"{"op":"subscribe","requestId":1,"query":{"className":"Song","where":{"a":{"$dance":1}}}}"#, 102,
                    false)
                // Errors about unsupported queries neither close the connection nor suggest reconnecting.
                let subquery = #"{"$inQuery":{"where":{},"className":"Song"}}"#
                try await error(
                    #"{"op":"subscribe","requestId":1,"query":{"className":"Song","where":{"a":\#(subquery)}}}"#, 102,
                    nil)
                try await error(
                    #"{"op":"subscribe","requestId":1,"sessionToken":[],"query":{"className":"Song"}}"#, 1)
                try await error(#"{"op":"subscribe","requestId":"1","query":{"className":"Song"}}"#, 1)
                try await error(
                    #"{"op":"subscribe","requestId":1,"query":{"className":"Song","watch":["a",1]}}"#, 102, false)
                try await error(
                    #"{"op":"subscribe","requestId":1,"query":{"className":"Song","keys":"a"}}"#, 102, false)
                try await error(#"{"op":"unsubscribe","requestId":9}"#, 2)
                // Unknown members are ignored.
                try await client.send(
                    text: #"{"op":"subscribe","requestId":1,"query":{"className":"Song","where":{},"order":"a"},"x":1}"#
                )
                #expect(try await client.next()["op"] == "subscribed")
            }
        }
    }

    @Test("A subscription sent before connect takes effect then; the same requestId replaces it")
    func early() async throws {
        try await TestServer.run(Self.options) { server in
            try await server.liveQuery { client in
                let subscription: JSONObject = [
                    "op": "subscribe", "requestId": 1, "query": ["className": "Song", "where": ["plays": 1]],
                ]
                try await client.send(subscription)
                try await client.connect()
                #expect(try await client.next()["op"] == "subscribed")
                try await client.send(subscription)
                #expect(try await client.next()["op"] == "subscribed")
                _ = try await server.create("Song", ["plays": 1])
                _ = try await server.create("Song", ["plays": 1, "last": true])
                // One event each, although the subscription was sent several times.
                #expect(try await client.next(2).map { $0["object"]?["last"] } == [nil, true])
            }
        }
    }

    @Test(
        "With keyPairs, a client needs one of them, and the master key has full access only if listed",
        arguments: [
            (["clientKey": "ck"], ["clientKey": "ck"], true, false),
            (["clientKey": "ck"], ["clientKey": "other"], false, false),
            (["clientKey": "ck"], ["javascriptKey": "ck"], false, false),
            (["clientKey": "ck"], [:], false, false),
            (["clientKey": "ck"], ["masterKey": "testMaster"], false, false),
            ([:], ["masterKey": "testMaster"], true, false),
            (["masterKey": "testMaster"], ["masterKey": "testMaster"], true, true),
            (["masterKey": "testMaster", "clientKey": "ck"], ["clientKey": "ck"], true, false),
        ] as [(JSONObject, JSONObject, Bool, Bool)])
    func keys(pairs: JSONObject, sent: JSONObject, isAdmitted: Bool, isMaster: Bool) async throws {
        var options = Self.options
        options["liveQueryServerOptions"] = ["keyPairs": .object(pairs)]
        try await TestServer.run(options) { server in
            try await server.liveQuery { client in
                var message: JSONObject = ["op": "connect", "applicationId": .string(TestServer.applicationID)]
                message.merge(sent) { $1 }
                try await client.send(message)
                let answer = try await client.next()
                #expect(answer["op"] == (isAdmitted ? "connected" : "error"), "\(answer.text)")
                guard isAdmitted else {
                    #expect(answer["code"] == 4 && answer["error"] == "Key in request is not valid")
                    return
                }
                _ = try await client.subscribe(1, "Song")
                _ = try await server.create("Song", ["ACL": [:], "a": 1], as: .master)
                _ = try await server.create("Song", ["a": 2])
                let seen = try await client.next()["object"]?["a"]
                #expect(seen == (isMaster ? 1 : 2))
            }
        }
    }

    @Test("Accepts connections on any path, and on none if startLiveQueryServer is false")
    func paths() async throws {
        try await TestServer.run(Self.options) { server in
            for path in ["/", "/parse", "/parse/", "/live"] {
                try await server.liveQuery(path: path) { client in _ = try await client.connect() }
            }
        }
        try await TestServer.run(["liveQuery": ["classNames": ["Song"]]]) { server in
            try await server.liveQuery { client in _ = try await client.connect() }
        }
        try await TestServer.run(["liveQuery": ["classNames": ["Song"]], "startLiveQueryServer": false]) { server in
            _ = await #expect(throws: (any Error).self) {
                try await server.liveQuery { client in _ = try await client.connect() }
            }
        }
    }

    @Test("Disconnects a client that doesn't answer pings, and keeps one that does")
    func pings() async throws {
        var options = Self.options
        options["liveQueryServerOptions"] = ["websocketTimeout": 5000]
        try await TestServer.run(options) { server in
            try await server.liveQuery(answersPings: false) { client in
                try await client.connect()
                #expect(try await client.isClosed())
            }
            try await server.liveQuery { client in
                try await client.connect()
                #expect(try await eventually { client.pings == 3 })
                #expect(try await client.subscribe(1, "Song")["op"] == "subscribed")
            }
        }
    }
}
