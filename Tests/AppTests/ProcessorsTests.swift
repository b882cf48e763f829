#if os(Linux)
    import Backend
    import Foundation
    import Testing

    @Suite("The processors of a server")
    struct ProcessorsTests {
        @Test("There are as many event loops as processors that the server may use")
        func eventLoops() async throws {
            try await ServerProcesses.run(1) { processes in
                let loops = try Self.eventLoops(of: processes.identifiers[0])
                #expect(loops.count == Processors.count)
            }
            let processor = try #require(try Self.firstProcessor())
            try await ServerProcesses.run(1, launcher: ["/usr/bin/taskset", "-c", processor]) { processes in
                let loops = try Self.eventLoops(of: processes.identifiers[0])
                #expect(loops.count == 1)
                #expect(try await processes[0].send("GET", "/classes/Song", as: .master).status == 200)
            }
        }

        /// The number of the first processor that these tests may use.
        private static func firstProcessor() throws -> String? {
            let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
            return status.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed_list:") }?
                .split(separator: "\t").last.map { String($0.prefix(while: \.isNumber)) }
        }

        /// The names of their threads, by which SwiftNIO numbers them. Threads that they started bear their names.
        private static func eventLoops(of process: pid_t) throws -> Set<String> {
            let folder = "/proc/\(process)/task"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder).map {
                try String(contentsOfFile: "\(folder)/\($0)/comm", encoding: .utf8)
            }
            return Set(names.filter { $0.hasPrefix("NIO-SGLTN") })
        }
    }
#endif
