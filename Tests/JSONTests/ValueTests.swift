import JSON
import Testing

@Suite("Values")
struct ValueTests {
    @Test("Literals make values of their kind")
    func literals() {
        #expect(nil as JSONValue == .null)
        #expect(true as JSONValue == .bool(true))
        #expect(3 as JSONValue == .number(3))
        #expect(-3.5 as JSONValue == .number(-3.5))
        #expect("x" as JSONValue == .string("x"))
        #expect([1, "x"] as JSONValue == .array([.number(1), .string("x")]))
        #expect(["b": 1, "a": nil] as JSONValue == .object(["b": .number(1), "a": .null]))
    }

    @Test("A key that a literal has twice keeps its first place and its last value")
    func duplicateLiteralKeys() {
        #expect((["a": 1, "b": 2, "a": 3] as JSONValue).text == "{\"a\":3,\"b\":2}")
    }

    @Test("Each accessor gives its kind and nothing else")
    func accessors() {
        let values: [JSONValue] = [nil, true, 1, "s", [2], ["k": 3]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.boolValue) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.numberValue) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.stringValue) == [nil, nil, nil, "s", nil, nil])
        #expect(values.map(\.arrayValue) == [nil, nil, nil, nil, [2], nil])
        #expect(values.map(\.objectValue) == [nil, nil, nil, nil, nil, ["k": 3]])
    }

    @Test("A subscript finds members of objects, and nothing elsewhere")
    func members() {
        let value: JSONValue = ["a": ["b": "c"], "n": nil]
        #expect(value["a"]?["b"] == "c")
        #expect(value["n"] == .some(.null))
        #expect(value["x"] == nil)
        #expect((["a"] as JSONValue)["a"] == nil)
        #expect(("a" as JSONValue)["a"] == nil)
    }

    @Test("Values are equal when they have the same members in the same order")
    func equality() {
        #expect(["a": 1, "b": 2] as JSONValue == ["a": 1, "b": 2])
        #expect(["a": 1, "b": 2] as JSONValue != ["b": 2, "a": 1])
        #expect(0 as JSONValue == -0.0)
        #expect("1" as JSONValue != 1)
        #expect(Set([1, 1, "1", [1], ["a": 1], ["a": 1]] as [JSONValue]).count == 4)
    }

    @Test("A null is no value where none is meant, and a value is itself")
    func orNil() {
        #expect(JSONValue.null.orNil.map(\.text) == Optional<String>.none)
        #expect(JSONValue.string("").orNil.map(\.text) == "\"\"")
        let object: JSONObject = ["a": .null, "b": 1]
        #expect((object["a"]?.orNil).map(\.text) == Optional<String>.none)
        #expect((object["b"]?.orNil).map(\.text) == "1")
    }
}
