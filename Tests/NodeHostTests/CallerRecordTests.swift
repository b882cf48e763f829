import JSON
import TestSupport
import Testing

@Suite("Large user records of callers")
struct CallerRecordTests {
    private static let code = """
        const [socket] = process._getActiveHandles().filter(handle => handle.bytesRead > 0);
        Parse.Cloud.define('bytes', () => socket.bytesRead);
        Parse.Cloud.define('small', () => 1);
        Parse.Cloud.define('user', ({ user }) => [user.id, user.get('notes').length, user.get('rank') ?? 0]);
        Parse.Cloud.define('change', request => {
          request.user.get('list').push('changed');
          return request.user.get('list').length;
        });
        Parse.Cloud.define('replace', request => {
          request.user = 'somebody';
          return request.user;
        });
        Parse.Cloud.beforeSave('Note', ({ object, user }) => { object.set('by', user.get('username')); });
        """

    private static let notes = String(repeating: "x", count: 3 << 20)

    @Test("Sends a large user record to the process once, for function calls and triggers together")
    func bytes() async throws {
        try await TunedServer(Self.code).run { server, _, _ in
            let ann = try await server.signUp("ann", password: "p", ["notes": .string(Self.notes)])
            let bob = try await server.signUp("bob", password: "p", ["notes": .string(Self.notes)])
            func read() async throws -> Double { try #require(try await server.call("bytes")["result"]?.numberValue) }
            let before = try await read()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<30 {
                    let user = number % 2 == 0 ? ann : bob
                    group.addTask {
                        let answer = try await server.call("small", as: .session(user.token))
                        #expect(answer["result"] == 1, "\(answer.text)")
                        let saved = try await server.send("POST", "/classes/Note", [:], as: .session(user.token))
                        #expect(saved["by"] == .string(number % 2 == 0 ? "ann" : "bob"), "\(saved.text)")
                    }
                }
                try await group.waitForAll()
            }
            let sent = try await read() - before
            #expect(sent > 2 * 3_000_000 && sent < 2.5 * 3_200_000, "\(sent)")
        }
    }

    @Test("Each call sees the current user record, unaffected by changes that earlier calls made to it")
    func content() async throws {
        try await TunedServer(Self.code).run { server, _, _ in
            let fields: JSONObject = ["notes": .string(Self.notes), "list": ["a"]]
            let ann = try await server.signUp("ann", password: "p", fields)
            let caller = TestServer.Identity.session(ann.token)
            let length = JSONValue.number(Double(Self.notes.utf8.count))
            #expect(try await server.call("user", as: caller)["result"] == [.string(ann.id), length, 0])
            for _ in 1...2 { #expect(try await server.call("change", as: caller)["result"] == 2) }
            #expect(try await server.call("replace", as: caller)["result"] == "somebody")
            _ = try await server.send("PUT", "/users/\(ann.id)", ["rank": 7], as: caller).succeeded()
            #expect(try await server.call("user", as: caller)["result"] == [.string(ann.id), length, 7])
            #expect(try await server.call("user").code == 141)
        }
    }

    @Test("Calls get the right user record even if more users call than the process caches")
    func eviction() async throws {
        try await TunedServer(Self.code).run { server, _, _ in
            var callers: [(id: String, token: String)] = []
            for number in 0..<8 {
                let notes = JSONValue.string(Self.notes + String(repeating: "y", count: number))
                callers.append(try await server.signUp("user\(number)", password: "p", ["notes": notes]))
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for round in 0..<3 {
                    for (number, user) in callers.enumerated() {
                        group.addTask {
                            let answer = try await server.call("user", as: .session(user.token))
                            let length = JSONValue.number(Double(Self.notes.utf8.count + number))
                            #expect(answer["result"] == [.string(user.id), length, 0], "\(round) \(answer.text)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
