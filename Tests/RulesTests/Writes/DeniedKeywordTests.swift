import JSON
import ParseModel
import Rules
import Testing

@Suite("Keywords that data may not contain")
struct DeniedKeywordTests {
    private static func refusal(_ rule: String) -> ParseError {
        ParseError(105, "Prohibited keyword in request data: \(rule).")
    }

    private static func check(_ body: JSONObject, _ rules: JSONValue? = nil) throws {
        let options: JSONObject = rules.map { ["requestKeywordDenylist": $0] } ?? [:]
        try deployment(options).requestKeywordDenylist.check(body)
    }

    private static let denied: [(member: JSONObject, rule: String)] = [
        (["__proto__": [:]], #"{"key":"__proto__"}"#), (["__proto__": 1], #"{"key":"__proto__"}"#),
        (["constructor": .null], #"{"key":"constructor"}"#),
        (["_bsontype": "Code"], #"{"key":"_bsontype","value":"Code"}"#),
    ]

    @Test("Prototypes and code of MongoDB are denied, and the rule is told", arguments: 0..<denied.count)
    func defaults(index: Int) {
        let (member, rule) = Self.denied[index]
        #expect(throws: Self.refusal(rule)) { try Self.check(member) }
    }

    @Test("Depth and siblings hide nothing", arguments: 0..<denied.count)
    func depth(index: Int) {
        let (member, rule) = Self.denied[index]
        let value = JSONValue.object(member)
        var deep = value
        for _ in 0..<50 { deep = ["a": ["b", deep, "c"]] }
        for body in [
            ["a": value], ["a": [value]], ["a": [1, [2, [value]]]], ["a": ["b": 1], "c": [], "d": value],
            ["a": [["b": 1], value]], ["a": ["__op": "Add", "objects": [value]]], ["a": deep],
        ] as [JSONObject] { #expect(throws: Self.refusal(rule), "\(body)") { try Self.check(body) } }
    }

    @Test("A pattern is found anywhere in a text")
    func parts() {
        #expect(throws: Self.refusal(#"{"key":"constructor"}"#)) { try Self.check(["myconstructor2": 1]) }
        #expect(throws: Self.refusal(#"{"key":"_bsontype","value":"Code"}"#)) {
            try Self.check(["_bsontype": "CodeWithScope"])
        }
    }

    @Test(
        "What resembles a keyword is none",
        arguments: [
            ["Constructor": 1], ["construct": 1], ["_proto_": 1], ["a": "constructor"], ["a": ["__proto__"]],
            ["_bsontype": "code"], ["_bsontype": ["Code"]], ["_bsontype": 1], ["bsontype": "Code"],
            ["\u{441}onstructor": 1], [:],
        ] as [JSONObject])
    func harmless(body: JSONObject) throws {
        try Self.check(body)
    }

    @Test("A mark that combines with a keyword's last letter does not hide the keyword")
    func combiningMarks() {
        #expect(throws: Self.refusal(#"{"key":"constructor"}"#)) { try Self.check(["constructor\u{301}": 1]) }
    }

    // MARK: - Rules of a deployment

    @Test("A deployment's rules take the place of the usual ones; without any, nothing is denied")
    func replaced() throws {
        try Self.check(["__proto__": 1], [["key": "other"]])
        try Self.check(["__proto__": 1, "constructor": 1], [])
        #expect(throws: Self.refusal(#"{"key":"other"}"#)) { try Self.check(["other": 1], [["key": "other"]]) }
    }

    @Test("Texts of a rule are regular expressions for keys and texts")
    func patterns() throws {
        let rules: JSONValue = [["key": "^a[0-9]+$"], ["value": "(?i)^evil"]]
        #expect(throws: Self.refusal(#"{"key":"^a[0-9]+$"}"#)) { try Self.check(["x": ["a12": 1]], rules) }
        #expect(throws: Self.refusal(#"{"value":"(?i)^evil"}"#)) { try Self.check(["x": "EVIL deed"], rules) }
        #expect(throws: Self.refusal(#"{"value":"(?i)^evil"}"#)) { try Self.check(["x": ["no", "evil"]], rules) }
        try Self.check(["ba12": 1, "a": "no evil"], rules)
    }

    @Test("Other values of a rule are compared as they are")
    func values() throws {
        let rules: JSONValue = [["key": "n", "value": 5], ["value": ["x": true]]]
        #expect(throws: Self.refusal(#"{"key":"n","value":5}"#)) { try Self.check(["n": 5], rules) }
        #expect(throws: Self.refusal(#"{"value":{"x":true}}"#)) { try Self.check(["y": ["x": true]], rules) }
        try Self.check(["n": "5", "m": 5, "y": ["x": false]], rules)
    }

    @Test("Of several rules that are broken, the first is told")
    func first() {
        #expect(throws: Self.refusal(#"{"key":"b"}"#)) {
            try Self.check(["a": ["b": 1]], [["key": "b"], ["value": 1]])
        }
        #expect(throws: Self.refusal(#"{"value":1}"#)) {
            try Self.check(["a": ["b": 1]], [["value": 1], ["key": "b"]])
        }
    }

    @Test("A rule that names neither a key nor a value denies nothing")
    func emptyRule() throws {
        try Self.check(["a": ["b": 1]], [[:]])
    }
}
