#if os(Linux)
    import Foundation
    import TestSupport

    /// The memory and CPU time of a server process, including the CPU time of its database's processes.
    ///
    /// Unlike elapsed time, CPU time is independent of other tests.
    struct ServerCost {
        private let server: pid_t
        private let database: String
        private var backends: [pid_t] = []

        init(of server: TestServer, process: pid_t) {
            self.server = process
            database = URL(string: server.databaseURI)?.lastPathComponent ?? ""
            findBackends()
        }

        /// Finds the processes of the database. Each new connection has a new process.
        mutating func findBackends() {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            backends = processes.compactMap { pid_t($0) }.filter {
                Self.text("/proc/\($0)/cmdline").contains(" \(database) ")
            }
        }

        var time: Duration {
            (threads + backends.map { "/proc/\($0)" }).reduce(.zero) { $0 + Self.schedule(of: $1).computed }
        }

        /// The time that each thread of the server was runnable but had no CPU.
        var delays: [String: Duration] {
            Dictionary(uniqueKeysWithValues: threads.map { ($0, Self.schedule(of: $0).waited) })
        }

        private var threads: [String] {
            let folder = "/proc/\(server)/task"
            return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { "\(folder)/\($0)" }
        }

        /// Returns a thread's CPU time and its time waiting for a CPU.
        ///
        /// - Parameter thread: The thread's folder in `/proc`.
        static func schedule(of thread: String) -> (computed: Duration, waited: Duration) {
            let numbers = text(thread + "/schedstat").split(separator: " ").map { Int64($0) ?? 0 }
            return numbers.count < 2 ? (.zero, .zero) : (.nanoseconds(numbers[0]), .nanoseconds(numbers[1]))
        }

        /// The resident memory in bytes.
        var memory: Int { status("VmRSS:") }

        /// The peak memory in bytes since ``forgetPeak()``.
        var peak: Int { status("VmHWM:") }

        func forgetPeak() { try? Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(server)/clear_refs")) }

        private func status(_ key: String) -> Int {
            let line = Self.text("/proc/\(server)/status").split(separator: "\n").first { $0.hasPrefix(key) }
            return (line?.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) } ?? 0)
                * 1024
        }

        private static func text(_ file: String) -> String {
            (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        }
    }
#endif
