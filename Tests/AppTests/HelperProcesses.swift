#if os(Linux)
    import Foundation

    /// The processes that a server has started and not buried.
    struct HelperProcesses {
        /// Those that compute the hashes of passwords: they give way to others.
        let hashing: [pid_t]
        /// Those that keep time for the kernel.
        let metronome: [pid_t]

        init(of server: pid_t) {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            let children = names.compactMap { pid_t($0) }.filter { identifier in
                // Behind the name, which may hold anything, stand the state and the parent.
                let fields = Self.text(identifier, "stat").split(separator: ")").last?.split(separator: " ") ?? []
                return fields.count > 1 && fields[1] == "\(server)"
            }
            hashing = children.filter { Self.niceness($0) == 10 }
            metronome = children.filter { Self.niceness($0) == 0 }
        }

        /// How often a process has gone to sleep of itself.
        static func sleeps(of process: pid_t) -> Int {
            let line = text(process, "status").split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0
        }

        private static func niceness(_ process: pid_t) -> Int32 {
            getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(process))
        }

        private static func text(_ process: pid_t, _ file: String) -> String {
            (try? String(contentsOfFile: "/proc/\(process)/\(file)", encoding: .utf8)) ?? ""
        }
    }
#endif
