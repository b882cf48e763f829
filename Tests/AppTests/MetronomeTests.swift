#if os(Linux)
    import Foundation
    import JSON
    import TestSupport
    import Testing

    @Suite("Processes that keep time for the kernel")
    struct MetronomeTests {
        @Test("They beat while the database aggregates, and only then; aggregations do without those that are killed")
        func beats() async throws {
            try await ServerProcesses.run(1) { processes in
                let server = processes[0]
                let metronome = HelperProcesses(of: processes.identifiers[0]).metronome
                let processors = ProcessInfo.processInfo.activeProcessorCount
                #expect(metronome.count == (processors <= 2 ? processors : 0))
                _ = try await server.send("POST", "/classes/Song", ["plays": 3], as: .master)
                let before = metronome.map(HelperProcesses.sleeps)

                // It ends when it is told to, or in a minute.
                async let lock: Void? = try? server.execute(
                    #"BEGIN; LOCK TABLE "Song" IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(60)"#)
                let isLocked = try await eventually { try await Self.holders(server, "pid").count == 1 }
                #expect(isLocked)
                async let sum = Self.sum(server)
                let isBeating = try await eventually {
                    zip(metronome, before).allSatisfy { HelperProcesses.sleeps(of: $0) > $1 + 200 }
                }
                #expect(isBeating)
                #expect(try await Self.holders(server, "pg_terminate_backend(pid)").count == 1)
                #expect(try await sum == 3)
                await lock
                let isQuiet = try await eventually {
                    let counts = metronome.map(HelperProcesses.sleeps)
                    try await Task.sleep(for: .milliseconds(300))
                    return metronome.map(HelperProcesses.sleeps) == counts
                }
                #expect(isQuiet)

                for process in metronome { #expect(kill(process, SIGKILL) == 0) }
                for _ in 0..<3 { #expect(try await Self.sum(server) == 3) }
            }
        }

        /// What is asked of each process of PostgreSQL that keeps others from reading the table.
        private static func holders(_ server: TestServer, _ column: String) async throws -> [String] {
            try await server.texts(
                """
                SELECT \(column)::text FROM pg_locks
                    WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    AND relation = '"Song"'::regclass AND mode = 'AccessExclusiveLock' AND granted
                """)
        }

        private static func sum(_ server: TestServer) async throws -> Double? {
            let pipeline =
                "%5B%7B%22%24group%22%3A%7B%22_id%22%3Anull%2C%22sum%22%3A%7B%22%24sum%22%3A%22%24plays%22%7D%7D%7D%5D"
            let answer = try await server.send("GET", "/aggregate/Song?pipeline=\(pipeline)", as: .master)
            return answer["results"]?.arrayValue?.first?["sum"]?.numberValue
        }
    }
#endif
