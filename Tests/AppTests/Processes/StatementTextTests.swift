import Foundation
import JSON
import LocalPostgres
import TestSupport
import TestTools
import Testing

/// The statements of a server in PostgreSQL's statistics.
@Suite("Statement texts")
struct StatementTextTests {
    private static func withStatistics(_ body: (_ uri: String) async throws -> Void) async throws {
        let folder = ClusterFolder.path("texts")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = LocalPostgres(dataFolder: folder + "/postgres", logger: TestServer.quietLogger)
        let first = try await database.start()
        try await TestServer.execute("ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements'", on: first)
        await database.stop()
        let uri = try await database.start()
        let result = await Result.awaiting {
            try await TestServer.execute("CREATE EXTENSION pg_stat_statements", on: uri)
            try await body(uri)
        }
        await database.stop()
        try result.get()
    }

    @Test("Queries of one shape share a statement text, which contains no values, request ids or traces")
    func shapes() async throws {
        try await Self.withStatistics { uri in
            let options: JSONObject = ["tracingTrust": "all"]
            try await TestServer.run(on: uri, options) { server in
                // The fields are in the database's order, so that a server that reloads the class sends the same
                // statement.
                _ = try await server.create("Song", ["plays": 1, "title": "a"])
                for number in 0..<100 {
                    let digits = String(format: "%032x", number + 1)
                    let find: JSONValue = [
                        "_method": "GET",
                        "where": [
                            "title": .string("*/ DROP TABLE \"Song\"; -- \(number)"), "plays": .number(Double(number)),
                        ],
                    ]
                    let found = try await server.send(
                        "POST", "/classes/Song", find,
                        headers: [
                            "traceparent": "00-\(digits)-00f067aa0ba902b7-01", "X-Request-Id": "request-\(number)",
                        ])
                    #expect(found.json["results"] == [])
                }
                for name in ["*/ DROP", "*%2F%20DROP%20TABLE", "%2A%2F"] {
                    let answer = try await server.send(
                        "GET", "/classes/\(name.replacing(" ", with: "%20"))", as: .master)
                    #expect(answer.status < 500, "\(name): \(answer.text)")
                }
                let calls = try await TestServer.texts(
                    """
                    SELECT calls::text FROM pg_stat_statements
                    WHERE query LIKE '%FROM "Song"%' AND query LIKE '%"title" = %' AND query LIKE '%"plays" = %'
                    """, on: uri)
                #expect(calls == ["100"])
                let odd = try await TestServer.texts(
                    """
                    SELECT query FROM pg_stat_statements
                    WHERE query LIKE '%traceparent%' OR query LIKE '%request-%' OR query LIKE '%DROP TABLE "Song"%'
                        OR query LIKE '%00f067aa%'
                    """, on: uri)
                #expect(odd.filter { !$0.contains("pg_stat_statements") }.isEmpty, "\(odd)")
                let left = try await server.find("Song").json["results"]?.arrayValue
                #expect(left?.count == 1)
            }
        }
    }

    @Test("Failed log-ins send as many statements for unknown names as for known ones, locked out or not")
    func logins() async throws {
        try await Self.withStatistics { uri in
            let options: JSONObject = [
                "accountLockout": ["threshold": 3, "duration": 5], "caseInsensitiveLogin": true,
                "convertUsernameToLowercase": true,
            ]
            try await TestServer.run(on: uri, options) { server in
                _ = try await server.signUp("kim")
                var statements: [[Int]] = []
                for name in ["kim", "KIM", "nobody", "NOBODY"] {
                    try await server.execute(
                        "UPDATE \"_User\" SET \"_failed_login_count\" = 0, \"_account_lockout_expires_at\" = NULL")
                    let attempts = name == "NOBODY" ? 2 : 5
                    var counts: [Int] = []
                    for _ in 0..<attempts {
                        let before = try await Self.statements(of: uri)
                        let answer = try await server.send(
                            "POST", "/login", ["username": .string(name), "password": "x"])
                        #expect(answer.status == 404, "\(answer.text)")
                        counts.append(try await Self.statements(of: uri) - before)
                    }
                    statements.append(counts)
                }
                #expect(statements[0][0] > 1)
                #expect(statements[0] == statements[2])
                // Unknown names share a count in every case, so the last attempts are already locked out.
                #expect(statements[3] == Array(statements[1].suffix(2)))
            }
        }
    }

    /// The number of statements sent by log-ins so far.
    private static func statements(of uri: String) async throws -> Int {
        let calls = try await TestServer.texts(
            """
            SELECT coalesce(sum(calls), 0)::text FROM pg_stat_statements
            WHERE query ~ '^(SELECT|UPDATE) .*"_User"' OR query LIKE '%pg_logical_emit_message%'
            """, on: uri)
        return try #require(calls.first.flatMap { Int($0) })
    }
}
