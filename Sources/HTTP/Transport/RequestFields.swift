/// What the log says of a request that was answered.
struct RequestFields: Sendable {
    let id: RequestID
    let method: String
    let target: String
    let status: Int
    let duration: Duration

    /// The fields, sorted by name. The path is without the query string, which may hold secrets.
    var fields: [(name: String, value: String)] {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return [
            ("id", "\(id)"), ("method", method), ("ms", milliseconds), ("path", String(path) ?? ""),
            ("status", "\(status)"),
        ]
    }

    private var milliseconds: String {
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        return "\(microseconds / 1000).\(String(1000 + microseconds % 1000).dropFirst())"
    }
}
