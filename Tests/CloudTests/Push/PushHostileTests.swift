import Foundation
import JSON
import TestSupport
import Testing

/// Installations of malicious clients must not prevent pushes to others.
@Suite struct PushHostileTests {
    /// Inserts many installations into the table.
    ///
    /// - Parameter columns: The columns and their SQL values, which may contain the installation's number `n`.
    private static func fill(_ server: TestServer, _ count: Int, _ columns: [(name: String, value: String)])
        async throws
    {
        let names = columns.map { ", \"\($0.name)\"" }.joined()
        let values = columns.map { ", \($0.value)" }.joined()
        try await server.execute(
            """
            INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "installationId", "appIdentifier"\(names))
            SELECT 'h' || n, now(), now(), 'h' || n, 'app.one'\(values) FROM generate_series(1, \(count)) n
            """)
    }

    @Test("Many invalid time zones don't affect devices with valid ones")
    func timeZones() async throws {
        try await PushFixture.run { server, sink in
            try await Self.fill(
                server, 1500,
                [("deviceType", "'ios'"), ("deviceToken", "'aa' || n + 1000"), ("timeZone", "'AA/zone' || n")])
            try await PushFixture.device(server, "bb01", "ios", ["timeZone": "US/Pacific"])
            try await PushFixture.device(server, "bb02", "ios", ["timeZone": "GMT+03:00"])
            let row = try await PushFixture.push(
                server, ["where": [:], "push_time": "2020-01-01T10:00:00", "data": ["alert": "x"]])
            #expect(sink.tokens == ["bb01", "bb02"])
            #expect(row["numSent"] == 2 && row["failedPerType"] == ["ios": 1500], "\(row.text)")
        }
    }

    @Test("Counts failures of excess device types together as others")
    func types() async throws {
        try await PushFixture.run { server, sink in
            try await Self.fill(
                server, 1000, [("deviceType", "repeat(md5(n::text), 400)"), ("deviceToken", "'aa' || n + 1000")])
            try await PushFixture.device(server, "bb01")
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 1 && row["numFailed"] == 1000)
            let failed = try #require(row["failedPerType"]?.objectValue)
            #expect(failed.count <= 202 && (failed["others"]?.numberValue ?? 0) > 100, "\(failed.count)")
            #expect(failed.values.reduce(0) { $0 + ($1.numberValue ?? 0) } == 1000)
            #expect(failed.keys.allSatisfy { $0.utf8.count <= 10_000 })
        }
    }

    @Test("Installations with megabytes of text don't prevent a push")
    func longTexts() async throws {
        try await PushFixture.run { server, sink in
            // More than fit in one result.
            try await Self.fill(
                server, 14,
                [
                    ("deviceType", "'ios'"), ("deviceToken", "'aa' || n + 1000"),
                    ("localeIdentifier", "repeat('x', 20000000)"),
                ])
            try await PushFixture.device(server, "bb01")
            try await PushFixture.device(server, String(repeating: "ab", count: 5_000))
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 15 && row["numFailed"] == 1, "\(row.text)")
            #expect(sink.tokens.contains("bb01") && sink.tokens.count == 15)
        }
    }

    @Test("Ignores a locale identifier with thousands of parts")
    func locales() async throws {
        try await PushFixture.run { server, sink in
            let locale = String(repeating: "a-", count: 150_000)
            try await PushFixture.device(server, "ab01", "ios", ["localeIdentifier": .string(locale)])
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x", "alert-fr": "f"]])
            #expect(row["numSent"] == 1 && sink.notifications.first?.body == ["aps": ["alert": "x"]])
        }
    }

    @Test("Counts installations with canonically equivalent ids separately")
    func alike() async throws {
        try await PushFixture.run { server, sink in
            try await server.execute(
                """
                INSERT INTO "_Installation" ("objectId", "createdAt", "updatedAt", "installationId", "deviceType",
                    "deviceToken", "appIdentifier")
                VALUES (U&'\\00e9', now(), now(), 'i1', 'ios', 'ab01', 'app.one'),
                    (U&'e\\0301', now(), now(), 'i2', 'ios', 'ab02', 'app.one')
                """)
            let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
            #expect(row["numSent"] == 2 && sink.tokens == ["ab01", "ab02"], "\(row.text)")
        }
    }

    @Test(
        "An invalid or foreign appIdentifier fails only its own devices"
    )
    func topics() async throws {
        var manners = PushSink.Manners()
        manners.wantsCertificates = true
        manners.scripts = ["cc": [.failure(400, "TopicDisallowed")]]
        try await PushSink.run(manners) { sink in
            let pair = try sink.identity.clientCertificate()
            var entry = sink.identity.place("", port: sink.port)
            entry["topic"] = nil
            (entry["cert"], entry["key"]) = (.string(pair.certificate), .string(pair.key))
            try await TestServer.run(["push": ["ios": .object(entry)]]) { server in
                for number in 10..<40 {
                    try await PushFixture.device(
                        server, "dd\(number)", "ios", ["appIdentifier": .string("a\(number)\r\nx: y")])
                    try await PushFixture.device(
                        server, "cc\(number)", "ios", ["appIdentifier": .string("not.mine\(number)")])
                }
                for number in 10..<13 { try await PushFixture.device(server, "aa\(number)") }
                let row = try await PushFixture.push(server, ["where": [:], "data": ["alert": "x"]])
                #expect(row["numSent"] == 3 && row["numFailed"] == 60 && row["errorMessage"] == nil, "\(row.text)")
                #expect(sink.tokens.count == 33 && sink.connections <= 2)
                let reasons = try await PushFixture.failures(server, row)
                #expect(Set(reasons.values) == ["BadTopic", "TopicDisallowed"])
            }
        }
    }

    @Test("Malformed tokens fail without affecting other devices, and malformed channels are rejected")
    func oddValues() async throws {
        try await PushFixture.run { server, sink in
            let long = String(repeating: "ab", count: 600)
            for (index, token) in [long, "ab%2F..%2f", "ab?x", "ab\u{301}", " ab", "ＡＢ"].enumerated() {
                try await PushFixture.device(server, token, "ios", ["badge": .number([1e308, -1e308, 1.5][index % 3])])
            }
            for token in ["g\u{e9}", "ge\u{301}", "g\r\n", long + long + long + long] {
                try await PushFixture.device(server, token, "android", ["pushType": "gcm"])
            }
            let many = JSONValue.array((0..<20_000).map { .string("c\($0)") })
            try await PushFixture.device(server, "aa01", "ios", ["channels": many])
            try await PushFixture.device(server, "aa02", "ios", ["channels": [["a"], .null]])
            try await PushFixture.device(server, "aa03", "ios", ["pushType": "a'b\"}.c"])
            let channels = JSONValue.array((0..<10_000).map { .string("c\($0)") })
            let some = try await PushFixture.push(server, ["channels": channels, "data": ["alert": "x"]])
            #expect(some["numSent"] == 1, "\(some.text.prefix(300))")
            sink.forget()
            let row = try await PushFixture.push(
                server, ["where": [:], "data": ["alert": "x", "badge": ["__op": "Increment", "amount": 1e15]]])
            #expect(row["status"] == "succeeded" && row["numSent"] == 3 && row["numFailed"] == 10, "\(row.text)")
            #expect(sink.tokens == ["aa01", "aa02", "aa03"])
            let tooMany = JSONValue.array((0..<10_001).map { .string("c\($0)") })
            let wide = JSONValue.array((0..<9000).map { .string("user\($0)") })
            for body: JSONValue in [
                ["channels": tooMany, "data": [:]], ["channels": [["a"]], "data": [:]],
                ["channels": [["$in": ["a"]]], "data": [:]], ["where": ["user": ["$in": wide]], "data": [:]],
            ] {
                #expect(try await server.send("POST", "/push", body, as: .master)["code"] == 115)
            }
        }
    }
}
