import JSON
import OrderedCollections
import ParseModel
import Rules
import Testing

@Suite("New fields in writes")
struct NewFieldTests {
    private static let song = ClassSchema.with(
        nil, fields: ["title": .string, "n": .number, "data": .object, "list": .array, "owner": .pointer("_User")])

    /// The types of a write's new fields, by name.
    private static func types(
        _ body: JSONObject, in schema: ClassSchema = song, isCreating: Bool = false
    ) throws -> OrderedDictionary<Name, FieldType> {
        let operations = try WrittenFields.operations(body, schema.name, isCreating: isCreating)
        return try WrittenFields.newFields(operations, in: schema).mapValues { field in
            #expect(field == Field(field.type), "a field of a write has no options")
            return field.type
        }
    }

    @Test(
        "Derives a new field's type from its value or operation",
        arguments: [
            ("x", .string), (1, .number), (false, .boolean), ([:], .object), ([], .array),
            (["__type": "Object"], .object),
            (["__type": "Date", "iso": "2001-01-01T00:00:00.000Z"], .date),
            (["__type": "Pointer", "className": "A", "objectId": "a"], .pointer("A")),
            (["__type": "Relation", "className": "A"], .relation("A")), (["__type": "File", "name": "a"], .file),
            (["__type": "Bytes", "base64": "YQ=="], .bytes),
            (["__type": "GeoPoint", "latitude": 0, "longitude": 0], .geoPoint),
            (["__type": "Polygon", "coordinates": [[0, 0]]], .polygon), (["__op": "Increment", "amount": 1], .number),
            (["__op": "Add", "objects": []], .array), (["__op": "AddUnique", "objects": []], .array),
            (["__op": "Remove", "objects": []], .array),
            (
                ["__op": "AddRelation", "objects": [["__type": "Pointer", "className": "A", "objectId": "a"]]],
                .relation("A")
            ),
        ] as [(JSONValue, FieldType)])
    func types(value: JSONValue, type: FieldType) throws {
        #expect(try Self.types(["new": value]) == ["new": type])
    }

    @Test(
        "Null, deletions and other values without a type add no field",
        arguments: [
            .null, ["__op": "Delete"], ["__op": "AddRelation", "objects": []], ["__op": "Batch", "ops": []],
            ["__op": "SetOnInsert", "amount": 1],
        ] as [JSONValue])
    func withoutType(value: JSONValue) throws {
        #expect(try Self.types(["new": value]) == [:])
    }

    @Test("Adds only fields that don't exist, and rejects values of another type for existing ones")
    func known() throws {
        #expect(
            try Self.types(["title": "x", "n": ["__op": "Increment", "amount": 1], "z": 1, "a": 1]).keys == ["z", "a"])
        for (body, words) in [
            (["title": 1], "title; expected String but got Number"),
            (["n": ["__op": "Add", "objects": []]], "n; expected Number but got Array"),
            (
                ["owner": ["__type": "Pointer", "className": "A", "objectId": "a"]],
                "owner; expected Pointer<_User> but got Pointer<A>"
            ),
            (["title.x": 1], "title; expected String but got Object"),
            (["list.x": 1], "list; expected Array but got Object"),
            (["data.0": 1], "data; expected Object but got Array"),
        ] as [(JSONObject, String)] {
            #expect(throws: ParseError(111, "schema mismatch for Song.\(words)")) { try Self.types(body) }
        }
    }

    @Test("Rejects a pointer to a class with a look-alike name")
    func lookAlikeClass() {
        let schema = ClassSchema.with(nil, fields: ["p": .pointer("K")])
        #expect(throws: ParseError(111, "schema mismatch for Song.p; expected Pointer<K> but got Pointer<\u{212A}>")) {
            try Self.types(["p": ["__type": "Pointer", "className": "\u{212A}", "objectId": "a"]], in: schema)
        }
    }

    @Test(
        "Rejects values of an unknown or malformed type",
        arguments: [
            (["__type": "Strange"], "Strange"), (["__type": "Date"], "Date"), (["__type": "Pointer"], "Pointer"),
            (["__type": 5], "5"),
        ] as [(JSONValue, String)])
    func malformed(value: JSONValue, type: String) {
        for key in ["new", "title", "data.x", "other.x"] as [Name] {
            #expect(throws: ParseError(111, "This is not a valid \(type)")) { try Self.types([key: value]) }
        }
    }

    // MARK: - Nested fields

    @Test("The first part of a dotted key becomes an object field, or an array field if an index follows")
    func places() throws {
        #expect(
            try Self.types(["a.b": 1, "c.0": 1, "d.0x": 1, "e.b.0": 1]) == [
                "a": .object, "c": .array, "d": .object, "e": .object,
            ])
        #expect(try Self.types(["a.n": ["__op": "Increment", "amount": 1]]) == ["a": .object])
    }

    @Test("The first of several dotted keys determines the new field's type")
    func firstPlace() throws {
        #expect(try Self.types(["a.b": 1, "a.0": 1]) == ["a": .object])
        #expect(try Self.types(["a.0": 1, "a.b": 1]) == ["a": .array])
        #expect(try Self.types(["data.b": 1, "data.0": 1]) == [:])
    }

    @Test("Removing a nested value adds no field")
    func removedPlace() throws {
        #expect(try Self.types(["a.b": ["__op": "Delete"], "title.x": ["__op": "Delete"]]) == [:])
    }

    @Test("Rejects a write to both a field and a value inside it")
    func fieldAndPlace() {
        for body in [
            ["a": 1, "a.b": 1], ["a.b": 1, "a": ["__op": "Delete"]], ["data": [:], "data.b": ["__op": "Delete"]],
        ]
            as [JSONObject]
        {
            let place = body["a"] == nil ? "data.b" : "a.b"
            #expect(throws: ParseError(105, "Invalid field name: \(place).")) { try Self.types(body) }
        }
    }

    // MARK: - Permission to add fields

    private static func add(_ body: JSONObject, _ caller: Caller, _ permissions: JSONObject) throws {
        let schema = ClassSchema.with(permissions, fields: ["title": .string, "data": .object])
        try WrittenFields.checkAddition(
            WrittenFields.operations(body, "Song", isCreating: false), to: schema, caller, isCreating: false)
    }

    @Test("Callers who can't add fields can still write existing ones")
    func addition() throws {
        let closed: JSONObject = ["update": ["*": true]]
        for body in [["title": "x", "data.new": 1], ["new": ["__op": "Delete"]], ["new.x": ["__op": "Delete"]], [:]]
            as [JSONObject]
        { try Self.add(body, .nobody, closed) }
        for body in [["new": 1], ["new.x": 1], ["title": "x", "new": .null]] as [JSONObject] {
            for caller in [Caller.nobody, .user("u1"), .readOnlyMaster] {
                #expect(throws: ParseError.denied(119, "Permission denied for action addField on class Song.")) {
                    try Self.add(body, caller, closed)
                }
            }
            try Self.add(body, .master, closed)
            try Self.add(body, .nobody, ["addField": ["*": true]])
            try Self.add(body, .user("u1"), ["addField": ["u1": true]])
        }
    }

    // MARK: - Points and polygons

    private static let point: JSONValue = ["__type": "GeoPoint", "latitude": 1, "longitude": 2]

    private static func checkPoints(_ body: JSONObject, in schema: ClassSchema) throws {
        let operations = try WrittenFields.operations(body, "Song", isCreating: true)
        try WrittenFields.checkPoints(WrittenFields.newFields(operations, in: schema), operations)
    }

    @Test("Rejects a write that adds a GeoPoint field and sets another one")
    func points() throws {
        let schema = ClassSchema.with(nil, fields: ["home": .geoPoint, "work": .geoPoint])
        try Self.checkPoints(["new": Self.point, "title": "x"], in: schema)
        try Self.checkPoints(["home": Self.point, "work": Self.point], in: schema)
        try Self.checkPoints(["new": Self.point, "list": [Self.point, Self.point]], in: schema)
        for body in [["new": Self.point, "home": Self.point], ["new": Self.point, "newer": Self.point]] as [JSONObject]
        {
            #expect(throws: ParseError(111, "there can only be one geopoint field in a class")) {
                try Self.checkPoints(body, in: schema)
            }
        }
    }
}
