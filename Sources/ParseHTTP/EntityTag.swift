import JSON

/// Tags that tell whether an answer is the same as before (`ETag`, `If-None-Match`).
enum EntityTag {
    /// A weak tag for some bytes: their number and a 64-bit hash. It is the same in every process.
    static func weak(_ bytes: [UInt8]) -> String {
        "W/\"\(String(bytes.count, radix: 16))-\(String(ContentHash.of(bytes), radix: 16))\""
    }

    /// Whether a tag is among those that the caller already has. `*` stands for any; weak tags equal strong ones.
    static func matches(_ ifNoneMatch: String, _ tag: String) -> Bool {
        if ifNoneMatch.trimmingSpaces() == "*" { return true }
        return ifNoneMatch.split(separator: ",").contains { opaque($0.trimmingSpaces()) == opaque(Substring(tag)) }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }
}
