#if os(Linux)
    import Foundation
    import Synchronization
    import TestSupport
    import TestTools
    import Testing

    @Suite("Processes that compute password hashes")
    struct HashingProcessTests {
        @Test("They give way to others, and whoever is killed is done without, until the server ends")
        func killed() async throws {
            let last = Mutex<pid_t?>(nil)
            try await ServerProcesses.run(1) { processes in
                let helpers = HelperProcesses(of: processes.identifiers[0]).hashing
                #expect(helpers.count == 2)
                let server = processes[0]
                _ = try await server.signUp("kim")
                for helper in helpers.dropLast() {
                    #expect(kill(helper, SIGKILL) == 0)
                    try await Self.expectLogIns(server)
                }
                last.withLock { $0 = helpers.last }
            }
            let identifier = try #require(last.withLock { $0 })
            #expect(try await eventually { kill(identifier, 0) != 0 })
        }

        @Test("Without any of them users log in all the same")
        func none() async throws {
            try await ServerProcesses.run(1) { processes in
                _ = try await processes[0].signUp("kim")
                for helper in HelperProcesses(of: processes.identifiers[0]).hashing { kill(helper, SIGKILL) }
                for _ in 0..<3 { try await Self.expectLogIns(processes[0]) }
                #expect(HelperProcesses(of: processes.identifiers[0]).hashing.isEmpty)
            }
        }

        private static func expectLogIns(_ server: TestServer) async throws {
            for (password, status) in [("secret", 200), ("wrong", 404)] {
                let answer = try await server.send(
                    "POST", "/login", ["username": "kim", "password": .string(password)])
                #expect(answer.status == status)
            }
        }
    }
#endif
