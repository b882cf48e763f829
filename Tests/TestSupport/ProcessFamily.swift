import Foundation

public enum ProcessFamily {
    /// Sends a signal to a process and all its children, such as PostgreSQL's.
    public static func signal(_ signal: Int32, to parent: Int32) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") {
            guard let identifier = Int32(name),
                let stat = try? String(contentsOfFile: "/proc/\(name)/stat", encoding: .utf8),
                let end = stat.lastIndex(of: ")")
            else { continue }
            let fields = stat[stat.index(after: end)...].split(separator: " ")
            if fields.count > 1, Int32(fields[1]) == parent { kill(identifier, signal) }
        }
        kill(parent, signal)
    }
}
