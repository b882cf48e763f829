/// What the log says of a request that was answered.
struct RequestFields: Sendable {
    let id: RequestID
    let method: String
    let path: String
    let status: Int
    let duration: Duration

    /// Takes of a target what lines keep: the path, without the query string, which may hold secrets, and not all of one
    /// that is long.
    init(id: RequestID, method: String, target: String, status: Int, duration: Duration) {
        self.id = id
        self.method = method
        self.status = status
        self.duration = duration
        let kept = target.utf8.prefix(Self.longestPath).prefix { $0 != UInt8(ascii: "?") }
        path = kept.count == target.utf8.count ? target : String(decoding: kept, as: UTF8.self)
    }

    /// How many bytes of a path are kept.
    private static let longestPath = 1000

    /// The fields, sorted by name.
    var fields: [(name: String, value: String)] {
        [("id", "\(id)"), ("method", method), ("ms", milliseconds), ("path", path), ("status", "\(status)")]
    }

    private var milliseconds: String {
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        return "\(microseconds / 1000).\(String(1000 + microseconds % 1000).dropFirst())"
    }
}
