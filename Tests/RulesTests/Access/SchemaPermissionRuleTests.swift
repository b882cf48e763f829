import JSON
import ParseModel
import Rules
import ServerConfiguration
import Testing

@Suite("Validation of class-level permissions")
struct SchemaPermissionRuleTests {
    private static func read(_ value: JSONValue, _ options: JSONObject = [:]) throws -> ClassLevelPermissions? {
        let schema = ClassSchema.with(
            nil,
            fields: [
                "title": .string, "owner": .pointer("_User"), "editors": .array, "album": .pointer("Album"),
                "fans": .relation("_User"), "data": .object,
            ])
        return try SchemaRules.permissions(value, fields: schema, deployment(options))
    }

    /// The error text for permissions, or nil if they are accepted. All errors have the same code.
    private static func refusal(_ value: JSONValue, _ options: JSONObject = [:]) throws -> String? {
        do {
            _ = try read(value, options)
            return nil
        } catch let error as ParseError {
            #expect(error.code == 107)
            #expect(error.publicMessage == nil)
            return error.message
        }
    }

    @Test("Null opens the class, and an empty object closes it")
    func extremes() throws {
        #expect(try Self.read(.null) == nil)
        #expect(try Self.read([:]) == ClassLevelPermissions(json: [:]))
    }

    @Test("Accepts valid permissions unchanged")
    func valid() throws {
        let json: JSONObject = [
            "find": ["*": true, "role:Admins": true], "get": ["requiresAuthentication": true],
            "count": ["abcXYZ019": true], "create": ["authenticated": true],
            "update": ["pointerFields": ["owner", "editors"]], "delete": [:], "addField": ["role:a b-c": true],
            "readUserFields": ["owner"], "writeUserFields": ["editors"],
            "protectedFields": [
                "*": ["title"], "authenticated": [], "role:Admins": [], "u1": ["data"], "userField:owner": [],
                "userField:later": ["title", "owner"],
            ],
            "ACL": [
                "*": ["read": true], "currentUser": ["read": true, "write": true], "role:Admins": ["write": false],
                "u1": [:],
            ],
        ]
        #expect(try Self.read(.object(json)) == ClassLevelPermissions(json: json))
    }

    @Test(
        "Rejects permissions that aren't objects, except truthy values without members",
        arguments: [
            ("", "invalid JSON"), (0, "invalid JSON"), (false, "invalid JSON"), (1, nil), (true, nil), ([], nil),
            ("*", "0 is not a valid operation for class level permissions"),
            ([[:]], "0 is not a valid operation for class level permissions"),
        ] as [(JSONValue, String?)])
    func noObject(value: JSONValue, refusal: String?) throws {
        #expect(try Self.refusal(value) == refusal)
        if refusal == nil { #expect(try Self.read(value) == ClassLevelPermissions(json: [:])) }
    }

    @Test("Rejects unknown operations", arguments: ["read", "Find", "*", "", "acl", "\u{212A}"])
    func operations(name: String) throws {
        let words = "\(name) is not a valid operation for class level permissions"
        #expect(try Self.refusal(.object([Name(name): ["*": true]])) == words)
    }

    @Test(
        "Rejects an operation whose value isn't an object",
        arguments: [("*", "*"), (true, "true"), ([], "[]")] as [(JSONValue, String)])
    func entries(value: JSONValue, shown: String) throws {
        #expect(
            try Self.refusal(["find": value])
                == "'\(shown)' is not a valid value for class level permissions find - must be an object")
    }

    @Test(
        "Rejects a principal whose value isn't true",
        arguments: [(false, "false"), ("true", "true"), (1, "1"), (.null, "null"), ([:], "{}")] as [(JSONValue, String)]
    )
    func flags(value: JSONValue, shown: String) throws {
        for entity in ["*", "role:Admins", "requiresAuthentication", "u1"] {
            #expect(
                try Self.refusal(["get": .object([Name(entity): value])])
                    == "'\(shown)' is not a valid value for class level permissions get:\(entity):\(shown)")
        }
    }

    private static let badEntities = ["", "role:", "a-b", "a b", "* ", "u_1", "\u{E9}", "\u{212A}", "userField:owner"]

    @Test("Rejects invalid user ids and roles", arguments: badEntities)
    func entities(entity: String) throws {
        let words = "'\(entity)' is not a valid key for class level permissions"
        #expect(try Self.refusal(["find": .object([Name(entity): true])]) == words)
        #expect(try Self.refusal(["ACL": .object([Name(entity): ["read": true]])]) == words)
    }

    @Test("allowCustomObjectId allows any user id except an empty one", arguments: badEntities.dropFirst())
    func customEntities(entity: String) throws {
        let options: JSONObject = ["allowCustomObjectId": true]
        #expect(try Self.refusal(["find": .object([Name(entity): true])], options) == nil)
        #expect(
            try Self.refusal(["find": ["": true]], options) == "'' is not a valid key for class level permissions")
    }

    // MARK: - Fields that contain users

    @Test(
        "Rejects pointer permissions on fields other than user pointers and arrays",
        arguments: [
            ("title", "title"), ("album", "album"), ("fans", "fans"), ("data", "data"), ("none", "none"), (5, "5"),
        ]
            as [(JSONValue, String)])
    func userFields(field: JSONValue, shown: String) throws {
        func words(_ operation: String) -> String {
            "'\(shown)' is not a valid column for class level pointer permissions \(operation)"
        }
        let list: JSONValue = ["owner", field]
        #expect(try Self.refusal(["update": ["pointerFields": list]]) == words("update"))
        #expect(try Self.refusal(["readUserFields": list]) == words("readUserFields"))
        #expect(try Self.refusal(["writeUserFields": list]) == words("writeUserFields"))
    }

    @Test("Rejects pointer permissions that aren't arrays")
    func userFieldLists() throws {
        #expect(
            try Self.refusal(["get": ["pointerFields": "owner"]])
                == "'owner' is not a valid value for get[pointerFields] - expected an array.")
        for key in ["readUserFields", "writeUserFields"] {
            #expect(
                try Self.refusal(.object([Name(key): ["owner": true]]))
                    == "'{\"owner\":true}' is not a valid value for class level permissions \(key) - must be an array")
        }
    }

    // MARK: - Protected fields

    @Test("Rejects protectedFields that aren't an object of arrays with valid principals as keys")
    func protectedForms() throws {
        #expect(
            try Self.refusal(["protectedFields": ["title"]])
                == "'[\"title\"]' is not a valid value for class level permissions protectedFields - must be an object")
        #expect(
            try Self.refusal(["protectedFields": ["role:A": "title"]])
                == "'title' is not a valid value for protectedFields[role:A] - expected an array.")
        #expect(
            try Self.refusal(["protectedFields": ["a-b": []]])
                == "'a-b' is not a valid key for class level permissions")
    }

    @Test("Rejects default fields as protected fields", arguments: ["objectId", "createdAt", "updatedAt", "ACL"])
    func protectedDefaults(field: String) throws {
        #expect(
            try Self.refusal(["protectedFields": ["*": ["title", .string(field)]]])
                == "Default field '\(field)' can not be protected")
    }

    @Test(
        "Rejects unknown protected fields",
        arguments: [("none", "none"), ("Title", "Title"), (7, "7")] as [(JSONValue, String)])
    func protectedUnknown(field: JSONValue, shown: String) throws {
        #expect(
            try Self.refusal(["protectedFields": ["u1": [field]]])
                == "Field '\(shown)' in protectedFields:u1 does not exist")
    }

    // MARK: - The ACL of new objects

    @Test(
        "Rejects a default ACL with entries other than read and write flags",
        arguments: [
            ["*": true], ["*": ["read": "yes"]], ["u1": ["read": true, "delete": true]], ["currentUser": []],
        ] as [JSONObject])
    func badACL(acl: JSONObject) throws {
        #expect(
            try Self.refusal(["ACL": .object(acl)])
                == "'\(JSONValue.object(acl).text)' is not a valid value for class level permissions acl")
    }

    @Test("Rejects a default ACL that isn't an object")
    func oddACL() throws {
        #expect(try Self.refusal(["ACL": "*"]) == "'*' is not a valid value for class level permissions acl")
        #expect(try Self.refusal(["ACL": .null]) == "'null' is not a valid value for class level permissions acl")
    }
}
