import JSON
import ParseModel
import Rules
import ServerConfiguration
import Testing

@Suite("Class-level permissions as they are given")
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

    @Test("What is right is read as it is given")
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
        "Permissions that are no object are refused, unless they have no members and are not false",
        arguments: [
            ("", "invalid JSON"), (0, "invalid JSON"), (false, "invalid JSON"), (1, nil), (true, nil), ([], nil),
            ("*", "0 is not a valid operation for class level permissions"),
            ([[:]], "0 is not a valid operation for class level permissions"),
        ] as [(JSONValue, String?)])
    func noObject(value: JSONValue, refusal: String?) throws {
        #expect(try Self.refusal(value) == refusal)
        if refusal == nil { #expect(try Self.read(value) == ClassLevelPermissions(json: [:])) }
    }

    @Test("Only operations have permissions", arguments: ["read", "Find", "*", "", "acl", "\u{212A}"])
    func operations(name: String) throws {
        let words = "\(name) is not a valid operation for class level permissions"
        #expect(try Self.refusal(.object([Name(name): ["*": true]])) == words)
    }

    @Test(
        "Who may do an operation is an object",
        arguments: [("*", "*"), (true, "true"), ([], "[]")] as [(JSONValue, String)])
    func entries(value: JSONValue, shown: String) throws {
        #expect(
            try Self.refusal(["find": value])
                == "'\(shown)' is not a valid value for class level permissions find - must be an object")
    }

    @Test(
        "Whoever is let in is let in with true",
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

    @Test("Users are named by ids of letters and digits", arguments: badEntities)
    func entities(entity: String) throws {
        let words = "'\(entity)' is not a valid key for class level permissions"
        #expect(try Self.refusal(["find": .object([Name(entity): true])]) == words)
        #expect(try Self.refusal(["ACL": .object([Name(entity): ["read": true]])]) == words)
    }

    @Test("Where apps choose ids, users are named by any", arguments: badEntities.dropFirst())
    func customEntities(entity: String) throws {
        let options: JSONObject = ["allowCustomObjectId": true]
        #expect(try Self.refusal(["find": .object([Name(entity): true])], options) == nil)
        #expect(
            try Self.refusal(["find": ["": true]], options) == "'' is not a valid key for class level permissions")
    }

    // MARK: - Fields that contain users

    @Test(
        "Only pointers to users and arrays name users",
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

    @Test("Fields that name users are lists")
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

    @Test("Protected fields are lists by whom they are hidden from")
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

    @Test("Columns of every class are not protected", arguments: ["objectId", "createdAt", "updatedAt", "ACL"])
    func protectedDefaults(field: String) throws {
        #expect(
            try Self.refusal(["protectedFields": ["*": ["title", .string(field)]]])
                == "Default field '\(field)' can not be protected")
    }

    @Test(
        "Only fields that exist are protected",
        arguments: [("none", "none"), ("Title", "Title"), (7, "7")] as [(JSONValue, String)])
    func protectedUnknown(field: JSONValue, shown: String) throws {
        #expect(
            try Self.refusal(["protectedFields": ["u1": [field]]])
                == "Field '\(shown)' in protectedFields:u1 does not exist")
    }

    // MARK: - The ACL of new objects

    @Test(
        "The ACL of new objects says of each principal whether it reads and writes",
        arguments: [
            ["*": true], ["*": ["read": "yes"]], ["u1": ["read": true, "delete": true]], ["currentUser": []],
        ] as [JSONObject])
    func badACL(acl: JSONObject) throws {
        #expect(
            try Self.refusal(["ACL": .object(acl)])
                == "'\(JSONValue.object(acl).text)' is not a valid value for class level permissions acl")
    }

    @Test("An ACL that is no object is refused")
    func oddACL() throws {
        #expect(try Self.refusal(["ACL": "*"]) == "'*' is not a valid value for class level permissions acl")
        #expect(try Self.refusal(["ACL": .null]) == "'null' is not a valid value for class level permissions acl")
    }
}
