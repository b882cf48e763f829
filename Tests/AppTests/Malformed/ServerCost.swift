#if os(Linux)
    import Foundation
    import TestSupport

    /// What a server of a test, as a process of its own, has cost: processor time, that of its database's processes
    /// included, and memory.
    ///
    /// Unlike time on the clock, processor time does not count what other tests do meanwhile.
    struct ServerCost {
        private let server: pid_t
        private let database: String
        private var backends: [pid_t] = []

        /// Reads what the server and the processes of its database have cost.
        init(of server: TestServer, process: pid_t) {
            self.server = process
            database = URL(string: server.databaseURI)?.lastPathComponent ?? ""
            findBackends()
        }

        /// Looks for the processes of the database: a new connection has a new one.
        mutating func findBackends() {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            backends = processes.compactMap { pid_t($0) }.filter {
                Self.text("/proc/\($0)/cmdline").contains(" \(database) ")
            }
        }

        /// The processor time so far.
        var time: Duration {
            (threads + backends.map { "/proc/\($0)" }).reduce(.zero) { $0 + Self.schedule(of: $1).computed }
        }

        /// How long each thread of the server was ready to compute so far, and had no processor: others had them.
        var delays: [String: Duration] {
            Dictionary(uniqueKeysWithValues: threads.map { ($0, Self.schedule(of: $0).waited) })
        }

        private var threads: [String] {
            let folder = "/proc/\(server)/task"
            return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).map { "\(folder)/\($0)" }
        }

        /// What a thread, or the first one of a process, has had of the processors, and how long it waited for one.
        ///
        /// - Parameter thread: Its folder in `/proc`.
        static func schedule(of thread: String) -> (computed: Duration, waited: Duration) {
            let numbers = text(thread + "/schedstat").split(separator: " ").map { Int64($0) ?? 0 }
            return numbers.count < 2 ? (.zero, .zero) : (.nanoseconds(numbers[0]), .nanoseconds(numbers[1]))
        }

        /// The bytes of memory that the server holds.
        var memory: Int { status("VmRSS:") }

        /// The most bytes of memory that the server held since ``forgetPeak()``.
        var peak: Int { status("VmHWM:") }

        /// Makes ``peak`` begin anew.
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
