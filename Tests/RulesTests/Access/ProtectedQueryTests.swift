import JSON
import ParseModel
import Rules
import Testing

/// A caller can't query fields that are hidden from them, since the result would reveal their values.
@Suite("Queries by protected fields")
struct ProtectedQueryTests {
    private static let access = ReadAccess(readers: ["*"], hidden: ["secret", "\u{E9}"])
    private static let refusal = ParseError.denied(119, "This user is not allowed to query secret on class Song")

    private static func field(_ key: String) -> Filter { .field(FieldPath(key), .equal(1)) }

    private static func order(_ key: String, isDescending: Bool = false) -> [SortKey] {
        [SortKey(FieldPath(key), isDescending: isDescending)]
    }

    @Test(
        "A condition on a hidden field is refused, wherever it stands",
        arguments: [
            field("secret"), field("secret.inner"), field("secret.0.x"), .all([field("title"), field("secret")]),
            .any([field("secret"), field("title")]), .none([field("secret")]),
            .any([.all([.none([.any([field("secret.x")])])]), field("title")]),
        ])
    func conditions(filter: Filter) {
        #expect(throws: Self.refusal) { try Self.access.check(filter, [], of: "Song") }
    }

    @Test("A hidden field tells no order", arguments: ["secret", "secret.inner"], [false, true])
    func orders(key: String, isDescending: Bool) {
        let refusal = ParseError.denied(119, "This user is not allowed to sort by secret on class Song")
        let order = Self.order("title") + Self.order(key, isDescending: isDescending)
        #expect(throws: refusal) { try Self.access.check(.everything, order, of: "Song") }
    }

    @Test("Of a condition and an order by hidden fields, the condition is named")
    func both() {
        #expect(throws: Self.refusal) {
            try Self.access.check(Self.field("secret"), Self.order("secret"), of: "Song")
        }
    }

    @Test("Other fields may be asked for, those that merely resemble hidden ones too")
    func others() throws {
        for key in ["title", "secrets", "title.secret", "Secret", "e\u{301}"] {
            try Self.access.check(Self.field(key), Self.order(key), of: "Song")
        }
        try Self.access.check(.everything, [], of: "Song")
    }

    @Test("Who sees everything asks for everything")
    func withoutHiddenFields() throws {
        try ReadAccess().check(Self.field("secret"), Self.order("secret"), of: "Song")
        try ReadAccess().check(malformed: ["secret": ["$strange": 1]], of: "Song")
    }

    // MARK: - Invalid conditions

    @Test(
        "A hidden field is refused in a condition that makes no sense as well",
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
        "What else is wrong with a condition is left to its reader",
        arguments: [
            [:], ["title": ["$strange": 1]], ["title": ["secret": 1]], ["$or": "secret"], ["$or": ["secret"]],
            ["\u{212A}": 1],
        ] as [JSONObject])
    func malformedOtherwise(condition: JSONObject) throws {
        try Self.access.check(malformed: condition, of: "Song")
    }
}
