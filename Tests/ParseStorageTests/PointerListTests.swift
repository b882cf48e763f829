import JSON
import ParseModel
import ParseStorage
import Testing

@Suite("Direct parsing of JSON arrays of pointers")
struct PointerListTests {
    private static func read(_ text: String) -> [Pointer]? {
        Array(text.utf8).withUnsafeBytes { PointerList.read($0) }
    }

    @Test("Parses PostgreSQL's text of a pointer list back into the same pointers")
    func lists() async throws {
        try await TestStore.run { (store) async throws in
            let pointers = [
                Pointer(className: "Song", objectId: "1000000001"), Pointer(className: "_User", objectId: "ä/ö 😀"),
                Pointer(className: "Song", objectId: ""),
            ]
            for count in 0...3 {
                let list = Array(pointers.prefix(count))
                let text = JSONValue.array(list.map(\.json)).serialized()
                let result = try await store.client.query("SELECT $1", [.jsonb(text)])
                var read: [Pointer]?
                #expect(result.withJSON(0, 0) { read = PointerList.read($0) })
                #expect(read == list)
            }
        }
    }

    @Test(
        "Leaves anything else to the JSON parser",
        arguments: [
            "", "[", "]", "null", "{}", "[null]", "[1]", "[[]]", "[ ]",
            #"{"__type": "Pointer", "objectId": "a", "className": "A"}"#,
            #"[{"__type": "Pointer", "objectId": "a", "className": "A"}, null]"#,
            #"[{"__type": "Pointer", "objectId": "a", "className": "A"}, ]"#,
            #"[{"__type": "Pointer", "objectId": "a", "className": "A"}{"__type": "Pointer", "objectId": "a", "className": "A"}]"#,
            #"[{"__type": "Pointer", "objectId": "a", "className": "A", "more": 1}]"#,
            #"[{"__type": "Pointer", "objectId": "a\"b", "className": "A"}]"#,
            #"[{"__type": "Pointer", "objectId": 1, "className": "A"}]"#,
            #"[{"__type": "Object", "objectId": "a", "className": "A"}]"#,
            #"[{"__type": "Pointer", "objectId": "a", "className": "A]"#,
            #"[{"__type": "Pointer", "objectId": "a]"#,
        ])
    func others(_ text: String) {
        #expect(Self.read(text) == nil)
    }
}
