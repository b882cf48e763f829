import JSON
import ParseModel
import Rules
import Testing

/// A caller can't query fields that are hidden from them, since the result would reveal their values.
@Suite("Queries on protected fields")
struct ProtectedQueryTests {
    private static let access = ReadAccess(readers: ["*"], hidden: ["secret", "\u{E9}"])
    private static let refusal = ParseError.denied(119, "This user is not allowed to query secret on class Song")

    private static func field(_ key: String) -> Filter { .field(FieldPath(key), .equal(1)) }

    private static func order(_ key: String, isDescending: Bool = false) -> [SortKey] {
        [SortKey(FieldPath(key), isDescending: isDescending)]
    }

    @Test(
        "Rejects conditions on hidden fields at any depth",
        arguments: [
            field("secret"), field("secret.inner"), field("secret.0.x"), .all([field("title"), field("secret")]),
            .any([field("secret"), field("title")]), .none([field("secret")]),
            .any([.all([.none([.any([field("secret.x")])])]), field("title")]),
        ])
    func conditions(filter: Filter) {
        #expect(throws: Self.refusal) { try Self.access.check(filter, [], of: "Song") }
    }

    @Test("Rejects sorting by hidden fields", arguments: ["secret", "secret.inner"], [false, true])
    func orders(key: String, isDescending: Bool) {
        let refusal = ParseError.denied(119, "This user is not allowed to sort by secret on class Song")
        let order = Self.order("title") + Self.order(key, isDescending: isDescending)
        #expect(throws: refusal) { try Self.access.check(.everything, order, of: "Song") }
    }

    @Test("Reports the condition first if both condition and sort order use hidden fields")
    func both() {
        #expect(throws: Self.refusal) {
            try Self.access.check(Self.field("secret"), Self.order("secret"), of: "Song")
        }
    }

    @Test("Allows other fields, even if their names resemble hidden ones")
    func others() throws {
        for key in ["title", "secrets", "title.secret", "Secret", "e\u{301}"] {
            try Self.access.check(Self.field(key), Self.order(key), of: "Song")
        }
        try Self.access.check(.everything, [], of: "Song")
    }

    @Test("Allows all fields if none are hidden")
    func withoutHiddenFields() throws {
        try ReadAccess().check(Self.field("secret"), Self.order("secret"), of: "Song")
        try ReadAccess().check(malformed: ["secret": ["$strange": 1]], of: "Song")
    }

    // MARK: - Invalid conditions

    @Test(
        "Rejects hidden fields in malformed conditions, too",
        arguments: [
            ["secret": ["$strange": 1]], ["secret.x": ["$strange": 1]], ["title": ["$strange": 1], "secret": 1],
            ["$or": [["title": 1], ["secret": ["$strange": 1]]]],
            ["$and": [["$nor": [["$or": [["secret": 1]]]]], ["title": ["$strange": 1]]]],
            ["$strange": [["secret": 1]]],
        ] as [JSONObject])
    func malformed(condition: JSONObject) {
        #expect(throws: Self.refusal) { try Self.access.check(malformed: condition, of: "Song") }
    }

    @Test(
        "Ignores malformed conditions without hidden fields",
        arguments: [
            [:], ["title": ["$strange": 1]], ["title": ["secret": 1]], ["$or": "secret"], ["$or": ["secret"]],
            ["\u{212A}": 1],
        ] as [JSONObject])
    func malformedOtherwise(condition: JSONObject) throws {
        try Self.access.check(malformed: condition, of: "Song")
    }
}
