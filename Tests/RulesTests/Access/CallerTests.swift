import JSON
import ParseModel
import Rules
import Testing

@Suite("Who calls, and with which rights")
struct CallerTests {
    @Test(
        "Each key lifts its own rules",
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

    @Test("A caller without a user is everybody, and nobody else")
    func withoutUser() {
        #expect(Caller.nobody.principals == ["*"])
        #expect(Caller.nobody.readPrincipals == ["*"])
        #expect(Caller.nobody.writePrincipals == ["*"])
        #expect(Caller.nobody.userId == nil)
    }

    @Test("A user is everybody, each of the roles and the own id")
    func withUser() {
        let caller = Caller.user("u1", roles: ["role:Admins", "role:Editors"])
        #expect(caller.principals == ["*", "role:Admins", "role:Editors", "u1"])
        #expect(caller.readPrincipals == caller.principals)
        #expect(caller.writePrincipals == caller.principals)
        #expect(caller.userId == "u1")
    }

    @Test("A context carries the record of its caller's user: with another caller there is none")
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

    @Test("The read-only master key writes with the rights of its user")
    func readOnlyMaster() {
        let caller = Caller(power: .readOnlyMaster, user: Caller.user("u1").user)
        #expect(caller.readPrincipals == nil)
        #expect(caller.writePrincipals == ["*", "u1"])
    }

    @Test(
        "An id that reads as another principal lets its user pass for nobody",
        arguments: [
            "*", "role:Admins", "role:", "userField:owner", "requiresAuthentication", "authenticated", "pointerFields",
            "currentUser",
        ])
    func reservedIds(id: String) {
        #expect(Caller.user(id, roles: ["role:Readers"]).principals == ["*", "role:Readers"])
    }

    @Test(
        "An id that only resembles a principal is an id",
        arguments: ["roles", "Role:Admins", "role", "\u{212A}", "Currentuser"])
    func ordinaryIds(id: String) {
        #expect(Caller.user(id).principals == ["*", Name(id)])
    }

    @Test("A caller is the user whose id has the same bytes")
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

@Suite("The user of a session")
struct SessionUserTests {
    private static func user(
        id: String = "u1", session: String = "s1", token: String = "r:1", roles: [Name] = ["role:A"],
        isAnonymous: Bool = false
    ) -> SessionUser {
        SessionUser(id: id, sessionId: session, token: token, roles: roles, isAnonymous: isAnonymous)
    }

    @Test("Two are the same when they agree in everything")
    func equality() {
        #expect(Self.user() == Self.user())
        #expect(Self.user().hashValue == Self.user().hashValue)
        for other in [
            Self.user(id: "u2"), Self.user(session: "s2"), Self.user(token: "r:2"), Self.user(roles: []),
            Self.user(roles: ["role:A", "role:B"]), Self.user(isAnonymous: true),
        ] { #expect(Self.user() != other) }
    }

    @Test("Ids, tokens and roles that look alike make different users")
    func lookAlikes() {
        let (letter, sign) = LookAlike.kelvin
        #expect(Self.user(id: letter) != Self.user(id: sign))
        #expect(Self.user(session: letter) != Self.user(session: sign))
        #expect(Self.user(token: letter) != Self.user(token: sign))
        #expect(Self.user(roles: [Name("role:\(letter)")]) != Self.user(roles: [Name("role:\(sign)")]))
    }

    @Test("What a user read of itself is remembered with the session, and does not make another user of it")
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

@Suite("The context of a request")
struct RequestContextTests {
    private static let context = RequestContext(
        caller: .user("u1"), mountURL: "https://a.example/parse", now: ParseDate(milliseconds: 5), address: "192.0.2.1",
        languages: "de")

    @Test("Acting as the server or for a link changes who acts, and nothing else")
    func acting() {
        for (context, caller) in [(Self.context.asServer, Caller.server), (Self.context.asLink, .maintenance)] {
            #expect(context.caller == caller)
            #expect(context.mountURL == "https://a.example/parse")
            #expect(context.now == ParseDate(milliseconds: 5))
            #expect(context.address == "192.0.2.1")
            #expect(context.languages == "de")
        }
    }

    @Test("Who acts for a link in a mail is not the master")
    func link() {
        #expect(!Self.context.asLink.caller.isMaster)
        #expect(Self.context.asLink.caller.writesEverything)
    }
}
