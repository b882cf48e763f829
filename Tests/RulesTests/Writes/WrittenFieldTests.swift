import JSON
import OrderedCollections
import ParseModel
import Rules
import Testing

@Suite("Operations of a write")
struct WrittenFieldTests {
    private static func operations(
        _ body: JSONObject, _ className: String = "Song", isCreating: Bool = true
    ) throws -> OrderedDictionary<Name, FieldOperation> {
        try WrittenFields.operations(body, className, isCreating: isCreating)
    }

    @Test("Reads each key as an operation on a field, in order")
    func order() throws {
        let operations = try Self.operations(
            ["z": 1, "a.b": "x", "m": ["__op": "Increment", "amount": 2], "d": ["__op": "Delete"], "n": .null])
        #expect(
            operations == [
                "z": .set(1), "a.b": .set("x"), "m": .increment(2), "d": .delete, "n": .set(.null),
            ])
        #expect(operations.keys.elements == ["z", "a.b", "m", "d", "n"])
    }

    @Test("Ignores columns that the server fills")
    func managed() throws {
        let body: JSONObject = ["objectId": "a", "createdAt": 1, "a": 1, "updatedAt": [:], "ACL": "x", "b": 2]
        #expect(try Self.operations(body) == ["a": .set(1), "b": .set(2)])
    }

    @Test("Rejects invalid operations with their own error codes")
    func badOperations() {
        #expect(throws: ParseError(108, "The Sum operator is not supported yet.")) {
            try Self.operations(["a": 1, "b": ["__op": "Sum"]])
        }
        #expect(throws: ParseError(107, "objects to add must be an array")) {
            try Self.operations(["b": ["__op": "Add"]])
        }
        #expect(throws: ParseError(107, "incrementing must provide a number")) {
            try Self.operations(["b": ["__op": "Increment"]], isCreating: false)
        }
    }

    // MARK: - Names

    @Test(
        "Rejects invalid field names",
        arguments: [
            "", "1a", "_a", "a-b", "a b", "$a", "a$", "a\"", "a'b", "a;", "\u{E9}", "\u{212A}", "a\0", "length",
            "className", "ctid", "xmin", "_rperm", "_hashed_password",
        ])
    func badNames(name: String) {
        for isCreating in [true, false] {
            #expect(throws: ParseError(105, "Invalid field name: \(name).")) {
                try Self.operations([Name(name): 1], isCreating: isCreating)
            }
        }
    }

    @Test("Allows the field className in _Hooks")
    func className() throws {
        #expect(try Self.operations(["className": "A"], "_Hooks") == ["className": .set("A")])
    }

    @Test(
        "Rejects malformed dotted keys",
        arguments: [
            ".a", ".", "a.", "a..b", "a.b.", "_a.b", "1.a", "a-b.c", "length.a", "$a.b", "authData.facebook",
            "authData.facebook.id", "\u{E9}.a", "a\u{301}.b",
        ])
    func badDottedNames(name: String) {
        #expect(throws: ParseError(105, "Invalid field name: \(name).")) { try Self.operations([Name(name): 1]) }
        #expect(throws: ParseError(105, "Invalid field name for update: \(name)")) {
            try Self.operations([Name(name): 1], isCreating: false)
        }
    }

    @Test("Rejects dollar signs and NUL in dotted keys", arguments: ["a.$b", "a.b$", "a.b.$c", "a.\0", "a.b\0c"])
    func badSteps(name: String) {
        for isCreating in [true, false] {
            #expect(throws: ParseError(105, "Invalid field name for update: \(name)")) {
                try Self.operations([Name(name): 1], isCreating: isCreating)
            }
        }
    }

    @Test("Allows other names after the first dot", arguments: ["a.0", "a.b-c", "a. ", "a.\u{E9}", "a._b", "a.1.x"])
    func steps(name: String) throws {
        #expect(try Self.operations([Name(name): 1], isCreating: false) == [Name(name): .set(1)])
    }

    @Test("Treats look-alike names as different")
    func lookAlikes() throws {
        let operations = try Self.operations(["a.\u{E9}": 1, "a.e\u{301}": 2], isCreating: false)
        #expect(operations.count == 2)
        #expect(operations["a.\u{E9}"] == .set(1))
        #expect(operations["a.e\u{301}"] == .set(2))
    }

    // MARK: - Sizes

    @Test("Limits a write to 5,000 keys")
    func count() throws {
        var body: JSONObject = ["objectId": "not counted"]
        for index in 0..<5000 { body["f\(index)"] = 1 }
        #expect(try Self.operations(body).count == 5000)
        body["one"] = 1
        #expect(throws: ParseError(107, "Number of keys of an object (5001) exceeds maximum allowed (5000)")) {
            try Self.operations(body)
        }
    }

    @Test("Limits a write to 1,000 dotted keys")
    func dottedCount() throws {
        var body: JSONObject = ["plain": 1]
        for index in 0..<1000 { body["a.f\(index)"] = 1 }
        #expect(try Self.operations(body).count == 1001)
        body["b.one"] = 1
        #expect(throws: ParseError(107, "Number of dotted keys (1001) exceeds maximum allowed (1000)")) {
            try Self.operations(body)
        }
    }

    @Test("Limits dotted keys to a depth of 100")
    func depth() throws {
        let deepest = "a" + String(repeating: ".b", count: 100)
        #expect(try Self.operations([Name(deepest): 1]).count == 1)
        #expect(throws: ParseError(105, "Invalid field name for update: \(deepest).b")) {
            try Self.operations([Name("\(deepest).b"): 1])
        }
    }

    // MARK: - Roles

    @Test(
        "Rejects role names that look like another principal",
        arguments: ["*", "role:Admins", "userField:owner", "requiresAuthentication", "authenticated", "currentUser"])
    func roleNames(name: String) throws {
        let refusal = ParseError(139, "Invalid role name: it is reserved or longer than 1000 bytes.")
        for isCreating in [true, false] {
            #expect(throws: refusal) {
                try Self.operations(["name": .string(name)], "_Role", isCreating: isCreating)
            }
        }
        #expect(throws: refusal, "a value set only on insert") {
            try Self.operations(["name": ["__op": "SetOnInsert", "amount": .string(name)]], "_Role")
        }
        #expect(try Self.operations(["name": .string(name)], "Song") == ["name": .set(.string(name))])
    }

    @Test("Allows other role names", arguments: ["Admins", "roles", "Role:a", "** "])
    func freeRoleNames(name: String) throws {
        #expect(try Self.operations(["name": .string(name)], "_Role") == ["name": .set(.string(name))])
    }
}
