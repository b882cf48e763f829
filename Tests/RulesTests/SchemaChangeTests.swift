import JSON
import OrderedCollections
import ParseModel
import Rules
import Testing

@Suite("Class changes through the schemas API")
struct SchemaChangeTests {
    private static let song = ClassSchema.with(
        nil, fields: ["title": .string, "n": .number, "place": .geoPoint, "album": .pointer("Album")])
    private static let removal: JSONValue = ["__op": "Delete"]

    /// The fields of a class after a change, without the default columns.
    private static func changed(
        _ fields: JSONValue?, of schema: ClassSchema = song
    ) throws -> OrderedDictionary<Name, Field> {
        var schema = schema
        try SchemaRules.apply(fields: fields, to: &schema)
        return schema.fields.filter { !SystemClass.isDefaultField($0.key.text, of: schema.name) }
    }

    private static let unchanged: OrderedDictionary<Name, Field> = [
        "title": Field(.string), "n": Field(.number), "place": Field(.geoPoint), "album": Field(.pointer("Album")),
    ]

    @Test("A change without fields changes nothing", arguments: [nil, .null, [:]] as [JSONValue?])
    func nothing(fields: JSONValue?) throws {
        #expect(try Self.changed(fields) == Self.unchanged)
    }

    @Test("Appends new fields and removes deleted ones")
    func addition() throws {
        let fields = try Self.changed(["a": ["type": "Date"], "n": Self.removal, "b": ["type": "File"]])
        #expect(
            fields == [
                "title": Field(.string), "place": Field(.geoPoint), "album": Field(.pointer("Album")),
                "a": Field(.date), "b": Field(.file),
            ])
        #expect(fields.keys.elements == ["title", "place", "album", "a", "b"])
    }

    @Test("Replaces the options of an existing field")
    func options() throws {
        var schema = Self.song
        schema.fields["title"] = Field(.string, required: true, defaultValue: "x")
        let fields = try Self.changed(
            ["title": ["type": "String", "defaultValue": "y"], "n": ["type": "Number", "required": true]], of: schema)
        #expect(fields["title"] == Field(.string, defaultValue: "y"))
        #expect(fields["n"] == Field(.number, required: true))
        #expect(fields.keys.elements == ["title", "n", "place", "album"])
    }

    @Test(
        "Rejects a different type for an existing field",
        arguments: [
            ["title": ["type": "Number"]], ["title": ["type": "Strange"]], ["title": [:]], ["title": .null],
            ["album": ["type": "Pointer", "targetClass": "Song"]],
            ["album": ["type": "Relation", "targetClass": "Album"]],
            ["album": ["type": "Pointer"]], ["new": ["type": "String"], "n": ["type": "String"]],
        ] as [JSONValue])
    func types(fields: JSONValue) throws {
        let name = try #require(fields.objectValue?.keys.last)
        #expect(throws: ParseError(255, "Field \(name) exists, cannot update.")) { try Self.changed(fields) }
    }

    @Test("Rejects a default value of the wrong type for an existing field")
    func badOptions() {
        #expect(
            throws: ParseError(111, "schema mismatch for Song.n default value; expected Number but got String")
        ) { try Self.changed(["n": ["type": "Number", "defaultValue": "7"]]) }
    }

    @Test("Rejects the removal of an unknown field", arguments: ["none", "Title", "\u{212A}"])
    func missing(name: String) {
        #expect(throws: ParseError(255, "Field \(name) does not exist, cannot delete.")) {
            try Self.changed(.object([Name(name): Self.removal]))
        }
    }

    @Test("Rejects the removal of default columns")
    func defaultColumns() {
        for name in ["objectId", "createdAt", "updatedAt", "ACL"] {
            #expect(throws: ParseError(136, "field \(name) cannot be changed")) {
                try Self.changed(.object([Name(name): Self.removal]))
            }
        }
        #expect(throws: ParseError(136, "field username cannot be changed")) {
            try Self.changed(["username": Self.removal], of: ClassSchema(name: "_User"))
        }
    }

    @Test("Allows a new GeoPoint field only if the existing one is removed")
    func points() throws {
        let words = "currently, only one GeoPoint field may exist in an object. Adding home when place already exists."
        #expect(throws: ParseError(111, words)) { try Self.changed(["home": ["type": "GeoPoint"]]) }
        let fields = try Self.changed(["home": ["type": "GeoPoint"], "place": Self.removal])
        #expect(fields.keys.elements == ["title", "n", "album", "home"])
        #expect(try Self.changed(["place": ["type": "GeoPoint"]]) == Self.unchanged)
    }

    @Test(
        "A change with an invalid part changes nothing",
        arguments: [
            ["title": ["__op": "Delete"], "none": ["__op": "Delete"]],
            ["title": ["__op": "Delete"], "new": ["type": "Strange"]],
            ["new": ["type": "String"], "n": ["type": "String"]],
            ["new": ["type": "String"], "a b": ["type": "String"]],
            ["title": ["__op": "Delete"], "objectId": ["__op": "Delete"]],
            ["title": ["__op": "Delete"], "n": ["type": "Number", "defaultValue": "7"]],
        ] as [JSONValue])
    func whole(fields: JSONValue) {
        var schema = Self.song
        #expect(throws: ParseError.self) { try SchemaRules.apply(fields: fields, to: &schema) }
        #expect(schema.fields == Self.song.fields)
    }
}
