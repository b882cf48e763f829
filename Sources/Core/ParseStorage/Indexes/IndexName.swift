import Encoding
import ParseModel

/// The PostgreSQL names of an index of the schemas API.
///
/// PostgreSQL shares index names among all classes and limits them to 63 bytes. An index's first part gets its own name
/// if that is free, so that parse-server finds it. Other names are derived from a hash of class and name.
struct IndexName {
    let className: String
    let name: String

    /// The prefix of indexes that are being built concurrently.
    static let buildingPrefix = "roost_building:"

    /// Returns a name for one of Roost's own indexes, hashed after the colon if it exceeds PostgreSQL's 63 bytes, so
    /// that truncated names can't collide.
    static func ofRoost(_ name: String) -> String {
        guard name.utf8.count > 63, let colon = name.firstIndex(of: ":") else { return name }
        return name[...colon] + String(StableHash.of(name), radix: 16)
    }

    /// The index's own name, or nil if PostgreSQL can't store it or it begins with `roost_`.
    var own: String? {
        name.isEmpty || name.utf8.count > 63 || name.utf8.contains(0) || name.hasPrefix("roost_") ? nil : name
    }

    /// The prefix of derived names.
    var prefix: String { "roost_index:\(digest):" }

    func made(part: Int) -> String { "\(prefix)\(part)" }

    /// Returns the temporary name of a part during its build.
    func building(part: Int) -> String { "\(Self.buildingPrefix)\(digest):\(part)" }

    /// A hash of class and name, the same in every process and version.
    private var digest: String {
        let digits = String(StableHash.of("\(className):\(name)"), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
