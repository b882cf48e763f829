import Platform

/// Process metrics under Prometheus's standard names. Computed when they are read, only on systems with `/proc`.
public enum ProcessFigures {
    /// Writes the metric families.
    public static func write(to text: inout Exposition) {
        guard let stat = read("/proc/self/stat"), let name = stat.lastIndex(of: ")") else { return }
        // The process name can contain any character. The fields after it begin with the third field of the line.
        let fields = stat[stat.index(after: name)...].split(separator: " ").map { Double($0) ?? 0 }
        guard fields.count > 21 else { return }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        text.single(
            "process_cpu_seconds_total", .counter, "Processor time of this process.", (fields[11] + fields[12]) / ticks)
        text.single(
            "process_resident_memory_bytes", .gauge, "Memory of this process.",
            Int(fields[21]) * Int(sysconf(Int32(_SC_PAGESIZE))))
        text.single("process_virtual_memory_bytes", .gauge, "Address space of this process.", Int(fields[20]))
        text.single("process_threads", .gauge, "Threads of this process.", Int(fields[17]))
        text.single("process_start_time_seconds", .gauge, "Start time of this process.", bootTime + fields[19] / ticks)
        if let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            text.single("process_open_fds", .gauge, "Open file descriptors.", files.count)
        }
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let resource = RLIMIT_NOFILE
        #endif
        if getrlimit(resource, &limit) == 0 {
            text.single(
                "process_max_fds", .gauge, "Open file descriptor limit.", Int(min(limit.rlim_cur, rlim_t(Int32.max))))
        }
    }

    /// The resident memory of the process in bytes, or nil if unknown.
    public static var residentBytes: Int? {
        read("/proc/self/statm")?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            .map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    private static let bootTime: Double = {
        let line = read("/proc/stat")?.split(separator: "\n").first { $0.hasPrefix("btime ") }
        return line.flatMap { Double($0.dropFirst(6)) } ?? 0
    }()

    private static func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
}
