import JSON
import ParseModel
import Rules
import Testing

@Suite("Access to system classes")
struct ClassAccessTests {
    private static let operations = ["get", "find", "create", "update", "delete"]
    private static let clients = [Caller.nobody, .user("u1", roles: ["role:Admins"])]

    @Test(
        "Clients can't access internal classes",
        arguments: [
            "_JobStatus", "_PushStatus", "_JobSchedule", "_Audience", "_Idempotency", "_Join:users:_Role",
            "_Join:likes:Song",
        ])
    func masterOnly(name: String) {
        for caller in Self.clients {
            for operation in Self.operations {
                let refusal = ParseError.denied(
                    119, "Clients aren't allowed to perform the \(operation) operation on the \(name) collection.")
                #expect(throws: refusal, "\(operation)") { try caller.check(operation, of: name) }
            }
        }
    }

    @Test("The master and maintenance keys can access internal classes")
    func withKeys() throws {
        for caller in [Caller.master, .maintenance] {
            for operation in Self.operations {
                for name in ["_JobStatus", "_Join:users:_Role", "_Installation"] {
                    try caller.check(operation, of: name)
                }
            }
        }
    }

    @Test("Clients can't find or delete installations, but can get, create and update them", arguments: clients)
    func installations(caller: Caller) throws {
        for operation in ["find", "delete"] {
            let refusal = ParseError.denied(
                119, "Clients aren't allowed to perform the \(operation) operation on the installation collection.")
            #expect(throws: refusal) { try caller.check(operation, of: "_Installation") }
        }
        for operation in ["get", "create", "update"] { try caller.check(operation, of: "_Installation") }
    }

    @Test("All callers can access app classes and public system classes", arguments: clients + [.master, .maintenance])
    func ordinary(caller: Caller) throws {
        for name in ["Song", "_User", "_Role", "_Session", "_Product", "_Joint", "_JobStatus2", "_join:a:b"] {
            for operation in Self.operations { try caller.check(operation, of: name) }
        }
    }

    @Test("The read-only master key can read every class and write none")
    func readOnlyMaster() throws {
        for name in ["Song", "_User", "_JobStatus", "_Hooks", "_Installation", "_Join:users:_Role"] {
            for operation in ["get", "find"] { try Caller.readOnlyMaster.check(operation, of: name) }
            for operation in ["create", "update", "delete"] {
                let refusal = ParseError.denied(
                    119, "read-only masterKey isn't allowed to perform the \(operation) operation.")
                #expect(throws: refusal) { try Caller.readOnlyMaster.check(operation, of: name) }
            }
        }
    }

    @Test(
        "Nobody can write hooks and configuration as objects, and clients can't read them",
        arguments: ["_Hooks", "_GlobalConfig", "_GraphQLConfig"])
    func ownRoutes(name: String) throws {
        for operation in ["create", "update", "delete"] {
            let refusal = ParseError(119, "Objects of \(name) can't be written through /classes.")
            for caller in [Caller.nobody, .user("u1"), .master, .maintenance] {
                #expect(throws: refusal) { try caller.check(operation, of: name) }
            }
        }
        for operation in ["get", "find"] {
            try Caller.master.check(operation, of: name)
            let refusal = ParseError.denied(
                119, "Clients aren't allowed to perform the \(operation) operation on the \(name) collection.")
            #expect(throws: refusal) { try Caller.nobody.check(operation, of: name) }
        }
    }
}
