import Logging

/// The fields of a request that has ended, for its log line and its span.
package struct RequestFields: Sendable {
    let id: RequestID
    let method: String
    let path: String
    /// The response status, or nil if the client left or the response could not be sent.
    let status: Int?
    let duration: Duration
    /// The template of the path, or nil for unrouted paths.
    var route: String?
    /// The Parse error code, or nil if the response isn't a Parse error.
    var code: Int?
    /// The size of the response's content in bytes, or nil if no response was sent.
    var bytes: Int?
    var caller = RequestRecord.Caller()
    var traceID: String?

    /// Creates fields with only the path of the target, at most 256 bytes: the query string may contain secrets, and
    /// the origin of an absolute URL may contain a password.
    package init(id: RequestID, method: String, target: String, status: Int?, duration: Duration) {
        self.id = id
        self.method = method
        self.status = status
        self.duration = duration
        let whole = RequestTarget.withoutOrigin(target)
        let kept = whole.utf8.prefix(Self.longestPath).prefix { $0 != UInt8(ascii: "?") }
        // Most targets can be kept without a copy.
        path = kept.endIndex == whole.endIndex ? whole : String(decoding: kept, as: UTF8.self)
    }

    /// The maximum length of a logged path in bytes.
    private static let longestPath = 256

    /// The path for the log and the span, without a file's name, which grants access to the file.
    var displayedPath: String {
        if let route, !route.hasPrefix("/files") { return path }
        guard let start = lengthToFile else { return path }
        let slash = path.utf8.dropFirst(start).firstIndex(of: UInt8(ascii: "/"))
        let prefix = slash.map { path.utf8[...$0] } ?? path.utf8.prefix(start)
        return String(decoding: prefix, as: UTF8.self) + "\u{2026}"
    }

    private var lengthToFile: Int? {
        var (matched, length) = (0, 0)
        for byte in path.utf8 {
            length += 1
            // Route names are case-insensitive.
            if byte.lowercasedASCII == Self.files[matched] {
                matched += 1
            } else {
                matched = byte == UInt8(ascii: "/") ? 1 : 0
            }
            if matched == Self.files.count { return length }
        }
        return nil
    }

    private static let files = Array("/files/".utf8)

    /// Returns the log level: debug for quiet requests, error from status 500, warning for slow requests, or info.
    ///
    /// - Parameter slow: The duration from which a request counts as slow.
    package func level(isQuiet: Bool, slow: Duration) -> Logger.Level {
        if isQuiet { return .debug }
        if let status, status >= 500 { return .error }
        return duration >= slow && status != nil ? .warning : .info
    }

    /// The fields, sorted by name.
    package var fields: [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        fields.reserveCapacity(12)
        func add(_ name: String, _ value: String?) {
            if let value { fields.append((name, value)) }
        }
        add("aborted", status == nil ? "true" : nil)
        add("bytes", bytes.map(String.init))
        add("client", caller.client)
        add("code", code.map(String.init))
        add("id", id.description)
        add("method", method)
        add("ms", milliseconds)
        add("path", displayedPath)
        add("power", caller.power)
        add("route", route)
        add("status", status.map(String.init))
        add("trace_id", traceID)
        add("user", caller.user)
        return fields
    }

    private var milliseconds: String {
        let microseconds = duration.components.seconds * 1_000_000 + duration.components.attoseconds / 1_000_000_000_000
        let rest = String(microseconds % 1000)
        return String(microseconds / 1000) + (rest.utf8.count == 1 ? ".00" : rest.utf8.count == 2 ? ".0" : ".") + rest
    }
}
