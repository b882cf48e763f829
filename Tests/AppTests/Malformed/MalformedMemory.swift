import Foundation

enum MalformedMemory {
    /// The resident memory in bytes, or 0 on systems without /proc, where growth then goes unnoticed.
    static func resident(of process: pid_t) -> Int {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else { return 0 }
            let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return pages * sysconf(Int32(_SC_PAGESIZE))
        #else
            return 0
        #endif
    }
}
