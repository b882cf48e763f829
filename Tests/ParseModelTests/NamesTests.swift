import JSON
import ParseModel
import Testing

@Suite("Names, paths and fields")
struct NamesTests {
    private static let bad = [
        "", "1a", "_a", "a-b", "a b", "a.b", "a\"b", "a'b", "a;b", "a\\b", "a$", "é", "a\0", "a:b", "--", "a\n",
    ]

    @Test("Class names are identifiers or known system names")
    func classes() {
        for name in [
            "A", "GameScore", "a_b_1", "_User", "_Role", "_Session", "_Installation", "_Product", "_Join:users:_Role",
        ] {
            #expect(Names.isClassName(name), "\(name)")
        }
        for name in Self.bad + [
            "length", "className", "_Foo", "_SCHEMA", "_Join:a", "_Join:a:b:c", "_Join:a b:C", "_Join:a:",
        ] {
            #expect(!Names.isClassName(name), "\(name)")
        }
    }

    @Test("Field names are identifiers, and className is allowed only in _Hooks")
    func fields() {
        for name in ["a", "Z9", "camelCase", "snake_case", String(repeating: "a", count: 200)] {
            #expect(Names.isFieldName(name, in: "A"), "\(name)")
        }
        for name in Self.bad + ["length", "className"] { #expect(!Names.isFieldName(name, in: "A"), "\(name)") }
        #expect(Names.isFieldName("className", in: "_Hooks"))
    }

    @Test("Query keys are identifiers, optionally joined by dots")
    func queryKeys() {
        for name in ["a", "a.b.c", "arr.0.x"] { #expect(Names.isQueryKey(name), "\(name)") }
        for name in ["", ".a", "_a", "a-b", "a.\"b", "$a", "a.$b", "a b"] {
            #expect(!Names.isQueryKey(name), "\(name)")
        }
    }

    @Test("Splits a path into its root and its steps")
    func paths() {
        #expect(FieldPath("a").steps == [])
        #expect(FieldPath("a.0.b").root == "a")
        #expect(FieldPath("a.0.b").steps == ["0", "b"])
        #expect(FieldPath("a..b").steps == ["", "b"])
        for text in ["a", "a.b", "a..b", "."] { #expect(FieldPath(text).text == text) }
    }

    @Test("Parses sort orders from lists of names, with a minus for descending")
    func orders() {
        #expect(
            SortKey.list("a, -b.c,,+d") == [
                SortKey(FieldPath("a"), isDescending: false), SortKey(FieldPath("b.c"), isDescending: true),
                SortKey(FieldPath("d"), isDescending: false),
            ])
        #expect(SortKey.list(["-a", "b"]).map(\.isDescending) == [true, false])
        #expect(SortKey.list(nil) == [])
        #expect(SortKey.list("-") == [])
        #expect(SortKey.list(5) == [])
    }

    @Test("Reads integer parameters from numbers, Booleans and numeric strings")
    func integers() {
        #expect(JSONValue.number(10).parameterInteger == 10)
        #expect(JSONValue.number(-1.5).parameterInteger == -1)
        #expect(JSONValue.string(" 7 ").parameterInteger == 7)
        #expect(JSONValue.bool(true).parameterInteger == 1)
        #expect(JSONValue.string("x").parameterInteger == nil)
        #expect(JSONValue.null.parameterInteger == nil)
        #expect(JSONValue.number(1e300).parameterInteger == nil)
    }

    @Test("Fields round-trip through the schema's JSON with their options")
    func fieldForms() {
        let field = Field(.pointer("_User"), required: true, defaultValue: "x")
        #expect(field.json == ["type": "Pointer", "targetClass": "_User", "required": true, "defaultValue": "x"])
        #expect(Field(json: .object(field.json)) == field)
        #expect(Field(json: ["type": "Strange"]) == nil)
        #expect(Field(.number).json == ["type": "Number"])
    }

    @Test("Classes have their default fields")
    func defaults() {
        #expect(Array(ClassSchema(name: "A").fields.keys) == ["objectId", "createdAt", "updatedAt", "ACL"])
        #expect(ClassSchema(name: "_User").type(of: "authData") == .object)
        #expect(ClassSchema(name: "_Role").type(of: "roles") == .relation("_Role"))
        #expect(ClassSchema(name: "_Session").type(of: "user") == .pointer("_User"))
        #expect(SystemClass.isDefaultField("createdAt", of: "A"))
        #expect(!SystemClass.isDefaultField("username", of: "A"))
    }

    @Test("Follows JavaScript's truthiness")
    func truth() {
        for value in [JSONValue.bool(true), 1, -1, "x", [], [:]] { #expect(value.isTruthy) }
        for value in [JSONValue.null, false, 0, "", .number(.nan)] { #expect(!value.isTruthy) }
    }

    @Test("Pointers with the same id in different classes have different hashes")
    func pointers() {
        let all = (100_000..<100_100).map { Pointer(className: "C\($0)", objectId: "a") }
        #expect(Set(all.map(\.hashValue)).count == 100)
    }
}
