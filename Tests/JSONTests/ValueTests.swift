import JSON
import Testing

@Suite("JSON values")
struct ValueTests {
    @Test("Swift literals create values of the matching kind")
    func literals() {
        #expect(nil as JSONValue == .null)
        #expect(true as JSONValue == .bool(true))
        #expect(3 as JSONValue == .number(3))
        #expect(-3.5 as JSONValue == .number(-3.5))
        #expect("x" as JSONValue == .string("x"))
        #expect([1, "x"] as JSONValue == .array([.number(1), .string("x")]))
        #expect(["b": 1, "a": nil] as JSONValue == .object(["b": .number(1), "a": .null]))
    }

    @Test("A duplicate key in a literal keeps its first position and its last value")
    func duplicateLiteralKeys() {
        #expect((["a": 1, "b": 2, "a": 3] as JSONValue).text == "{\"a\":3,\"b\":2}")
    }

    @Test("Each accessor returns its own kind and nil for all others")
    func accessors() {
        let values: [JSONValue] = [nil, true, 1, "s", [2], ["k": 3]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.boolValue) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.numberValue) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.stringValue) == [nil, nil, nil, "s", nil, nil])
        #expect(values.map(\.arrayValue) == [nil, nil, nil, nil, [2], nil])
        #expect(values.map(\.objectValue) == [nil, nil, nil, nil, nil, ["k": 3]])
    }

    @Test("Subscripts find members of objects and return nil for other values")
    func members() {
        let value: JSONValue = ["a": ["b": "c"], "n": nil]
        #expect(value["a"]?["b"] == "c")
        #expect(value["n"] == .some(.null))
        #expect(value["x"] == nil)
        #expect((["a"] as JSONValue)["a"] == nil)
        #expect(("a" as JSONValue)["a"] == nil)
    }

    @Test("Objects are equal only if their members have the same order")
    func equality() {
        #expect(["a": 1, "b": 2] as JSONValue == ["a": 1, "b": 2])
        #expect(["a": 1, "b": 2] as JSONValue != ["b": 2, "a": 1])
        #expect(0 as JSONValue == -0.0)
        #expect("1" as JSONValue != 1)
        #expect(Set([1, 1, "1", [1], ["a": 1], ["a": 1]] as [JSONValue]).count == 4)
    }

    @Test("orNil turns null into nil and leaves other values unchanged")
    func orNil() {
        #expect(JSONValue.null.orNil.map(\.text) == Optional<String>.none)
        #expect(JSONValue.string("").orNil.map(\.text) == "\"\"")
        let object: JSONObject = ["a": .null, "b": 1]
        #expect((object["a"]?.orNil).map(\.text) == Optional<String>.none)
        #expect((object["b"]?.orNil).map(\.text) == "1")
    }
}
