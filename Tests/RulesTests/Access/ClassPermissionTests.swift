import JSON
import ParseModel
import Rules
import Testing

@Suite("What class-level permissions let through")
struct ClassPermissionTests {
    private static let writes: [ClassOperation] = [.create, .update, .delete, .addField]
    private static let reads: [ClassOperation] = [.find, .count, .get]

    private static func denied(_ operation: ClassOperation) -> ParseError {
        .denied(119, "Permission denied for action \(operation.rawValue) on class Song.")
    }

    private static func pointing(_ field: String, to userId: String) -> Filter {
        .field(FieldPath(field), .equal(["__type": "Pointer", "className": "_User", "objectId": .string(userId)]))
    }

    @Test("A class without permissions is open to everybody", arguments: ClassOperation.allCases)
    func withoutPermissions(operation: ClassOperation) throws {
        #expect(try ClassSchema.with(nil).permit(operation, to: .nobody) == .everything)
    }

    @Test("An operation that permissions do not name is closed to all but keys", arguments: ClassOperation.allCases)
    func closed(operation: ClassOperation) throws {
        for schema in [ClassSchema.with([:]), .with([Name(operation.rawValue): [:]])] {
            for caller in [Caller.nobody, .user("u1", roles: ["role:Admins"])] {
                #expect(throws: Self.denied(operation)) { try schema.permit(operation, to: caller) }
            }
            #expect(try schema.permit(operation, to: .master) == .everything)
            #expect(try schema.permit(operation, to: .maintenance) == .everything)
        }
    }

    @Test("The read-only master key is let through to read, and to nothing else")
    func readOnlyMaster() throws {
        for operation in Self.reads {
            #expect(try ClassSchema.with([:]).permit(operation, to: .readOnlyMaster) == .everything)
        }
        for operation in Self.writes {
            #expect(throws: Self.denied(operation)) {
                try ClassSchema.with([:]).permit(operation, to: .readOnlyMaster)
            }
        }
    }

    @Test("Users and roles are let through by name, whose bytes count")
    func principals() throws {
        let schema = ClassSchema.with(["find": ["u1": true, "role:K": true, "\u{E9}": true]])
        for caller in [Caller.user("u1"), .user("u2", roles: ["role:K"]), .user("\u{E9}")] {
            #expect(try schema.permit(.find, to: caller) == .everything)
        }
        for caller in [Caller.nobody, .user("u2"), .user("u2", roles: ["role:\u{212A}"]), .user("e\u{301}")] {
            #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: caller) }
        }
    }

    @Test("A user whose id is a role's principal has not that role")
    func reservedId() {
        let schema = ClassSchema.with(["find": ["role:Admins": true]])
        #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: .user("role:Admins")) }
    }

    @Test("Who must be logged in is told so, as if the object were not there", arguments: ClassOperation.allCases)
    func authentication(operation: ClassOperation) throws {
        let schema = ClassSchema.with([Name(operation.rawValue): ["requiresAuthentication": true]])
        #expect(throws: ParseError.denied(101, "Permission denied, user needs to be authenticated.")) {
            try schema.permit(operation, to: .nobody)
        }
        #expect(try schema.permit(operation, to: .user("u1")) == .everything)
    }

    @Test("Fields that point to users let them through to those objects")
    func pointerFields() throws {
        let schema = ClassSchema.with(["get": ["pointerFields": ["owner", "editors"]]])
        #expect(
            try schema.permit(.get, to: .user("u1"))
                == .any([Self.pointing("owner", to: "u1"), Self.pointing("editors", to: "u1")]))
        #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: .user("u1")) }
    }

    @Test("Without a user, fields that point to users let through to no object")
    func pointerFieldsOfNobody() throws {
        let schema = ClassSchema.with(["find": ["pointerFields": ["owner"]]])
        #expect(try schema.permit(.find, to: .nobody) == .any([]))
    }

    @Test("Fields of readers count for reading, fields of writers for changing")
    func userFields() throws {
        let schema = ClassSchema.with(["readUserFields": ["owner"], "writeUserFields": ["editors"]])
        for operation in Self.reads {
            #expect(try schema.permit(operation, to: .user("u1")) == .any([Self.pointing("owner", to: "u1")]))
        }
        for operation in [ClassOperation.update, .delete, .addField] {
            #expect(try schema.permit(operation, to: .user("u1")) == .any([Self.pointing("editors", to: "u1")]))
        }
    }

    @Test("No field lets anybody create objects")
    func creation() {
        let schema = ClassSchema.with([
            "create": ["pointerFields": ["owner"]], "readUserFields": ["owner"], "writeUserFields": ["owner"],
        ])
        #expect(throws: Self.denied(.create)) { try schema.permit(.create, to: .user("u1")) }
    }

    @Test("Who is let in by name sees objects that point to others too")
    func principalsBeforeFields() throws {
        let schema = ClassSchema.with(["get": ["pointerFields": ["owner"], "role:Admins": true]])
        #expect(try schema.permit(.get, to: .user("u1", roles: ["role:Admins"])) == .everything)
        let open = ClassSchema.with(["get": ["pointerFields": ["owner"], "*": true]])
        #expect(try open.permit(.get, to: .nobody) == .everything)
    }

    @Test("With both a log-in and fields demanded, users are let through to their own objects")
    func authenticationAndFields() throws {
        let schema = ClassSchema.with(["get": ["requiresAuthentication": true, "pointerFields": ["owner"]]])
        #expect(try schema.permit(.get, to: .user("u1")) == .any([Self.pointing("owner", to: "u1")]))
        #expect(throws: ParseError.denied(101, "Permission denied, user needs to be authenticated.")) {
            try schema.permit(.get, to: .nobody)
        }
    }
}
