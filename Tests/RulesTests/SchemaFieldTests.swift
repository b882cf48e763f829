import JSON
import OrderedCollections
import ParseModel
import Rules
import Testing

@Suite("Fields in the schemas API")
struct SchemaFieldTests {
    private static func field(_ json: JSONValue) throws -> Field {
        try SchemaRules.field(json, name: "f", of: "Song")
    }

    private static func newFields(
        _ fields: JSONValue?, of name: String = "Song", known: ClassSchema? = nil
    ) throws -> OrderedDictionary<Name, Field> {
        try SchemaRules.newFields(fields, of: name, known: known ?? ClassSchema(name: name))
    }

    // MARK: - Types

    @Test(
        "Reads each field type by name",
        arguments: [
            ("String", .string), ("Number", .number), ("Boolean", .boolean), ("Date", .date), ("Object", .object),
            ("Array", .array), ("Bytes", .bytes), ("File", .file), ("GeoPoint", .geoPoint), ("Polygon", .polygon),
        ] as [(String, FieldType)])
    func types(name: String, type: FieldType) throws {
        #expect(try Self.field(["type": .string(name)]) == Field(type))
        #expect(try Self.field(["type": .string(name), "targetClass": "A"]) == Field(type))
    }

    @Test("Pointers and relations can target classes that don't exist", arguments: ["A", "_User", "_Join:a:B"])
    func targets(target: Name) throws {
        #expect(try Self.field(["type": "Pointer", "targetClass": .string(target.text)]) == Field(.pointer(target)))
        #expect(try Self.field(["type": "Relation", "targetClass": .string(target.text)]) == Field(.relation(target)))
    }

    @Test("Rejects unknown field types", arguments: ["string", "Text", "", "ACL", "\u{212A}", "Pointer ", "Int"])
    func unknownTypes(name: String) {
        #expect(throws: ParseError(111, "invalid field type: \(name)")) { try Self.field(["type": .string(name)]) }
    }

    @Test(
        "Rejects fields without a type name",
        arguments: [[:], ["type": .null], ["type": 5], ["type": ["String"]], "String", .null] as [JSONValue])
    func oddTypes(json: JSONValue) {
        #expect(throws: ParseError(107, "invalid JSON")) { try Self.field(json) }
    }

    @Test("Rejects pointers and relations without a target class", arguments: ["Pointer", "Relation"])
    func withoutTarget(type: String) {
        let name = JSONValue.string(type)
        for json in [["type": name], ["type": name, "targetClass": .null], ["type": name, "targetClass": ""]]
            as [JSONValue]
        {
            #expect(throws: ParseError(135, "type \(type) needs a class name")) { try Self.field(json) }
        }
        #expect(throws: ParseError(107, "invalid JSON")) { try Self.field(["type": name, "targetClass": 5]) }
    }

    @Test("Rejects invalid names of target classes", arguments: ["1a", "a-b", "_Foo", "\u{212A}", "a b", "pg_class"])
    func badTarget(target: String) {
        let words =
            "Invalid classname: \(target), classnames can only have alphanumeric characters and _, and must start "
            + "with an alpha character "
        for type in ["Pointer", "Relation"] as [JSONValue] {
            #expect(throws: ParseError(103, words)) { try Self.field(["type": type, "targetClass": .string(target)]) }
        }
    }

    // MARK: - Options

    @Test("Accepts the option required and a default value of the field's type")
    func options() throws {
        #expect(
            try Self.field(["type": "Number", "required": true, "defaultValue": 7])
                == Field(.number, required: true, defaultValue: 7))
        #expect(try Self.field(["type": "String", "required": false]) == Field(.string, required: false))
        #expect(try Self.field(["type": "String", "defaultValue": .null]) == Field(.string))
        #expect(try Self.field(["type": "Array", "defaultValue": []]) == Field(.array, defaultValue: []))
        let pointer: JSONValue = ["__type": "Pointer", "className": "A", "objectId": "a"]
        #expect(
            try Self.field(["type": "Pointer", "targetClass": "A", "defaultValue": pointer])
                == Field(.pointer("A"), defaultValue: pointer))
    }

    @Test(
        "Rejects a default value of another type",
        arguments: [
            (["type": "String", "defaultValue": 7], "String but got Number"),
            (["type": "Date", "defaultValue": "2001-01-01"], "Date but got String"),
            (["type": "Boolean", "defaultValue": 0], "Boolean but got Number"),
            (
                [
                    "type": "Pointer", "targetClass": "K",
                    "defaultValue": ["__type": "Pointer", "className": "\u{212A}", "objectId": "a"],
                ], "Pointer<K> but got Pointer<\u{212A}>"
            ),
            (["type": "Relation", "targetClass": "A", "defaultValue": 1], "Relation<A> but got Number"),
        ] as [(JSONValue, String)])
    func badDefaults(json: JSONValue, words: String) {
        #expect(throws: ParseError(111, "schema mismatch for Song.f default value; expected \(words)")) {
            try Self.field(json)
        }
    }

    @Test("Rejects required and default values on relations")
    func relationOptions() throws {
        let relation: JSONObject = ["type": "Relation", "targetClass": "A"]
        var json = relation
        json["required"] = true
        #expect(throws: ParseError(111, "The 'required' option is not applicable for Relation<A>")) {
            try Self.field(.object(json))
        }
        json = relation
        json["defaultValue"] = ["__type": "Relation", "className": "A"]
        #expect(throws: ParseError(111, "The 'default value' option is not applicable for Relation<A>")) {
            try Self.field(.object(json))
        }
        json = relation
        json["required"] = false
        #expect(try Self.field(.object(json)) == Field(.relation("A"), required: false))
    }

    // MARK: - Fields of a class

    @Test("Keeps the order of a class's fields")
    func order() throws {
        let fields = try Self.newFields(["z": ["type": "String"], "a": ["type": "Number", "required": true]])
        #expect(fields == ["z": Field(.string), "a": Field(.number, required: true)])
        #expect(fields.keys.elements == ["z", "a"])
        #expect(try Self.newFields(nil) == [:])
        #expect(try Self.newFields([:]) == [:])
    }

    @Test(
        "Rejects invalid field names",
        arguments: ["", "1a", "_a", "a-b", "a.b", "\u{E9}", "\u{212A}", "length", "className", "xmin"])
    func badNames(name: String) {
        #expect(throws: ParseError(105, "invalid field name: \(name)")) {
            try Self.newFields(.object([Name(name): ["type": "String"]]))
        }
    }

    @Test("Rejects default columns as new fields")
    func defaultColumns() throws {
        for name in ["objectId", "createdAt", "updatedAt", "ACL"] {
            #expect(throws: ParseError(136, "field \(name) cannot be added")) {
                try Self.newFields(.object([Name(name): ["type": "String"]]))
            }
        }
        let username: JSONValue = ["username": ["type": "String"]]
        #expect(throws: ParseError(136, "field username cannot be added")) {
            try Self.newFields(username, of: "_User")
        }
        #expect(try Self.newFields(username).keys == ["username"])
    }

    @Test("Rejects a second GeoPoint field")
    func points() throws {
        let point: JSONValue = ["type": "GeoPoint"]
        func words(_ added: String, _ known: String) -> ParseError {
            ParseError(
                111,
                "currently, only one GeoPoint field may exist in an object. Adding \(added) when \(known) already exists."
            )
        }
        #expect(try Self.newFields(["home": point, "p": ["type": "Polygon"]]).count == 2)
        #expect(throws: words("work", "home")) { try Self.newFields(["home": point, "work": point]) }
        let known = ClassSchema.with(nil, fields: ["old": .geoPoint])
        #expect(throws: words("home", "old")) { try Self.newFields(["home": point, "work": point], known: known) }
        #expect(try Self.newFields(["title": ["type": "String"]], known: known).count == 1)
    }
}
