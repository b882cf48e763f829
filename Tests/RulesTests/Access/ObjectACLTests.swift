import JSON
import ParseModel
import Rules
import Testing

@Suite("Object ACLs")
struct ObjectACLTests {
    private static let locked = ACL()

    @Test("Treats a missing, null or falsy ACL as absent")
    func absent() throws {
        #expect(try ObjectACL.requested(nil) == nil)
        #expect(try ObjectACL.requested(.null) == nil)
        for value in [JSONValue.bool(false), 0, ""] { #expect(try ObjectACL.requested(value) == nil) }
    }

    @Test("Reads an object as an ACL; an empty one denies everyone")
    func given() throws {
        #expect(
            try ObjectACL.requested(["*": ["read": true], "u1": ["read": true, "write": true]])
                == ACL(readers: ["*", "u1"], writers: ["u1"]))
        #expect(try ObjectACL.requested([:]) == Self.locked)
    }

    @Test(
        "An invalid ACL denies everyone instead of allowing everyone",
        arguments: [
            true, 1, "public", [], ["*"], ["__op": "Delete"], ["__op": "Add", "objects": [], "*": ["read": true]],
        ] as [JSONValue])
    func odd(value: JSONValue) throws {
        #expect(try ObjectACL.requested(value) == Self.locked)
    }

    @Test("Rejects an ACL for an unsaved user with 123")
    func unresolved() {
        #expect(throws: ParseError(123, "Invalid ACL.")) {
            try ObjectACL.requested(["*unresolved": ["read": true]])
        }
    }

    // MARK: - The class's own

    @Test("A class has no default ACL unless its permissions contain one that isn't public")
    func withoutPreset() {
        #expect(ObjectACL.preset(.with(nil), .nobody) == nil)
        #expect(ObjectACL.preset(.with(["find": ["*": true]]), .nobody) == nil)
        #expect(ObjectACL.preset(.with(["ACL": ["*": ["read": true, "write": true]]]), .nobody) == nil)
    }

    @Test("Replaces currentUser in a class's default ACL with the caller")
    func preset() {
        let schema = ClassSchema.with([
            "ACL": [
                "*": ["read": true], "role:Admins": ["write": true], "currentUser": ["read": true, "write": true],
            ]
        ])
        #expect(
            ObjectACL.preset(schema, .user("u1"))
                == ACL(readers: ["*", "u1"], writers: ["role:Admins", "u1"]))
        #expect(ObjectACL.preset(schema, .nobody) == ACL(readers: ["*"], writers: ["role:Admins"]))
    }

    @Test("A default ACL for currentUser alone denies everyone if nobody is logged in")
    func presetOfNobody() {
        let schema = ClassSchema.with(["ACL": ["currentUser": ["read": true, "write": true]]])
        #expect(ObjectACL.preset(schema, .nobody) == Self.locked)
        #expect(ObjectACL.preset(schema, .user("u1")) == ACL(readers: ["u1"], writers: ["u1"]))
        #expect(ObjectACL.preset(.with(["ACL": [:]]), .user("u1")) == Self.locked)
    }

    @Test("A default ACL leaves out a user whose id looks like another principal", arguments: ["*", "role:Admins"])
    func presetOfReservedId(id: String) {
        let schema = ClassSchema.with(["ACL": ["currentUser": ["read": true, "write": true]]])
        #expect(ObjectACL.preset(schema, .user(id)) == Self.locked)
    }

    @Test("An invalid default ACL denies everyone instead of allowing everyone")
    func unreadablePreset() {
        var many: JSONObject = [:]
        for index in 0...HardLimits.principals { many["u\(index)"] = ["read": true] }
        for preset in [["*unresolved": ["read": true]], .object(many)] as [JSONValue] {
            #expect(ObjectACL.preset(.with(["ACL": preset]), .user("u1")) == Self.locked)
        }
    }

    // MARK: - Users

    @Test("New users can read and write themselves; others can read them unless users are private")
    func newUser() throws {
        for value in [nil, JSONValue.null, false, 0, ""] {
            #expect(
                try ObjectACL.ofUser(value, objectId: "u1", isPrivate: true) == ACL(readers: ["u1"], writers: ["u1"]))
            #expect(
                try ObjectACL.ofUser(value, objectId: "u1", isPrivate: false)
                    == ACL(readers: ["*", "u1"], writers: ["u1"]))
        }
    }

    @Test("A user's ACL always lets the user read and write", arguments: [true, false])
    func ownACL(isPrivate: Bool) throws {
        func acl(_ value: JSONValue, isUpdate: Bool) throws -> ACL? {
            try ObjectACL.ofUser(value, objectId: "u1", isUpdate: isUpdate, isPrivate: isPrivate)
        }
        for isUpdate in [false, true] {
            #expect(
                try acl(["*": ["read": true], "u1": ["read": false]], isUpdate: isUpdate)
                    == ACL(readers: ["*", "u1"], writers: ["u1"]))
            #expect(
                try acl(["u1": ["read": true, "write": true]], isUpdate: isUpdate)
                    == ACL(readers: ["u1"], writers: ["u1"]))
            #expect(try acl(["__op": "Delete"], isUpdate: isUpdate) == ACL(readers: ["u1"], writers: ["u1"]))
            #expect(try acl(true, isUpdate: isUpdate) == ACL(readers: ["u1"], writers: ["u1"]))
        }
    }

    @Test("An update without an ACL keeps it; false makes the user private")
    func update() throws {
        #expect(try ObjectACL.ofUser(nil, objectId: "u1", isUpdate: true, isPrivate: false) == nil)
        #expect(try ObjectACL.ofUser(.null, objectId: "u1", isUpdate: true, isPrivate: false) == nil)
        #expect(
            try ObjectACL.ofUser(false, objectId: "u1", isUpdate: true, isPrivate: false)
                == ACL(readers: ["u1"], writers: ["u1"]))
    }

    @Test("A look-alike id in a user's ACL doesn't replace the user's own entry")
    func lookAlike() throws {
        let (letter, sign) = LookAlike.kelvin
        let value: JSONValue = .object([Name(letter): ["read": true, "write": true]])
        #expect(
            try ObjectACL.ofUser(value, objectId: sign, isPrivate: true)
                == ACL(readers: [Name(letter), Name(sign)], writers: [Name(letter), Name(sign)]))
    }
}
