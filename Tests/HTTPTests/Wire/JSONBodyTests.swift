import HTTP
import JSON
import Testing

@Suite struct JSONBodyTests {
    private func taken(_ object: JSONObject, upTo limit: Int = 1_000_000) throws -> JSONObject {
        try JSONBody.checked(object, size: object.roughSize, upTo: limit)
    }

    @Test("Checking an object in memory gives the same result as parsing its JSON")
    func sameAsBytes() throws {
        let objects: [JSONObject] = [
            [:], ["a": [1, -2.5, 1e300, .null, true, ["b": "\u{1}\\u0000 \"\n\\"]]], ["e\u{301}": "é", "\u{E9}": "x"],
            ["n": .number(.nan), "i": [.number(.infinity)], "z": .number(-0.0)], Self.nested(200),
        ]
        for object in objects {
            let read = try JSONBody.parse(object.serialized(), contentType: nil)
            #expect(try taken(object) == read, "\(object.text.prefix(100))")
        }
        let zero = try taken(["z": .number(-0.0)])["z"]?.numberValue
        #expect(zero?.sign == .plus)
    }

    @Test("Rejects invalid objects with the same errors as invalid bodies")
    func refusals() throws {
        for object: JSONObject in [Self.nested(201), ["a": ["b\0": 1]], ["a": [["b": "\n\0"]]]] {
            let expected = #expect(throws: HTTPError.self) {
                try JSONBody.parse(object.serialized(), contentType: nil)
            }
            let refused = #expect(throws: HTTPError.self) { try taken(object) }
            #expect(refused == expected)
        }
    }

    @Test("Applies the size limit to the exact serialized size, including escapes")
    func limit() throws {
        for text in ["", String(repeating: "x", count: 50), String(repeating: "\u{1}", count: 50)] {
            let object: JSONObject = ["t": .string(text), "n": [-1.2345678901234567e-300, 0, false]]
            let size = object.serialized().count
            #expect(size <= object.roughSize * 6)
            #expect(try taken(object, upTo: size) == object)
            #expect(throws: HTTPError.bodyTooLarge) { try taken(object, upTo: size - 1) }
        }
    }

    private static func nested(_ depth: Int) -> JSONObject {
        ["a": (1..<depth).reduce(JSONValue.null) { value, _ in [value] }]
    }
}
