import JSON
import OrderedCollections
import ParseModel
import Rules
import Testing

@Suite("Defaults and required fields")
struct FieldDefaultTests {
    typealias Operations = OrderedDictionary<Name, FieldOperation>

    private static func schema(_ fields: OrderedDictionary<Name, Field>, of name: String = "Song") -> ClassSchema {
        ClassSchema(name: name, fields: fields)
    }

    /// The operations of a write after applying defaults, and the names of the added fields.
    private static func apply(
        _ operations: Operations, _ schema: ClassSchema, isCreating: Bool = true, hasACL: Bool = false
    ) throws -> (operations: Operations, filled: [String]) {
        var operations = operations
        let filled = try WrittenFields.applyDefaults(
            &operations, hasACL: hasACL, schema, isCreating: isCreating)
        return (operations, filled)
    }

    // MARK: - Defaults

    private static let preset = schema([
        "n": Field(.number, defaultValue: 7), "s": Field(.string, defaultValue: "x"), "t": Field(.string),
    ])

    @Test("Fills in the default values of fields that a new object doesn't set")
    func defaults() throws {
        let result = try Self.apply(["s": .set("own"), "t": .set("t")], Self.preset)
        #expect(result.filled == ["n"])
        #expect(result.operations == ["s": .set("own"), "t": .set("t"), "n": .set(7)])
        #expect(try Self.apply([:], Self.preset).filled == ["n", "s"])
    }

    @Test("Fills in the default values of deleted and null fields", arguments: [FieldOperation.delete, .set(.null)])
    func noValue(operation: FieldOperation) throws {
        let result = try Self.apply(["n": operation, "s": .set("own")], Self.preset)
        #expect(result.filled == ["n"])
        #expect(result.operations["n"] == .set(7))
    }

    @Test(
        "Default values don't replace other values or operations, even empty ones",
        arguments: [FieldOperation.set(0), .set(""), .set(false), .set([]), .set([:]), .increment(1), .add([])])
    func otherValues(operation: FieldOperation) throws {
        let result = try Self.apply(["n": operation, "s": operation], Self.preset)
        #expect(result.filled == [])
        #expect(result.operations == ["n": operation, "s": operation])
    }

    @Test("Updates get no default values, even for removed fields")
    func update() throws {
        for operations in [[:], ["n": .delete, "s": .set(.null)]] as [Operations] {
            let result = try Self.apply(operations, Self.preset, isCreating: false)
            #expect(result.filled == [])
            #expect(result.operations == operations)
        }
    }

    @Test("Ignores a default value of null, which parse-server may have stored")
    func null() throws {
        let schema = Self.schema(["n": Field(.number, defaultValue: .null)])
        #expect(try Self.apply([:], schema).operations == [:])
        #expect(throws: ParseError(142, "n is required")) {
            try Self.apply([:], Self.schema(["n": Field(.number, required: true, defaultValue: .null)]))
        }
    }

    @Test("A look-alike field name doesn't prevent a default value")
    func lookAlikes() throws {
        let schema = Self.schema(["\u{E9}": Field(.number, defaultValue: 7)])
        #expect(try Self.apply(["e\u{301}": .set(1)], schema).filled == ["\u{E9}"])
    }

    // MARK: - Required fields

    private static let demanding = schema(["title": Field(.string, required: true)])
    private static let missing = ParseError(142, "title is required")

    @Test("Rejects new objects whose required fields are missing, null or an empty string")
    func required() throws {
        #expect(throws: Self.missing) { try Self.apply([:], Self.demanding) }
        for operation in [FieldOperation.delete, .set(.null), .set("")] {
            #expect(throws: Self.missing) { try Self.apply(["title": operation], Self.demanding) }
        }
        for operation in [FieldOperation.set(" "), .set(0), .set(false), .set([]), .increment(0)] {
            #expect(try Self.apply(["title": operation], Self.demanding).filled == [])
        }
    }

    @Test("Updates can omit required fields, but not remove or empty them")
    func requiredOnUpdate() throws {
        #expect(try Self.apply(["other": .set(1)], Self.demanding, isCreating: false).filled == [])
        for operation in [FieldOperation.delete, .set(.null), .set("")] {
            #expect(throws: Self.missing) { try Self.apply(["title": operation], Self.demanding, isCreating: false) }
        }
    }

    @Test("A default value fills a missing required field, but doesn't replace an empty string")
    func requiredWithDefault() throws {
        let schema = Self.schema(["title": Field(.string, required: true, defaultValue: "untitled")])
        #expect(try Self.apply([:], schema).operations == ["title": .set("untitled")])
        #expect(try Self.apply(["title": .set(.null)], schema).operations == ["title": .set("untitled")])
        #expect(throws: Self.missing) { try Self.apply(["title": .set("")], schema) }
        #expect(throws: Self.missing) { try Self.apply(["title": .delete], schema, isCreating: false) }
    }

    @Test("A field with required set to false can be missing")
    func notRequired() throws {
        #expect(try Self.apply([:], Self.schema(["title": Field(.string, required: false)])).filled == [])
    }

    @Test("Reports the first missing field")
    func first() {
        let schema = Self.schema(["b": Field(.string, required: true), "a": Field(.string, required: true)])
        #expect(throws: ParseError(142, "b is required")) { try Self.apply([:], schema) }
        #expect(throws: ParseError(142, "a is required")) { try Self.apply(["b": .set("x")], schema) }
    }

    // MARK: - Columns that the server fills

    @Test("Ignores options of columns that the server fills", arguments: ["objectId", "createdAt", "updatedAt"])
    func ownColumns(name: String) throws {
        let type = try #require(SystemClass.commonFields[name]).type
        for field in [Field(type, required: true), Field(type, defaultValue: "x")] {
            let result = try Self.apply(["a": .set(1)], Self.schema([Name(name): field]))
            #expect(result.filled == [])
            #expect(result.operations == ["a": .set(1)])
        }
    }

    @Test("Rejects writes without a required ACL, and never fills in its default value", arguments: [true, false])
    func requiredACL(isCreating: Bool) throws {
        let schema = Self.schema(["ACL": Field(.acl, required: true, defaultValue: [:])])
        #expect(try Self.apply([:], schema, isCreating: isCreating, hasACL: true).operations == [:])
        #expect(throws: ParseError(142, "ACL is required")) { try Self.apply([:], schema, isCreating: isCreating) }
    }

    @Test("Ignores options of a user's password, which is stored as a hash")
    func password() throws {
        for field in [Field(.string, required: true), Field(.string, defaultValue: "x")] {
            let result = try Self.apply(["username": .set("ann")], Self.schema(["password": field], of: "_User"))
            #expect(result.filled == [])
            #expect(result.operations == ["username": .set("ann")])
        }
        #expect(throws: ParseError(142, "password is required")) {
            try Self.apply([:], Self.schema(["password": Field(.string, required: true)]))
        }
    }

    // MARK: - Classes of the system

    private static let product: Operations = [
        "productIdentifier": .set("p"), "icon": .set(["__type": "File", "name": "a"]), "order": .set(1),
        "title": .set("t"), "subtitle": .set("s"),
    ]

    @Test("A role requires a name and an ACL")
    func roles() throws {
        let role = ClassSchema(name: "_Role")
        #expect(try Self.apply(["name": .set("Admins")], role, hasACL: true).filled == [])
        #expect(throws: ParseError(111, "name is required.")) { try Self.apply([:], role, hasACL: true) }
        #expect(throws: ParseError(111, "ACL is required.")) { try Self.apply(["name": .set("Admins")], role) }
        #expect(throws: ParseError(111, "name is required.")) { try Self.apply([:], role) }
    }

    @Test("Role updates can't remove the name or the ACL")
    func roleUpdates() throws {
        let role = ClassSchema(name: "_Role")
        #expect(try Self.apply([:], role, isCreating: false, hasACL: true).filled == [])
        #expect(throws: ParseError(111, "ACL is required.")) { try Self.apply([:], role, isCreating: false) }
        for operation in [FieldOperation.delete, .set(.null), .set("")] {
            #expect(throws: ParseError(111, "name is required.")) {
                try Self.apply(["name": operation], role, isCreating: false, hasACL: true)
            }
        }
    }

    @Test("A product requires an identifier, icon, order, title and subtitle", arguments: product.keys)
    func products(field: Name) throws {
        let schema = ClassSchema(name: "_Product")
        #expect(try Self.apply(Self.product, schema).filled == [])
        var incomplete = Self.product
        incomplete[field] = nil
        #expect(throws: ParseError(111, "\(field) is required.")) { try Self.apply(incomplete, schema) }
        #expect(throws: ParseError(111, "\(field) is required.")) {
            try Self.apply([field: .delete], schema, isCreating: false)
        }
        #expect(try Self.apply([:], schema, isCreating: false).filled == [])
    }
}
