import JSON
import ParseModel
import Rules
import Testing

@Suite("Denied keywords")
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

    @Test("Denies prototypes and MongoDB code by default, and names the rule", arguments: 0..<denied.count)
    func defaults(index: Int) {
        let (member, rule) = Self.denied[index]
        #expect(throws: Self.refusal(rule)) { try Self.check(member) }
    }

    @Test("Finds keywords at any depth and among other keys", arguments: 0..<denied.count)
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

    @Test("Matches patterns anywhere in a key or value")
    func parts() {
        #expect(throws: Self.refusal(#"{"key":"constructor"}"#)) { try Self.check(["myconstructor2": 1]) }
        #expect(throws: Self.refusal(#"{"key":"_bsontype","value":"Code"}"#)) {
            try Self.check(["_bsontype": "CodeWithScope"])
        }
    }

    @Test(
        "Allows keys and values that only resemble a keyword",
        arguments: [
            ["Constructor": 1], ["construct": 1], ["_proto_": 1], ["a": "constructor"], ["a": ["__proto__"]],
            ["_bsontype": "code"], ["_bsontype": ["Code"]], ["_bsontype": 1], ["bsontype": "Code"],
            ["\u{441}onstructor": 1], [:],
        ] as [JSONObject])
    func harmless(body: JSONObject) throws {
        try Self.check(body)
    }

    @Test("A combining mark after a keyword doesn't hide it")
    func combiningMarks() {
        #expect(throws: Self.refusal(#"{"key":"constructor"}"#)) { try Self.check(["constructor\u{301}": 1]) }
    }

    // MARK: - Rules of a deployment

    @Test("Configured rules replace the default ones, and an empty list denies nothing")
    func replaced() throws {
        try Self.check(["__proto__": 1], [["key": "other"]])
        try Self.check(["__proto__": 1, "constructor": 1], [])
        #expect(throws: Self.refusal(#"{"key":"other"}"#)) { try Self.check(["other": 1], [["key": "other"]]) }
    }

    @Test("Strings in a rule are regular expressions for keys and values")
    func patterns() throws {
        let rules: JSONValue = [["key": "^a[0-9]+$"], ["value": "(?i)^evil"]]
        #expect(throws: Self.refusal(#"{"key":"^a[0-9]+$"}"#)) { try Self.check(["x": ["a12": 1]], rules) }
        #expect(throws: Self.refusal(#"{"value":"(?i)^evil"}"#)) { try Self.check(["x": "EVIL deed"], rules) }
        #expect(throws: Self.refusal(#"{"value":"(?i)^evil"}"#)) { try Self.check(["x": ["no", "evil"]], rules) }
        try Self.check(["ba12": 1, "a": "no evil"], rules)
    }

    @Test("Compares other values in a rule for equality")
    func values() throws {
        let rules: JSONValue = [["key": "n", "value": 5], ["value": ["x": true]]]
        #expect(throws: Self.refusal(#"{"key":"n","value":5}"#)) { try Self.check(["n": 5], rules) }
        #expect(throws: Self.refusal(#"{"value":{"x":true}}"#)) { try Self.check(["y": ["x": true]], rules) }
        try Self.check(["n": "5", "m": 5, "y": ["x": false]], rules)
    }

    @Test("Names the first of several violated rules")
    func first() {
        #expect(throws: Self.refusal(#"{"key":"b"}"#)) {
            try Self.check(["a": ["b": 1]], [["key": "b"], ["value": 1]])
        }
        #expect(throws: Self.refusal(#"{"value":1}"#)) {
            try Self.check(["a": ["b": 1]], [["value": 1], ["key": "b"]])
        }
    }

    @Test("A rule without a key or value denies nothing")
    func emptyRule() throws {
        try Self.check(["a": ["b": 1]], [[:]])
    }
}
