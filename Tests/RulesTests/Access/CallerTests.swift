import JSON
import ParseModel
import Rules
import Testing

@Suite("Callers and their rights")
struct CallerTests {
    @Test(
        "The keys of a caller determine which permissions it bypasses",
        arguments: [
            (Caller.nobody, false, false, false), (.user("u1"), false, false, false), (.master, true, true, true),
            (.readOnlyMaster, true, false, true), (.maintenance, true, true, false), (.server, true, true, true),
        ])
    func powers(caller: Caller, readsEverything: Bool, writesEverything: Bool, isMaster: Bool) {
        #expect(caller.readsEverything == readsEverything)
        #expect(caller.writesEverything == writesEverything)
        #expect(caller.isMaster == isMaster)
        #expect((caller.readPrincipals == nil) == readsEverything)
        #expect((caller.writePrincipals == nil) == writesEverything)
    }

    @Test("A caller without a user has only the principal *")
    func withoutUser() {
        #expect(Caller.nobody.principals == ["*"])
        #expect(Caller.nobody.readPrincipals == ["*"])
        #expect(Caller.nobody.writePrincipals == ["*"])
        #expect(Caller.nobody.userId == nil)
    }

    @Test("A user has the principals *, its roles and its id")
    func withUser() {
        let caller = Caller.user("u1", roles: ["role:Admins", "role:Editors"])
        #expect(caller.principals == ["*", "role:Admins", "role:Editors", "u1"])
        #expect(caller.readPrincipals == caller.principals)
        #expect(caller.writePrincipals == caller.principals)
        #expect(caller.userId == "u1")
    }

    @Test("Changing the caller of a context clears its user record")
    func record() {
        var context = RequestContext(caller: .user("u1"), mountURL: "", now: ParseDate(milliseconds: 0))
        context.userRecord = ["objectId": "u1"]
        context.languages = "de"
        #expect(context.userRecord == ["objectId": "u1"])
        #expect(context.asServer.userRecord == nil)
        var other = context
        other.caller = .user("u2")
        #expect(other.userRecord == nil)
        context.caller.user = nil
        #expect(context.userRecord == nil)
    }

    @Test("The read-only master key bypasses read permissions and has its user's write permissions")
    func readOnlyMaster() {
        let caller = Caller(power: .readOnlyMaster, user: Caller.user("u1").user)
        #expect(caller.readPrincipals == nil)
        #expect(caller.writePrincipals == ["*", "u1"])
    }

    @Test(
        "A user id that is a reserved principal or role name isn't among the caller's principals",
        arguments: [
            "*", "role:Admins", "role:", "userField:owner", "requiresAuthentication", "authenticated", "pointerFields",
            "currentUser",
        ])
    func reservedIds(id: String) {
        #expect(Caller.user(id, roles: ["role:Readers"]).principals == ["*", "role:Readers"])
    }

    @Test(
        "A user id that only resembles a reserved principal is among the caller's principals",
        arguments: ["roles", "Role:Admins", "role", "\u{212A}", "Currentuser"])
    func ordinaryIds(id: String) {
        #expect(Caller.user(id).principals == ["*", Name(id)])
    }

    @Test("Compares the caller's user id byte by byte")
    func sameUser() {
        #expect(Caller.user("u1").isUser("u1"))
        #expect(!Caller.user("u1").isUser("u2"))
        #expect(!Caller.user("u1").isUser(nil))
        #expect(!Caller.nobody.isUser(nil))
        #expect(!Caller.nobody.isUser("u1"))
        #expect(!Caller.user(LookAlike.kelvin.letter).isUser(LookAlike.kelvin.sign))
        #expect(!Caller.user(LookAlike.acute.composed).isUser(LookAlike.acute.decomposed))
    }
}

@Suite("Session users")
struct SessionUserTests {
    private static func user(
        id: String = "u1", session: String = "s1", token: String = "r:1", roles: [Name] = ["role:A"],
        isAnonymous: Bool = false
    ) -> SessionUser {
        SessionUser(id: id, sessionId: session, token: token, roles: roles, isAnonymous: isAnonymous)
    }

    @Test("Session users are equal only if all their properties are")
    func equality() {
        #expect(Self.user() == Self.user())
        #expect(Self.user().hashValue == Self.user().hashValue)
        for other in [
            Self.user(id: "u2"), Self.user(session: "s2"), Self.user(token: "r:2"), Self.user(roles: []),
            Self.user(roles: ["role:A", "role:B"]), Self.user(isAnonymous: true),
        ] { #expect(Self.user() != other) }
    }

    @Test("Session users with look-alike ids, sessions, tokens or roles aren't equal")
    func lookAlikes() {
        let (letter, sign) = LookAlike.kelvin
        #expect(Self.user(id: letter) != Self.user(id: sign))
        #expect(Self.user(session: letter) != Self.user(session: sign))
        #expect(Self.user(token: letter) != Self.user(token: sign))
        #expect(Self.user(roles: [Name("role:\(letter)")]) != Self.user(roles: [Name("role:\(sign)")]))
    }

    @Test("Caches the user's record without affecting equality")
    func record() {
        let user = Self.user()
        #expect(user.record == nil)
        user.record = SessionUser.Record(bytes: [1, 2], mountURL: "https://a.example", schemaVersion: 3)
        #expect(user.record?.bytes == [1, 2])
        #expect(user.record?.mountURL == "https://a.example")
        #expect(user.record?.schemaVersion == 3)
        #expect(user == Self.user())
    }
}

@Suite("Request contexts")
struct RequestContextTests {
    private static let context = RequestContext(
        caller: .user("u1"), mountURL: "https://a.example/parse", now: ParseDate(milliseconds: 5), address: "192.0.2.1",
        languages: "de")

    @Test("Acting as the server or for an email link changes only the caller")
    func acting() {
        for (context, caller) in [(Self.context.asServer, Caller.server), (Self.context.asLink, .maintenance)] {
            #expect(context.caller == caller)
            #expect(context.mountURL == "https://a.example/parse")
            #expect(context.now == ParseDate(milliseconds: 5))
            #expect(context.address == "192.0.2.1")
            #expect(context.languages == "de")
        }
    }

    @Test("The caller for an email link bypasses write permissions but isn't a master")
    func link() {
        #expect(!Self.context.asLink.caller.isMaster)
        #expect(Self.context.asLink.caller.writesEverything)
    }
}
