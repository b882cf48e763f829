import JSON
import ParseModel
import Rules
import Testing

/// Protected fields. A field is hidden if it is in every set that applies to the caller.
@Suite("Protected fields")
struct ProtectedFieldTests {
    private static let fields: KeyValuePairs<Name, FieldType> = [
        "a": .string, "b": .string, "c": .string, "owner": .pointer("_User"), "editors": .array,
    ]

    private static func song(_ protected: JSONObject) -> ClassSchema {
        .with(["get": ["*": true], "find": ["*": true], "protectedFields": .object(protected)], fields: fields)
    }

    private static func hidden(
        _ schema: ClassSchema, from caller: Caller, _ options: JSONObject = [:], isOwnUser: Bool = false
    ) throws -> Set<Name> {
        try access(schema, caller, options, isOwnUser: isOwnUser).hidden
    }

    private static func access(
        _ schema: ClassSchema, _ caller: Caller, _ options: JSONObject = [:], isOwnUser: Bool = false
    ) throws -> ReadAccess {
        try ProtectedFields(try deployment(options)).readAccess(schema, .find, caller, isOwnUser: isOwnUser)
    }

    /// Owner rules as texts: the field, the user, the hidden fields in order.
    private static func rules(_ access: ReadAccess) -> Set<String> {
        Set(access.ownerRules.map { "\($0.field ?? "itself") \($0.userId) \($0.hidden.sorted().texts)" })
    }

    // MARK: - Sets that apply to a caller

    @Test("Hides nothing without protected fields")
    func open() throws {
        for schema in [ClassSchema.with(nil), Self.song([:]), Self.song(["*": []])] {
            #expect(try Self.hidden(schema, from: .nobody) == [])
            #expect(try Self.hidden(schema, from: .user("u1")) == [])
        }
    }

    @Test("The set * applies to callers without a user and to users that no other set covers")
    func everybody() throws {
        let schema = Self.song(["*": ["a", "b"]])
        for caller in [Caller.nobody, .user("u1"), .user("u1", roles: ["role:Admins"])] {
            #expect(try Self.hidden(schema, from: caller) == ["a", "b"])
        }
    }

    @Test("Hides only fields that are in every set that applies to the caller")
    func intersection() throws {
        let schema = Self.song([
            "*": ["a", "b", "c"], "authenticated": ["a", "b"], "role:Editors": ["b", "c"], "u1": [],
        ])
        #expect(try Self.hidden(schema, from: .nobody) == ["a", "b", "c"])
        #expect(try Self.hidden(schema, from: .user("u2")) == ["a", "b"])
        #expect(try Self.hidden(schema, from: .user("u2", roles: ["role:Editors"])) == ["b"])
        #expect(try Self.hidden(schema, from: .user("u2", roles: ["role:Others"])) == ["a", "b"])
        #expect(try Self.hidden(schema, from: .user("u1", roles: ["role:Editors"])) == [])
    }

    @Test("The set authenticated doesn't apply to callers without a user")
    func authenticatedAlone() throws {
        let schema = Self.song(["authenticated": ["a"], "role:Editors": ["a", "b"], "u1": ["c"]])
        #expect(try Self.hidden(schema, from: .nobody) == [])
        #expect(try Self.hidden(schema, from: .user("u2")) == ["a"])
        #expect(try Self.hidden(schema, from: .user("u1")) == [])
    }

    @Test("Privileged keys see all fields of all objects", arguments: [Caller.master, .readOnlyMaster, .maintenance])
    func keys(caller: Caller) throws {
        let access = try Self.access(Self.song(["*": ["a"], "userField:owner": ["b"]]), caller)
        #expect(access.hidden == [])
        #expect(access.ownerRules.isEmpty)
        #expect(access.readers == nil)
    }

    @Test("Sets for look-alike ids and roles don't apply")
    func lookAlikes() throws {
        let (composed, decomposed) = LookAlike.acute
        let schema = Self.song(["*": ["a"], "K": [], "role:K": [], Name(composed): []])
        for caller in [
            Caller.user("\u{212A}"), .user("u1", roles: ["role:\u{212A}"]), .user(decomposed),
        ] { #expect(try Self.hidden(schema, from: caller) == ["a"]) }
        for caller in [Caller.user("K"), .user("u1", roles: ["role:K"]), .user(composed)] {
            #expect(try Self.hidden(schema, from: caller) == [])
        }
    }

    @Test("A set for a role or field doesn't apply to a user whose id looks like it")
    func reservedIds() throws {
        let schema = Self.song(["*": ["a"], "role:Admins": [], "userField:owner": []])
        for id in ["role:Admins", "userField:owner"] {
            #expect(try Self.hidden(schema, from: .user(id)) == ["a"])
        }
    }

    // MARK: - The option

    @Test("The option protectedFields adds to the sets of the class")
    func option() throws {
        let options: JSONObject = [
            "protectedFields": ["Song": ["*": ["b"], "role:Editors": ["c"]], "Album": ["*": ["c"]]]
        ]
        let schema = Self.song(["*": ["a", "c"]])
        #expect(try Self.hidden(schema, from: .nobody, options) == ["a", "b", "c"])
        #expect(try Self.hidden(schema, from: .user("u1", roles: ["role:Editors"]), options) == ["c"])
        #expect(try Self.hidden(.with(nil), from: .nobody, options) == ["b"])
    }

    @Test("The option protectedFields compares class names byte by byte")
    func optionOfLookAlike() throws {
        let options: JSONObject = ["protectedFields": ["\u{212A}": ["*": ["title"]]]]
        #expect(try Self.hidden(.with(nil, name: "K"), from: .nobody, options) == [])
        #expect(try Self.hidden(.with(nil, name: "\u{212A}"), from: .nobody, options) == ["title"])
    }

    // MARK: - Fields that contain users

    @Test("A userField set applies object by object, to the user in that field")
    func ownerRules() throws {
        let access = try Self.access(
            Self.song(["*": ["a", "b"], "userField:owner": ["b"], "userField:editors": []]), .user("u1"))
        #expect(access.hidden == ["a", "b"])
        #expect(Self.rules(access) == ["owner u1 [\"b\"]", "editors u1 []"])
    }

    @Test("userField sets don't apply to callers without a user")
    func ownerRulesOfNobody() throws {
        let access = try Self.access(Self.song(["*": ["a"], "userField:owner": []]), .nobody)
        #expect(access.hidden == ["a"])
        #expect(access.ownerRules.isEmpty)
    }

    // MARK: - Users

    @Test("Hides other users' email and authData by default")
    func users() throws {
        let access = try Self.access(.with(nil, name: "_User"), .user("u1"))
        #expect(access.hidden == ["email", "authData"])
        #expect(Self.rules(access) == ["itself u1 [\"authData\"]"])
        #expect(try Self.hidden(.with(nil, name: "_User"), from: .nobody) == ["email", "authData"])
    }

    @Test("No protectedFields set exposes other users' authData")
    func providers() throws {
        let schema = ClassSchema.with(["find": ["*": true], "protectedFields": ["u1": []]], name: "_User")
        #expect(try Self.hidden(schema, from: .user("u1")) == ["authData"])
        let friends = ClassSchema.with(
            ["find": ["*": true], "protectedFields": ["userField:friends": []]], name: "_User")
        #expect(
            Self.rules(try Self.access(friends, .user("u1"))) == [
                "friends u1 [\"authData\"]", "itself u1 [\"authData\"]",
            ])
    }

    @Test("Users who request themselves see all their fields")
    func ownUser() throws {
        let access = try Self.access(.with(nil, name: "_User"), .user("u1"), isOwnUser: true)
        #expect(access.hidden == [])
        #expect(access.ownerRules.isEmpty)
    }

    @Test("Without protectedFieldsOwnerExempt, users see their authData but not their protected fields")
    func ownUserNotExempt() throws {
        let options: JSONObject = ["protectedFieldsOwnerExempt": false]
        let schema = ClassSchema.with(nil, name: "_User")
        let own = try Self.access(schema, .user("u1"), options, isOwnUser: true)
        #expect(own.hidden == ["email", "authData"])
        #expect(Self.rules(own) == ["itself u1 [\"email\"]"])
        let found = try Self.access(schema, .user("u1"), options)
        #expect(Self.rules(found) == ["itself u1 [\"authData\", \"email\"]"])
    }

    @Test("Only users are exempt, not objects of other classes with a user's id")
    func ownUserOfAnotherClass() throws {
        let access = try Self.access(Self.song(["*": ["a"]]), .user("u1"), isOwnUser: true)
        #expect(access.hidden == ["a"])
        #expect(access.ownerRules.isEmpty)
    }

    // MARK: - Other parts of a read access

    @Test("Read access contains the caller's principals and the class's permission filter")
    func rights() throws {
        let protected = ProtectedFields(try deployment(), loginData: { _ in ["shown": true] })
        let schema = ClassSchema.with(["get": ["pointerFields": ["owner"]]])
        let access = try protected.readAccess(schema, .get, .user("u1", roles: ["role:A"]))
        #expect(access.readers == ["*", "role:A", "u1"])
        #expect(
            access.filter
                == .any([.field(FieldPath("owner"), .equal(Pointer(className: "_User", objectId: "u1").json))]))
        #expect(access.loginData?([:]) == ["shown": true])
        #expect(throws: ParseError.denied(119, "Permission denied for action find on class Song.")) {
            try protected.readAccess(schema, .find, .user("u1"))
        }
        #expect(try protected.readAccess(schema, .find, .master).loginData == nil)
    }
}
