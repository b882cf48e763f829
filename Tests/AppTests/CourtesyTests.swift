#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @Suite("Who is let finish")
    struct CourtesyTests {
        @Test("One thread lets PostgreSQL finish while more than a row is read, and no longer")
        func largeAnswers() async throws {
            try await ServerProcesses.run(1) { processes in
                let server = processes[0]
                let id = try await server.create("Song", ["title": "A"], as: .master)
                for _ in 1...2 {
                    #expect(try await server.send("GET", "/classes/Song", as: .master).status == 200)
                    #expect(try Self.politeThreads(of: processes.identifiers[0]) == 1)
                    #expect(try await server.send("GET", "/classes/Song/\(id)", as: .master).status == 200)
                    #expect(try Self.politeThreads(of: processes.identifiers[0]) == 0)
                }
            }
        }

        /// How many threads of a process let others finish: SCHED_BATCH in the forty-first field of proc(5)'s `stat`, the
        /// thirty-ninth behind the name.
        private static func politeThreads(of process: pid_t) throws -> Int {
            let folder = "/proc/\(process)/task"
            return try FileManager.default.contentsOfDirectory(atPath: folder).count { thread in
                let stat = try String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)
                return stat.split(separator: ")").last?.split(separator: " ")[38] == "3"
            }
        }
    }
#endif
