import JSON
import ParseModel
import Testing

@Suite("ACLs and class-level permissions")
struct PermissionTests {
    @Test("Reads an ACL into readers and writers, and only true grants access")
    func lists() throws {
        let acl = try ACL(json: [
            "*": ["read": true], "u1": ["read": true, "write": true], "role:Admins": ["write": true],
            "u2": ["read": false], "u3": [:],
        ])
        #expect(acl.readers == ["*", "u1"])
        #expect(acl.writers == ["u1", "role:Admins"])
        #expect(
            acl.json == ["*": ["read": true], "u1": ["read": true, "write": true], "role:Admins": ["write": true]])
    }

    @Test("ACLs round-trip through JSON, including an empty one")
    func roundTrip() throws {
        for acl in [ACL(), ACL(readers: ["*"], writers: ["a", "b"]), ACL(readers: ["b", "a"], writers: [])] {
            let again = try ACL(json: acl.json)
            #expect(Set(again.readers) == Set(acl.readers))
            #expect(Set(again.writers) == Set(acl.writers))
        }
    }

    @Test("Rejects an ACL for an unsaved user with 123")
    func unresolved() {
        let error = #expect(throws: ParseError.self) { try ACL(json: ["*unresolved": ["read": true]]) }
        #expect(error == ParseError(123, "Invalid ACL."))
    }

    @Test("A class without permissions allows every operation to everyone")
    func open() {
        for operation in ClassOperation.allCases {
            #expect(ClassLevelPermissions.open.admits(["*"], to: operation))
            #expect(ClassSchema(name: "A").effectivePermissions.admits([], to: operation))
        }
    }

    @Test("Denies operations that the permissions omit")
    func closed() {
        let permissions = ClassLevelPermissions(json: ["find": ["*": true]])
        #expect(permissions.admits(["*"], to: .find))
        for operation in ClassOperation.allCases where operation != .find {
            #expect(!permissions.admits(["*", "u1", "role:Admins"], to: operation))
        }
    }

    @Test("Allows only users and roles listed as true")
    func principals() {
        let permissions = ClassLevelPermissions(json: [
            "get": ["u1": true, "role:Admins": true, "u2": false]
        ])
        #expect(permissions.admits(["*", "u1"], to: .get))
        #expect(permissions.admits(["*", "role:Admins"], to: .get))
        #expect(!permissions.admits(["*", "u2"], to: .get))
        #expect(!permissions.admits(["*"], to: .get))
        #expect(!permissions.admits([], to: .get))
    }

    @Test("Reads requiresAuthentication, pointer, user and protected fields, and the default ACL")
    func details() {
        let permissions = ClassLevelPermissions(json: [
            "find": ["requiresAuthentication": true, "pointerFields": ["owner"]],
            "update": ["pointerFields": ["editor"]], "create": ["pointerFields": ["owner"]],
            "readUserFields": ["reader"], "writeUserFields": ["writer"],
            "protectedFields": ["*": ["secret"], "role:Admins": []], "ACL": ["*": ["read": true]],
        ])
        #expect(permissions[.find].requiresAuthentication)
        #expect(!permissions.admits(["*"], to: .find))
        #expect(permissions.userFields(for: .find) == ["owner", "reader"])
        #expect(permissions.userFields(for: .get) == ["reader"])
        #expect(permissions.userFields(for: .update) == ["editor", "writer"])
        #expect(permissions.userFields(for: .delete) == ["writer"])
        #expect(permissions.userFields(for: .create) == [])
        #expect(permissions.protectedFields == ["*": ["secret"], "role:Admins": []])
        #expect(permissions.defaultACL == ["*": ["read": true]])
    }

    @Test("Preserves permissions as given, including unknown keys")
    func source() {
        let json: JSONObject = ["find": ["*": true], "unknown": 5, "protectedFields": [:]]
        #expect(ClassLevelPermissions(json: json).source == json)
    }
}
