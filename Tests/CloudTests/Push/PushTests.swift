import Foundation
import JSON
import Postgres
import TestSupport
import Testing

/// Pushes from request to delivery, with real HTTP/2, TLS, signatures and database.
@Suite struct PushTests {
    @Test("A push reaches each device of its audience once, and its row counts them by type")
    func plain() async throws {
        try await PushFixture.run { server, sink in
            for number in 1...3 { try await PushFixture.device(server, "a\(number)") }
            for number in 1...2 { try await PushFixture.device(server, "g\(number)", "android") }
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "hi", "own": 1]])
            #expect(row["status"] == "succeeded" && row["numSent"] == 5, "\(row.text)")
            #expect(row["sentPerType"]?["ios"] == 3 && row["sentPerType"]?["android"] == 2)
            #expect(row["numFailed"] == nil && row["count"] == nil && row["source"] == "rest")
            #expect(row["payload"] == #"{"alert":"hi","own":1}"# && row["query"] == "{}")
            #expect(row["pushHash"] == "49f68a5c8493ec2c0bf489821c21fc3b")
            #expect(sink.tokens == ["a1", "a2", "a3", "g1", "g2"])
            let apple = try #require(sink.notifications.first { $0.token == "a1" })
            #expect(apple.body == ["own": 1, "aps": ["alert": "hi"]])
            #expect(apple.headers["apns-topic"] == "app.one" && apple.headers["apns-push-type"] == "alert")
            let message = try #require(sink.notifications.first { $0.token == "g1" }).body["message"]
            #expect(message?["android"]?["priority"] == "high")
            #expect(message?["android"]?["data"]?["data"] == #"{"alert":"hi","own":1}"#)
        }
    }

    @Test("Rejects unauthorized callers and invalid pushes with parse-server's errors")
    func refusals() async throws {
        try await PushFixture.run(options: ["readOnlyMasterKey": "readOnly"]) { server, sink in
            let body: JSONValue = ["where": [:], "data": ["alert": "x"]]
            for identity in [TestServer.Identity.nobody, .anonymous, .maintenance] {
                let answer = try await server.send("POST", "/push", body, as: identity)
                #expect(answer.status == 403)
            }
            let reader = try await server.send(
                "POST", "/push", body, as: .anonymous, headers: ["X-Parse-Master-Key": "readOnly"])
            #expect(reader.status == 400 && reader["code"] == 119, "\(reader.text)")
            let cases: [(JSONObject, String)] = [
                (["channels": ["a"]], "Channels and query can not be set at the same time."),
                (["expiration_time": "tomorrow"], "tomorrow is not valid time."),
                (["expiration_time": .null], "null is not valid time."),
                (["expiration_time": ["a", 1]], "a,1 is not valid time."),
                (["expiration_interval": -1], "expiration_interval must be a number greater than 0"),
                (["expiration_interval": "5"], "expiration_interval must be a number greater than 0"),
                (["expiration_interval": 0], "expiration_interval must be a number greater than 0"),
                (
                    ["expiration_interval": 5, "expiration_time": 1_900_000_000],
                    "Both expiration_time and expiration_interval cannot be set"
                ),
                (["push_time": [:]], "[object Object] is not valid time."),
                (
                    ["data": ["badge": "x"]],
                    "Invalid value for badge, expected number or 'Increment' or {increment: number}"
                ),
                (["where": 5], "where must be an object"),
                (
                    ["collapse_id": .string(String(repeating: "x", count: 65))],
                    "collapse_id must be an ASCII string of at most 64 bytes"
                ),
                (["push_type": "a\r\nb: c"], "push_type must be an ASCII string of at most 64 bytes"),
                (["collapseId": "a\r\nb: c"], "collapseId must be an ASCII string of at most 64 bytes"),
                (
                    ["data": ["badge": ["__op": "Increment", "amount": 1e300]]],
                    "Invalid value for badge, expected number or 'Increment' or {increment: number}"
                ),
            ]
            for (changes, message) in cases {
                var object = body.objectValue ?? [:]
                for (key, value) in changes { object[key] = value }
                let answer = try await server.send("POST", "/push", .object(object), as: .master)
                #expect(answer.status == 400 && answer["code"] == 115, "\(changes)")
                #expect(answer["error"] == .string(message))
            }
            for text in ["", "x", "5", "[]", "{\"a\":\"\\u0000\"}"] {
                let answer = try await server.send(
                    "POST", "/push", ["where": .string(text), "data": ["alert": "x"]], as: .master)
                #expect(answer.code == 107 && answer.error == "where parameter is not valid JSON", "\(answer.text)")
            }
            let none = try await server.send("POST", "/push", ["data": [:]], as: .master)
            #expect(none["error"] == "Sending a push requires either \"channels\" or a \"where\" query.")
            let odd = try await server.send("POST", "/push", ["where": ["$foo": 1], "data": [:]], as: .master)
            #expect(odd.status == 400)
            let large: JSONValue = ["where": [:], "data": ["alert": .string(String(repeating: "x", count: 4100))]]
            #expect(try await server.send("POST", "/push", large, as: .master)["code"] == 115)
            #expect(sink.tokens.isEmpty)
        }
    }

    @Test("Accepts the where condition as JSON text")
    func conditionAsText() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "a1", "ios")
            try await PushFixture.device(server, "b1", "android")
            let all = try await PushFixture.push(server, ["where": "{}", "data": ["alert": "x"]])
            #expect(all["numSent"] == 2, "\(all.text)")
            let some = try await PushFixture.push(
                server, ["where": "{\"deviceType\":\"ios\"}", "data": ["alert": "x"]])
            #expect(some["numSent"] == 1 && some["query"] == "{\"deviceType\":\"ios\"}", "\(some.text)")
        }
    }

    @Test("Without the push option, rejects pushes and reports the features as unavailable")
    func withoutOption() async throws {
        try await TestServer.run { server in
            let answer = try await server.send("POST", "/push", ["where": [:], "data": [:]], as: .master)
            #expect(answer["code"] == 115 && answer["error"] == "Missing push configuration")
            let info = try await server.send("GET", "/serverInfo", as: .master)
            #expect(info["features"]?["push"]?["immediatePush"] == false)
            #expect(info["features"]?["push"]?["storedPushData"] == false)
            #expect(info["features"]?["push"]?["scheduledPush"] == false)
            #expect(info["features"]?["push"]?["pushAudiences"] == true)
        }
    }

    @Test("Increments, stores and sends each device's own badge")
    func badges() async throws {
        try await PushFixture.run { server, sink in
            let ids = try await [
                PushFixture.device(server, "b1", "ios", ["badge": 0]),
                PushFixture.device(server, "b2", "ios", ["badge": 4]),
                PushFixture.device(server, "b3"),
            ]
            let row = try await PushFixture.push(server, ["where": [:], "data": ["badge": "Increment"]])
            #expect(row["status"] == "succeeded" && row["numSent"] == 3)
            let shown = Dictionary(
                uniqueKeysWithValues: sink.notifications.map { ($0.token, $0.body["aps"]?["badge"]) })
            #expect(shown["b1"] == .number(1) && shown["b2"] == .number(5) && shown["b3"] == .number(1))
            for (id, badge) in zip(ids, [1.0, 5, 1]) {
                let device = try await server.send("GET", "/installations/\(id)", as: .master)
                #expect(device["badge"] == .number(badge))
            }
            // Devices selected by their badge receive the push, even if it changes the badge.
            sink.forget()
            _ = try await PushFixture.push(
                server, ["where": ["badge": 5], "data": ["badge": ["__op": "increment", "amount": -2]]])
            #expect(sink.notifications.map { $0.body["aps"]?["badge"] } == [.number(3)])
        }
    }

    @Test("A device with a locked row gets its next badge like others and delays none")
    func lockedRows() async throws {
        try await PushFixture.run(options: ["lockTimeout": 60_000]) { server, sink in
            let locked = try await PushFixture.device(server, "b1", "ios", ["badge": 4])
            let free = try await PushFixture.device(server, "b2", "ios", ["badge": 7])
            let dead = try await PushFixture.device(server, "dead01", "ios", ["badge": 1])
            let lock = """
                SELECT "objectId" FROM "_Installation" WHERE "objectId" IN ('\(locked)', '\(dead)') FOR UPDATE
                """
            let row = try await server.whileLocked(lock) {
                try await PushFixture.push(server, ["where": [:], "data": ["badge": "Increment"]])
            }
            #expect(row["numSent"] == 2 && row["numFailed"] == 1, "\(row.text)")
            let shown = Dictionary(
                uniqueKeysWithValues: sink.notifications.map { ($0.token, $0.body["aps"]?["badge"]) })
            #expect(shown["b1"] == .number(5) && shown["b2"] == .number(8))
            for (id, badge) in [(locked, 4.0), (free, 8)] {
                let device = try await server.send("GET", "/installations/\(id)", as: .master)
                #expect(device["badge"] == .number(badge))
            }
            // The next push updates the badges that could not be changed before.
            _ = try await PushFixture.push(server, ["where": [:], "data": ["badge": "Increment"]])
            for (id, badge) in [(locked, 5.0), (free, 9)] {
                let device = try await server.send("GET", "/installations/\(id)", as: .master)
                #expect(device["badge"] == .number(badge))
            }
            #expect(try await server.send("GET", "/installations/\(dead)", as: .master)["deviceToken"] == nil)
        }
    }

    @Test("A device gets the text for its locale, or else for its language, or else the default")
    func locales() async throws {
        try await PushFixture.run { server, sink in
            for (token, locale) in [("c1", "fr-FR"), ("c2", "en-GB"), ("c3", "en_US"), ("c4", "de")] {
                try await PushFixture.device(server, token, "ios", ["localeIdentifier": .string(locale)])
            }
            try await PushFixture.device(server, "c5")
            _ = try await PushFixture.push(
                server,
                ["where": [:], "data": ["alert": "x", "alert-fr": "f", "alert-en": "e", "alert-en-GB": "b"]])
            let texts = Dictionary(uniqueKeysWithValues: sink.notifications.map { ($0.token, $0.body) })
            for (token, text) in [("c1", "f"), ("c2", "b"), ("c3", "e"), ("c4", "x"), ("c5", "x")] {
                #expect(texts[token] == ["aps": ["alert": .string(text)]], "\(token)")
            }
        }
    }

    @Test("Removes dead tokens unless saved since, and shows failures only to the master key")
    func deadTokens() async throws {
        try await PushFixture.run { server, sink in
            let dead = try await PushFixture.device(server, "dead01")
            let newer = try await PushFixture.device(server, "01d001")
            let google = try await PushFixture.device(server, "dead-g", "android")
            let fine = try await PushFixture.device(server, "f001")
            let answer = try await server.send(
                "POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
            let id = try #require(answer.headers["x-parse-push-status-id"])
            let row = try await PushFixture.row(server, id)
            #expect(row["numSent"] == 1 && row["numFailed"] == 3, "\(row.text)")
            #expect(row["failedPerType"]?["ios"] == 2 && row["failedPerType"]?["android"] == 1)
            for (id, token) in [(dead, nil), (google, nil), (newer, "01d001"), (fine, "f001")] {
                let device = try await server.send("GET", "/installations/\(id)", as: .master)
                #expect(device["deviceToken"]?.stringValue == token)
            }
            let failures = try await server.send("GET", "/push/\(id)/failures", as: .master)
            #expect(failures["results"]?.arrayValue?.count == 3)
            #expect(failures["results"]?.arrayValue?.contains { $0["reason"] == "UNREGISTERED" } == true)
            #expect(try await server.send("GET", "/push/\(id)/failures").status == 403)
        }
    }

    @Test("Removes no tokens if an entry rejects most of them")
    func wrongEnvironment() async throws {
        let lines = LogLines()
        try await PushFixture.run(logger: lines.logger) { server, sink in
            for number in 0..<8 { try await PushFixture.device(server, "bad00\(number)") }
            for number in 0..<2 { try await PushFixture.device(server, "ab\(number)") }
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2 && row["numFailed"] == 8)
            let left = try await server.find("_Installation", ["count": 1, "limit": 0], as: .master)
            #expect(left["count"] == 10)
            let kept = try await server.find(
                "_Installation", ["where": ["deviceToken": ["$exists": true]], "count": 1, "limit": 0], as: .master)
            #expect(kept["count"] == 10)
            #expect(lines.all.count { $0.contains("push service rejected most tokens") } == 1)
        }
    }

    @Test("Retries a busy service after the delay that it requests")
    func busy() async throws {
        try await PushFixture.run { server, sink in
            try await PushFixture.device(server, "b05e01")
            try await PushFixture.device(server, "ab01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2 && row["numFailed"] == nil)
            #expect(sink.tokens == ["ab01", "b05e01", "b05e01", "b05e01"])
            let times = sink.notifications.filter { $0.token == "b05e01" }.map(\.at)
            for (first, second) in zip(times, times.dropFirst()) { #expect(second - first >= .milliseconds(990)) }
        }
    }

    @Test("Counts failures of device types without a service under the types' own names")
    func hostileTypes() async throws {
        try await PushFixture.run { server, sink in
            let names = ["winrt", "a'b\"}.c", String(repeating: "x", count: 10_000)]
            for (number, name) in names.enumerated() { try await PushFixture.device(server, "e\(number)", name) }
            try await PushFixture.device(server, "../../x", "ios")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["status"] == "succeeded" && row["numFailed"] == 4, "\(row.text.prefix(300))")
            for name in names { #expect(row["failedPerType"]?[Name(name)] == 1) }
            #expect(sink.tokens.isEmpty)
        }
    }

    @Test("Counts the uses of an audience, and ignores an unknown audience_id")
    func audiences() async throws {
        try await PushFixture.run { server, sink in
            let audience = try await server.send(
                "POST", "/push_audiences", ["name": "all", "query": "{}"], as: .master
            ).succeeded().string("objectId")
            for id in [audience, "nosuch"] {
                let row = try await PushFixture.push(
                    server, ["where": [:], "data": ["alert": "x"], "audience_id": .string(id)])
                #expect(row["status"] == "succeeded" && row["numSent"] == 0)
            }
            let row = try await server.send("GET", "/push_audiences/\(audience)", as: .master)
            #expect(row["timesUsed"] == 1 && row["lastUsed"]?["__type"] == "Date")
        }
    }

    @Test("Logs a line per batch, without tokens, keys or texts")
    func log() async throws {
        let lines = LogLines()
        try await PushFixture.run(logger: lines.logger) { server, sink in
            let tokens = (0..<20).map { "a1b2c3d4e5f60718293a4b5c\($0 + 10)" } + ["dead1234567890abcdef0123"]
            for token in tokens { try await PushFixture.device(server, token) }
            try await PushFixture.device(server, "g1-a-token-of-google", "android")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "a secret text"]])
            #expect(row["numSent"] == 21, "\(row.text)")
            let batches = lines.all.filter { $0.contains("push batch sent") }
            #expect((2...5).contains(batches.count), "\(batches)")
            let key = sink.identity.appleKey.pemRepresentation.split(separator: "\n")[1]
            for secret in tokens + ["g1-a-token-of-google", String(key), "access-1", "bearer ey", "a secret text"] {
                #expect(!lines.all.contains { $0.contains(secret) }, "\(secret)")
            }
        }
    }

    @Test("While one device is pending, the row already counts the others")
    func progress() async throws {
        let latch = Latch()
        var manners = PushSink.Manners()
        manners.scripts = ["ab": [.held(latch, .init())]]
        try await PushSink.run(manners) { sink in
            let push: JSONObject = ["ios": sink.apple("app.one", ["requestTimeout": 60_000])]
            try await TestServer.run(["push": .object(push)]) { server in
                try await PushFixture.fill(server, 10)
                try await PushFixture.device(server, "ab01")
                let answer = try await server.send(
                    "POST", "/push", ["where": [:], "data": ["alert": "x"]], as: .master)
                let id = try #require(answer.headers["x-parse-push-status-id"])
                var row = JSONValue.null
                let isCounted = try await eventually {
                    row = try await server.send("GET", "/classes/_PushStatus/\(id)", as: .master).json
                    return row["numSent"] == 10
                }
                #expect(isCounted && row["status"] == "running", "\(row.text)")
                latch.open()
                #expect(try await PushFixture.row(server, id)["numSent"] == 11)
            }
        }
    }
}
