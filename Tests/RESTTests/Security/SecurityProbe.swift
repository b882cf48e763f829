import Foundation
import JSON
import TestSupport
import Testing

/// Malicious values and common checks of the advisory tests.
enum SecurityProbe {
    /// Names that would end a literal, an identifier, a path or a statement built from text.
    static let names = [
        "a\"b", "a'b", "a\\b", "a--", "a;DROP TABLE \"Song\"", "$1", "a::text", "a b", "a){", "a}'", "\u{E9}",
        "x' OR '1'='1", "a/*", "a|b", "a%b", "a?b",
    ]

    /// Values in positions that require a text.
    static let notTexts: [JSONValue] = [
        ["$ne": .null], ["$regex": "."], ["$exists": true], ["$in": ["a"]], ["kim"], 7, true,
        ["__op": "Increment", "amount": 1], ["__type": "Pointer", "className": "_User", "objectId": "x"],
    ]

    /// Words of SQL and PostgreSQL that no response may contain.
    private static let databaseWords = ["SELECT", "INSERT", "UPDATE \"", "syntax error", "pg_", "relation \""]

    static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    }

    static func call(_ method: String, _ path: String, _ body: JSONValue? = nil) -> JSONValue {
        var request: JSONObject = ["method": .string(method), "path": .string("/parse" + path)]
        request["body"] = body
        return .object(request)
    }

    static func expectHarmless(
        _ answer: TestAnswer, _ what: String, location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status < 500, "\(what): \(answer.text)", sourceLocation: location)
        let text = answer.error ?? ""
        for word in databaseWords {
            #expect(!text.contains(word), "\(what): \(text)", sourceLocation: location)
        }
    }

    static func expectRefused(
        _ answer: TestAnswer, _ code: Int, _ what: String, location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == (code == 101 ? 404 : 400), "\(what): \(answer.text)", sourceLocation: location)
        #expect(answer.code == code, "\(what): \(answer.text)", sourceLocation: location)
        expectHarmless(answer, what, location: location)
    }

    static func makeSongs(_ server: TestServer) async throws -> String {
        _ = try await server.create("Song", ["title": "beta", "plays": 2, "meta": ["stars": 2]])
        return try await server.create("Song", ["title": "alpha", "plays": 1, "meta": ["stars": 1]])
    }

    static func expectSongs(
        _ server: TestServer, location: SourceLocation = #_sourceLocation
    ) async throws {
        let songs = try await server.find(
            "Song", ["order": "title", "where": ["title": ["$exists": true]]], as: .master)
        #expect(songs.results.map { $0["title"] } == ["alpha", "beta"], "\(songs.text)", sourceLocation: location)
        #expect(songs.results.map { $0["plays"] } == [1, 2], "\(songs.text)", sourceLocation: location)
        #expect(try await server.send("GET", "/users", as: .master).status == 200, sourceLocation: location)
    }

    static let reader = ["X-Parse-Application-Id": TestServer.applicationID, "X-Parse-Master-Key": "reader"]
}
