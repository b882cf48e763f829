import JSON
import TestSupport
import Testing

@Suite("Sessions and rights in several processes", .serialized, .timeLimit(.minutes(10)))
struct SessionPropagationTests {
    private static func refuses(_ server: TestServer, _ token: String) async throws -> Bool {
        try await server.find("_User", as: .session(token)).code == 209
    }

    @Test("All processes reject a session within a second after it ends in one", arguments: [2, 4])
    func sessions(count: Int) async throws {
        try await ServerProcesses.run(count) { processes in
            let kim = try await processes[0].signUp("kim")
            func logIn(_ turn: Int) async throws -> String {
                try await processes[turn].send("POST", "/login", ["username": "kim", "password": "secret"])
                    .succeeded().string("sessionToken")
            }
            let left = try await logIn(1)
            try await processes.expectObeyed("a log-out") {
                _ = try await processes[0].send("POST", "/logout", [:], as: .session(left)).succeeded()
            } isObeyed: {
                try await Self.refuses($0, left)
            }
            for (turn, identity) in [(2, TestServer.Identity.master), (3, .session(kim.token))] {
                let token = try await logIn(turn)
                let id = try await processes[turn].send("GET", "/sessions/me", as: .session(token)).string("objectId")
                try await processes.expectObeyed("a session that is deleted") {
                    _ = try await processes[turn + 1].send("DELETE", "/sessions/\(id)", as: identity).succeeded()
                } isObeyed: {
                    try await Self.refuses($0, token)
                }
            }
            let other = try await logIn(1)
            #expect(try await processes[0].find("_User", as: .session(kim.token)).status == 200)
            var new = ""
            try await processes.expectObeyed("a password that is changed") {
                let answer = try await processes[0].send(
                    "PUT", "/users/\(kim.id)", ["password": "new"], as: .session(kim.token)
                ).succeeded()
                new = try answer.string("sessionToken")
            } isObeyed: {
                let isOldRefused = try await Self.refuses($0, kim.token)
                let isOtherRefused = try await Self.refuses($0, other)
                return isOldRefused && isOtherRefused
            }
            let token = new
            try await processes.expectObeyed("a user who is deleted") {
                _ = try await processes[1].send("DELETE", "/users/\(kim.id)", as: .master).succeeded()
            } isObeyed: {
                try await Self.refuses($0, token)
            }
            let lou = try await processes[0].signUp("lou")
            try await processes.expectObeyed("all sessions") {
                _ = try await processes[1].send("DELETE", "/purge/_Session", as: .master).succeeded()
            } isObeyed: {
                try await Self.refuses($0, lou.token)
            }
        }
    }

    @Test("Changes to users and roles apply in all processes within a second", arguments: [2, 4])
    func rights(count: Int) async throws {
        try await ServerProcesses.run(count) { processes in
            let kim = try await processes[0].signUp("kim")
            let lou = try await processes[1].signUp("lou")
            let note = try await processes[0].create("Note", ["ACL": ["role:Staff": ["read": true]]], as: .master)
            @Sendable func sees(_ server: TestServer) async throws -> Bool {
                try await server.send("GET", "/classes/Note/\(note)", as: .session(kim.token)).status == 200
            }
            let staff = try await processes[0].create("_Role", ["name": "Staff", "ACL": [:]], as: .master)
            let chiefs = try await processes[1].create("_Role", ["name": "Chiefs", "ACL": [:]], as: .master)
            let members: [(String, String, JSONValue, Bool)] = [
                (staff, "users", .operation("AddRelation", [.pointer("_User", kim.id)]), true),
                (staff, "users", .operation("RemoveRelation", [.pointer("_User", kim.id)]), false),
                (staff, "roles", .operation("AddRelation", [.pointer("_Role", chiefs)]), false),
                (chiefs, "users", .operation("AddRelation", [.pointer("_User", kim.id)]), true),
                (staff, "roles", .operation("RemoveRelation", [.pointer("_Role", chiefs)]), false),
                (staff, "roles", .operation("AddRelation", [.pointer("_Role", chiefs)]), true),
            ]
            var saw = false
            for (turn, (role, field, operation, isLetIn)) in members.enumerated() {
                let change = { @Sendable in
                    _ = try await processes[turn].send("PUT", "/roles/\(role)", [Name(field): operation], as: .master)
                        .succeeded()
                }
                let what = "\(field) of a role, change \(turn)"
                if saw == isLetIn {
                    try await change()
                } else {
                    try await processes.expectObeyed(what, change: change) { try await sees($0) == isLetIn }
                }
                saw = isLetIn
            }
            try await processes.expectObeyed("a role that is deleted") {
                _ = try await processes[0].send("DELETE", "/roles/\(chiefs)", as: .master).succeeded()
            } isObeyed: {
                try await !sees($0)
            }
            try await processes.expectObeyed("a user's own record") {
                _ = try await processes[1].send(
                    "PUT", "/users/\(kim.id)", ["nick": "k"], as: .session(kim.token)
                ).succeeded()
            } isObeyed: {
                try await $0.send("GET", "/users/me", as: .session(kim.token))["nick"] == "k"
            }
            try await processes.expectObeyed("a user's ACL") {
                _ = try await processes[1].send(
                    "PUT", "/users/\(lou.id)", ["ACL": [Name(lou.id): ["read": true, "write": true]]],
                    as: .session(lou.token)
                ).succeeded()
            } isObeyed: {
                try await $0.send("GET", "/users/\(lou.id)", as: .session(kim.token)).code == 101
            }
        }
    }
}
