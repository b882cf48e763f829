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
                let helpers = Self.children(of: processes.identifiers[0])
                #expect(helpers.count == 2)
                for helper in helpers {
                    #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(helper)) == 10)
                }
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
                for helper in Self.children(of: processes.identifiers[0]) { kill(helper, SIGKILL) }
                for _ in 0..<3 { try await Self.expectLogIns(processes[0]) }
                #expect(Self.children(of: processes.identifiers[0]).isEmpty)
            }
        }

        private static func expectLogIns(_ server: TestServer) async throws {
            for (password, status) in [("secret", 200), ("wrong", 404)] {
                let answer = try await server.send(
                    "POST", "/login", ["username": "kim", "password": .string(password)])
                #expect(answer.status == status)
            }
        }

        /// The processes that a process has started and not buried.
        private static func children(of parent: pid_t) -> [pid_t] {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return names.compactMap { pid_t($0) }.filter { identifier in
                let line = (try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)) ?? ""
                // Behind the name, which may hold anything, stand the state and the parent.
                let fields = line.split(separator: ")").last?.split(separator: " ") ?? []
                return fields.count > 1 && fields[1] == "\(parent)"
            }
        }
    }
#endif
