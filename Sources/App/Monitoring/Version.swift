import CVersion

/// The version of this binary. scripts/version.sh reads the number from this file.
package enum Version {
    package static let text = "0.1.0"

    /// The version and the commit that the binary was built from.
    package static var described: String { describe(text, stamp: String(cString: roost_commit())) }

    /// Returns the version and the commit. scripts/version.sh writes `stamp` into the binary.
    package static func describe(_ version: String, stamp: String) -> String {
        let commit = stamp.drop { $0 != ":" }.dropFirst().prefix { $0 != "." }
        guard !commit.isEmpty else { return "\(version) (commit not recorded)" }
        return "\(version) (commit \(commit.prefix(12))\(commit.hasSuffix("+") ? " with local changes" : ""))"
    }
}
