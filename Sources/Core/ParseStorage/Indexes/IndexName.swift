import Encoding
import ParseModel

/// The names that indexes of the schemas API have in PostgreSQL.
///
/// There a name is one for all classes and has at most 63 bytes. An index has its own name where that is free, so that
/// parse-server finds it, and else one that is made of its class and name.
struct IndexName {
    let className: String
    let name: String

    /// What the names of indexes begin with that are being built beside a table.
    static let buildingPrefix = "roost_building:"

    /// The name of an index of Roost's own, as it is or, where PostgreSQL would cut it off, a hash of it: two that begin
    /// alike are two.
    static func ofRoost(_ name: String) -> String {
        guard name.utf8.count > 63, let colon = name.firstIndex(of: ":") else { return name }
        return name[...colon] + String(StableHash.of(name), radix: 16)
    }

    /// The own name; nil for one that PostgreSQL could not hold, or that Roost's own indexes could have.
    var own: String? {
        name.isEmpty || name.utf8.count > 63 || name.utf8.contains(0) || name.hasPrefix("roost_") ? nil : name
    }

    /// What made names begin with.
    var prefix: String { "roost_index:\(digest):" }

    func made(part: Int) -> String { "\(prefix)\(part)" }

    /// The name of a part while it is being built.
    func building(part: Int) -> String { "\(Self.buildingPrefix)\(digest):\(part)" }

    /// A hash of class and name: the same in every process and version.
    private var digest: String {
        let digits = String(StableHash.of("\(className):\(name)"), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
