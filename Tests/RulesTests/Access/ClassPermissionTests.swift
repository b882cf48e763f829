import JSON
import ParseModel
import Rules
import Testing

@Suite("Class-level permissions")
struct ClassPermissionTests {
    private static let writes: [ClassOperation] = [.create, .update, .delete, .addField]
    private static let reads: [ClassOperation] = [.find, .count, .get]

    private static func denied(_ operation: ClassOperation) -> ParseError {
        .denied(119, "Permission denied for action \(operation.rawValue) on class Song.")
    }

    private static func pointing(_ field: String, to userId: String) -> Filter {
        .field(FieldPath(field), .equal(["__type": "Pointer", "className": "_User", "objectId": .string(userId)]))
    }

    @Test("A class without permissions is open to everyone", arguments: ClassOperation.allCases)
    func withoutPermissions(operation: ClassOperation) throws {
        #expect(try ClassSchema.with(nil).permit(operation, to: .nobody) == .everything)
    }

    @Test("Without an entry, an operation requires the master or maintenance key", arguments: ClassOperation.allCases)
    func closed(operation: ClassOperation) throws {
        for schema in [ClassSchema.with([:]), .with([Name(operation.rawValue): [:]])] {
            for caller in [Caller.nobody, .user("u1", roles: ["role:Admins"])] {
                #expect(throws: Self.denied(operation)) { try schema.permit(operation, to: caller) }
            }
            #expect(try schema.permit(operation, to: .master) == .everything)
            #expect(try schema.permit(operation, to: .maintenance) == .everything)
        }
    }

    @Test("The read-only master key can read, but not write")
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

    @Test("Allows users and roles by name, compared byte by byte")
    func principals() throws {
        let schema = ClassSchema.with(["find": ["u1": true, "role:K": true, "\u{E9}": true]])
        for caller in [Caller.user("u1"), .user("u2", roles: ["role:K"]), .user("\u{E9}")] {
            #expect(try schema.permit(.find, to: caller) == .everything)
        }
        for caller in [Caller.nobody, .user("u2"), .user("u2", roles: ["role:\u{212A}"]), .user("e\u{301}")] {
            #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: caller) }
        }
    }

    @Test("A user id that looks like a role doesn't grant the role's permissions")
    func reservedId() {
        let schema = ClassSchema.with(["find": ["role:Admins": true]])
        #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: .user("role:Admins")) }
    }

    @Test("requiresAuthentication denies callers without a user with 101", arguments: ClassOperation.allCases)
    func authentication(operation: ClassOperation) throws {
        let schema = ClassSchema.with([Name(operation.rawValue): ["requiresAuthentication": true]])
        #expect(throws: ParseError.denied(101, "Permission denied, user needs to be authenticated.")) {
            try schema.permit(operation, to: .nobody)
        }
        #expect(try schema.permit(operation, to: .user("u1")) == .everything)
    }

    @Test("pointerFields allow only objects that point to the user")
    func pointerFields() throws {
        let schema = ClassSchema.with(["get": ["pointerFields": ["owner", "editors"]]])
        #expect(
            try schema.permit(.get, to: .user("u1"))
                == .any([Self.pointing("owner", to: "u1"), Self.pointing("editors", to: "u1")]))
        #expect(throws: Self.denied(.find)) { try schema.permit(.find, to: .user("u1")) }
    }

    @Test("pointerFields allow no objects to callers without a user")
    func pointerFieldsOfNobody() throws {
        let schema = ClassSchema.with(["find": ["pointerFields": ["owner"]]])
        #expect(try schema.permit(.find, to: .nobody) == .any([]))
    }

    @Test("readUserFields apply to reads; writeUserFields to updates, deletes and new fields")
    func userFields() throws {
        let schema = ClassSchema.with(["readUserFields": ["owner"], "writeUserFields": ["editors"]])
        for operation in Self.reads {
            #expect(try schema.permit(operation, to: .user("u1")) == .any([Self.pointing("owner", to: "u1")]))
        }
        for operation in [ClassOperation.update, .delete, .addField] {
            #expect(try schema.permit(operation, to: .user("u1")) == .any([Self.pointing("editors", to: "u1")]))
        }
    }

    @Test("Pointer permissions never allow creating objects")
    func creation() {
        let schema = ClassSchema.with([
            "create": ["pointerFields": ["owner"]], "readUserFields": ["owner"], "writeUserFields": ["owner"],
        ])
        #expect(throws: Self.denied(.create)) { try schema.permit(.create, to: .user("u1")) }
    }

    @Test("Callers allowed by name or role aren't limited by pointerFields")
    func principalsBeforeFields() throws {
        let schema = ClassSchema.with(["get": ["pointerFields": ["owner"], "role:Admins": true]])
        #expect(try schema.permit(.get, to: .user("u1", roles: ["role:Admins"])) == .everything)
        let open = ClassSchema.with(["get": ["pointerFields": ["owner"], "*": true]])
        #expect(try open.permit(.get, to: .nobody) == .everything)
    }

    @Test("With requiresAuthentication and pointerFields, users can access only their own objects")
    func authenticationAndFields() throws {
        let schema = ClassSchema.with(["get": ["requiresAuthentication": true, "pointerFields": ["owner"]]])
        #expect(try schema.permit(.get, to: .user("u1")) == .any([Self.pointing("owner", to: "u1")]))
        #expect(throws: ParseError.denied(101, "Permission denied, user needs to be authenticated.")) {
            try schema.permit(.get, to: .nobody)
        }
    }
}
